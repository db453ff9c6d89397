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
from grader.security.redteam.files import Attack, read_attack

EXAM = """\
id: hostile
title: An exam that is attacked
minutes: 10
problems:
  - fsdp-state-per-gpu
  - problem: threads-versus-processes
    parts: [loader_workers, start_methods]
  - problem: kv-cache-size
    parts: [per_token]
"""
_PRIVATE_KEY = "hostile"  # fixed, so that runs can be repeated with the same numbers
_CLOSE = {"others"}
"""Classes whose attacks run while an honest student's kernel is alive to be spied on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitter:
    """One student of the course: honest, or an attack."""

    id: str
    attack: Attack
    honest: bool
    token: str
    """Part of the name of every file and process that this student's code leaves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """The made-up course and its folders."""

    root: Path
    release: Release
    sitters: tuple[Sitter, ...]
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
    def honest(self) -> tuple[Sitter, ...]:
        """The students who only answer the questions."""
        return tuple(s for s in self.sitters if s.honest)


def make_course(
    root: Path, bank: Bank, attacks: Sequence[Attack], outside: Mapping[str, object]
) -> Course:
    """Creates a course under *root*; *outside* tells attacks how to reach our listening sockets."""
    run = f"hx{secrets.token_hex(3)}"
    honest = read_attack(_honest(attacks))
    sitters = tuple(_sitters(attacks, honest, run))
    canaries = {
        name: f"CANARY-{name}-{secrets.token_hex(6)}"
        for name in ("environment", "file", "home", "roster", "honest")
    }
    folder = root / "course"
    for part in (folder / "submissions", root / "home" / ".ssh", root / "tmp"):
        part.mkdir(parents=True)
    exam = root / "hostile.yaml"
    exam.write_text(EXAM, encoding="utf-8")
    students = tuple(_student(s, canaries) for s in sitters)
    made = make_release(
        bank, str(root / "hostile.yaml"), students, folder / "release", _PRIVATE_KEY
    )
    (folder / "notes.txt").write_text(canaries["file"] + "\n", encoding="utf-8")
    (root / "home" / ".ssh" / "id_ed25519").write_text(canaries["home"] + "\n", encoding="utf-8")
    course = Course(root=root, release=made.release, sitters=sitters, run=run, canaries=canaries)
    words = {**outside, "RUN": run, "SECRET": canaries["honest"]}
    _hand_in(course, bank, words)
    return course


def _honest(attacks: Sequence[Attack]) -> Path:
    if not attacks:
        raise SetupError("no attack is left to try", fix="select other classes")
    return attacks[0].path.parent.parent / "honest.py"


def _sitters(attacks: Sequence[Attack], honest: Attack, run: str) -> Iterator[Sitter]:
    """All students in the order in which notebooks are executed, which is that of their ids."""
    others = [a for a in attacks if a.group not in _CLOSE]
    # Mixed, so that attacks of all classes run together, and waiting ones are not consecutive.
    random.Random(1).shuffle(others)  # noqa: S311  # no secret
    close = [a for a in attacks if a.group in _CLOSE]
    order: list[Attack] = []
    for start in range(0, len(close), 3):
        order += [honest, *close[start : start + 3]]
    middle = len(others) // 2
    order += [honest, *others[:middle], honest, *others[middle:], honest]
    for number, attack in enumerate(order):
        yield Sitter(
            id=f"s{number:03d}",
            attack=attack,
            honest=attack is honest,
            token=f"{run}n{number:03d}",
        )


def _student(sitter: Sitter, canaries: Mapping[str, str]) -> Student:
    name = f"Honest {canaries['roster']}" if sitter.honest else sitter.attack.name
    return Student(id=sitter.id, name=name)


def _hand_in(course: Course, bank: Bank, words: Mapping[str, object]) -> None:
    """Writes all submissions, honest ones first, so that attacks can copy from them."""
    packed = any(s.attack.form == "pack" for s in course.sitters)
    for sitter in sorted(course.sitters, key=lambda s: not s.honest):
        data = _notebook(course, bank, sitter, words)
        attack, target = sitter.attack, course.submissions / f"{sitter.id}.ipynb"
        if attack.form == "cells":
            target.write_bytes(data)
        elif attack.form == "make":
            target.write_bytes(attack.function()(data))
        elif attack.form == "place":
            attack.function()(data, course.submissions, sitter.id)
    if packed:
        _pack(course, bank, words)


def _pack(course: Course, bank: Bank, words: Mapping[str, object]) -> None:
    with zipfile.ZipFile(course.archive, "w", zipfile.ZIP_DEFLATED) as archive:
        for sitter in course.sitters:
            data = _notebook(course, bank, sitter, words)
            if sitter.honest:
                archive.writestr(f"{sitter.id}.ipynb", data)
            elif sitter.attack.form == "pack":
                sitter.attack.function()(data, archive, sitter.id)


def _notebook(course: Course, bank: Bank, sitter: Sitter, words: Mapping[str, object]) -> bytes:
    """The student's notebook with the cells of the attack; answered unless the attack forges."""
    mine = paper(course.release, course.release.students[sitter.id])
    names = tuple(name for name, _ in mine.named_keys())
    answers = {} if sitter.attack.earns == "nothing" else solution(mine)
    known = {**words, "TOKEN": sitter.token, "ANSWERS": names}
    cells = [
        *_cells("before", sitter.attack.before, known),
        *render(mine, bank.templates, answers),
        *_cells("after", sitter.attack.after, known),
    ]
    return notebook.write(cells, metadata(mine))


def _cells(place: str, sources: Sequence[str], words: Mapping[str, object]) -> Iterator[Cell]:
    for number, source in enumerate(sources):
        filled = re.sub(rf"\b({'|'.join(words)})\b", lambda found: repr(words[found[0]]), source)
        yield Cell(type="code", id=f"{place}-{number}", source=filled)


def without_attacks(course: Course, folder: Path) -> None:
    """Copies only the honest submissions into *folder*, to grade them undisturbed."""
    folder.mkdir(parents=True)
    for sitter in course.honest:
        name = f"{sitter.id}.ipynb"
        (folder / name).write_bytes((course.submissions / name).read_bytes())


def tried_here(
    attacks: Sequence[Attack], layers: Sequence[str], packages: Sequence[str]
) -> tuple[Attack, ...]:
    """The *attacks* that can be tried with these layers and packages."""
    return tuple(
        a for a in attacks if set(a.unsafe_without) <= set(layers) and set(a.needs) <= set(packages)
    )
