"""A made-up course: honest students, one student per attack, and secrets for attacks to find."""

from __future__ import annotations

import random
import re
import secrets
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader import notebook
from grader.bank.folders import Bank
from grader.draw import paper
from grader.errors import SetupError
from grader.model import Release, Student
from grader.notebook import Cell
from grader.notebook.render import metadata, render, solution
from grader.release.rendering import make_release
from grader.security.redteam.files import Attack, attacks_folder, read_attack

_PRIVATE_KEY = "hostile"  # fixed, so that runs can be repeated with the same numbers
_CLOSE = {"others"}
"""Classes whose attacks run while an honest student's kernel is alive to be spied on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExamTaker:
    """One student of the course: honest, or an attack."""

    id: str
    attack: Attack
    honest: bool
    token: str
    """Part of the name of every file and process that this student's code leaves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedTeamCourse:
    """The made-up course and its folders."""

    root: Path
    release: Release
    takers: tuple[ExamTaker, ...]
    run: str
    """The prefix of every token."""
    canaries: Mapping[str, str]
    """Maps the description of each secret to its text."""

    @property
    def folder(self) -> Path:
        """The instructor's folder, from which grading is started."""
        return self.root / "course"

    @property
    def home(self) -> Path:
        """The instructor's home."""
        return self.root / "home"

    @property
    def scratch(self) -> Path:
        """The folder for the grader's temporary files."""
        return self.root / "tmp"

    @property
    def submissions(self) -> Path:
        """The folder of notebooks submitted as single files."""
        return self.folder / "submissions"

    @property
    def archive(self) -> Path:
        """The zip with notebooks; missing if no attack uses it."""
        return self.folder / "submissions.zip"

    @property
    def honest(self) -> tuple[ExamTaker, ...]:
        """The students who only answer the questions."""
        return tuple(s for s in self.takers if s.honest)


def make_course(
    root: Path, bank: Bank, attacks: Sequence[Attack], outside: Mapping[str, object]
) -> RedTeamCourse:
    """Creates a course under *root*; *outside* tells attacks how to reach our listening sockets."""
    run = f"hx{secrets.token_hex(3)}"
    honest = read_attack(_honest_file(attacks))
    takers = tuple(_exam_takers(attacks, honest, run))
    canaries = {
        name: f"CANARY-{name}-{secrets.token_hex(6)}"
        for name in ("environment", "file", "home", "roster", "honest")
    }
    folder = root / "course"
    for part in (folder / "submissions", root / "home" / ".ssh", root / "tmp"):
        part.mkdir(parents=True)
    name = f"Honest {canaries['roster']}"
    students = tuple(Student(id=s.id, name=name if s.honest else s.attack.name) for s in takers)
    exam = str(attacks_folder() / "hostile.yaml")
    made = make_release(bank, exam, students, folder / "release", _PRIVATE_KEY)
    (folder / "notes.txt").write_text(canaries["file"] + "\n", encoding="utf-8")
    (root / "home" / ".ssh" / "id_ed25519").write_text(canaries["home"] + "\n", encoding="utf-8")
    course = RedTeamCourse(
        root=root, release=made.release, takers=takers, run=run, canaries=canaries
    )
    words = {**outside, "RUN": run, "SECRET": canaries["honest"]}
    _write_submissions(course, bank, words)
    return course


def _honest_file(attacks: Sequence[Attack]) -> Path:
    if not attacks:
        raise SetupError("no attack is left to try", fix="select other classes")
    return attacks[0].path.parent.parent / "honest.py"


def _exam_takers(attacks: Sequence[Attack], honest: Attack, run: str) -> Iterator[ExamTaker]:
    """Yields all students in the order in which notebooks are executed, which is that of their
    ids."""
    others = [a for a in attacks if a.group not in _CLOSE]
    # Mixed, so that attacks of all classes run together, and waiting ones are not consecutive.
    random.Random(1).shuffle(others)  # noqa: S311  # no secret
    nearby = [a for a in attacks if a.group in _CLOSE]
    order: list[Attack] = []
    for start in range(0, len(nearby), 3):
        order += [honest, *nearby[start : start + 3]]
    middle = len(others) // 2
    order += [honest, *others[:middle], honest, *others[middle:], honest]
    for number, attack in enumerate(order):
        yield ExamTaker(
            id=f"s{number:03d}", attack=attack, honest=attack is honest, token=f"{run}n{number:03d}"
        )


def _write_submissions(course: RedTeamCourse, bank: Bank, words: Mapping[str, object]) -> None:
    """Writes all submissions, honest ones first, so that attacks can copy from them."""
    packed = any(s.attack.form == "pack" for s in course.takers)
    for sitter in sorted(course.takers, key=lambda s: not s.honest):
        data = _taker_notebook(course, bank, sitter, words)
        attack, target = sitter.attack, course.submissions / f"{sitter.id}.ipynb"
        if attack.form == "cells":
            target.write_bytes(data)
        elif attack.form == "make":
            target.write_bytes(attack.load_function()(data))
        elif attack.form == "place":
            attack.load_function()(data, course.submissions, sitter.id)
    if packed:
        _write_archive(course, bank, words)


def _write_archive(course: RedTeamCourse, bank: Bank, words: Mapping[str, object]) -> None:
    """Writes the zip of the honest notebooks, and what attacks add to it."""
    with zipfile.ZipFile(course.archive, "w", zipfile.ZIP_DEFLATED) as archive:
        for sitter in course.takers:
            data = _taker_notebook(course, bank, sitter, words)
            if sitter.honest:
                archive.writestr(f"{sitter.id}.ipynb", data)
            elif sitter.attack.form == "pack":
                sitter.attack.load_function()(data, archive, sitter.id)


def _taker_notebook(
    course: RedTeamCourse, bank: Bank, sitter: ExamTaker, words: Mapping[str, object]
) -> bytes:
    """Returns the student's notebook with the cells of the attack. It is answered, except for
    attacks that may earn nothing."""
    mine = paper(course.release, course.release.students[sitter.id])
    names = tuple(name for name, _ in mine.named_keys())
    answers = {} if sitter.attack.earns == "nothing" else solution(mine)
    known = {**words, "TOKEN": sitter.token, "ANSWERS": names}
    cells = [
        *_attack_cells("before", sitter.attack.before, known),
        *render(mine, bank.templates, answers),
        *_attack_cells("after", sitter.attack.after, known),
    ]
    return notebook.write(cells, metadata(mine))


def _attack_cells(
    place: str, sources: Sequence[str], words: Mapping[str, object]
) -> Iterator[Cell]:
    """Yields a cell for each of *sources*, with the names in *words* replaced by values."""
    for number, source in enumerate(sources):
        filled = re.sub(rf"\b({'|'.join(words)})\b", lambda found: repr(words[found[0]]), source)
        yield Cell(type="code", id=f"{place}-{number}", source=filled)


def copy_honest_submissions(course: RedTeamCourse, folder: Path) -> None:
    """Copies only the honest submissions into *folder*, to grade them undisturbed."""
    folder.mkdir(parents=True)
    for sitter in course.honest:
        name = f"{sitter.id}.ipynb"
        (folder / name).write_bytes((course.submissions / name).read_bytes())


def runnable_attacks(
    attacks: Sequence[Attack], layers: Sequence[str], packages: Sequence[str]
) -> tuple[Attack, ...]:
    """Returns the *attacks* that can be tried with these layers and packages."""
    return tuple(
        a for a in attacks if set(a.unsafe_without) <= set(layers) and set(a.needs) <= set(packages)
    )
