"""Makes a release, and its notebooks, keys, and previews."""

from __future__ import annotations

import hashlib
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from grader import units
from grader.bank.folders import Bank
from grader.draw import (
    DrawError,
    check_explanations,
    check_question,
    draw,
    paper,
    sample_seed,
    standalone_paper,
)
from grader.errors import SetupError, SpecError
from grader.figures import FigureError, explanation_figures, prompt_figures
from grader.files import make_private_folder, write_atomic, write_changed
from grader.kinds import kinds
from grader.kinds.answers import answer_as_python, explain_part
from grader.kinds.lettered import indent_item
from grader.kinds.texts import fill
from grader.model import ExamSet, Key, Paper, Question, Release, Student, Variant
from grader.model.figure import DrawnFigure
from grader.notebook import Cell, write
from grader.notebook.render import metadata, render
from grader.notebook.render.figure_cells import describe_figures
from grader.release.file import add_students_to, load_release, new_release, release_bytes
from grader.release.papers import Papers
from grader.release.versions import assign_versions, of_version, versions_of
from grader.text.words import count_of

_UNGUESSABLE = 22
"""Number of random letters and digits for 128 bits."""
_NAMED = 5
"""Maximum students whose changes a note lists."""
_GUESSABLE = (
    "this private key is short: anyone who guesses it has every student's answers, and can test "
    "guesses against any notebook; use 22 random characters, or omit it"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeRelease:
    """A release on disk, and notes for the instructor."""

    release: Release
    notes: tuple[str, ...] = ()


def make_release(
    bank: Bank,
    wanted: str | ExamSet,
    students: tuple[Student, ...],
    out: Path,
    private_key: str | None = None,
    *,
    versions: int | None = None,
) -> MadeRelease:
    """Makes a release in *out*, or adds students to the one that is there. If *versions* is given,
    students share that many versions, as in `assign_versions`. Raises SetupError."""
    exam = bank.exam(wanted) if isinstance(wanted, str) else wanted
    for name in exam.problem_ids:
        draw_sample(bank, name)  # raises, with its line, if it can't be drawn or printed
    file = out / "release.json"
    key = private_key_of(private_key)
    if not file.exists():
        _refuse_lost_release(out)
        students = assign_versions(students, versions, {})
        release = new_release(bank, exam, students, key or secrets.token_bytes(32))
        short = private_key is not None and len(private_key) < _UNGUESSABLE
        notes: tuple[str, ...] = (_GUESSABLE,) if short else ()
    else:
        old = load_release(file)
        students = assign_versions(students, versions, old.students)
        release, notes = _extend_release(old, bank, exam, students, key, file)
    make_private_folder(out)
    # It contains the answers, and the only copy of the private key.
    write_atomic(file, release_bytes(release), durable=True, private=True)
    return MadeRelease(release=release, notes=notes)


def _refuse_lost_release(out: Path) -> None:
    """Raises SetupError if *out* contains notebooks without the release that they belong to.

    A new release would have other numbers, and would replace notebooks that may be handed out.
    """
    if any((out / "notebooks").glob("*.ipynb")):
        raise SetupError(
            "this folder has notebooks, but not the release.json that holds their answers",
            where=str(out),
            fix="restore release.json from a backup, or choose another folder for --out",
        )


def private_key_of(text: str | None) -> bytes | None:
    """Returns the private key made from *text*, or None if *text* is None."""
    return hashlib.sha256(text.encode()).digest() if text is not None else None


def _extend_release(
    old: Release,
    bank: Bank,
    exam: ExamSet,
    students: tuple[Student, ...],
    key: bytes | None,
    file: Path,
) -> tuple[Release, tuple[str, ...]]:
    """Returns the release *old* with more students and its problems unchanged, and notes. Raises
    SetupError if *exam* or *key* is not the one of the release."""
    if old.exam.id != exam.id:
        raise SetupError(
            f"'{file.parent}' contains a release of the set '{old.exam.id}', not of '{exam.id}'",
            fix="choose another folder for --out",
        )
    if key is not None and key != old.private_key:
        raise SetupError(
            f"the release in '{file.parent}' was made with another private key",
            fix="choose another folder for --out, or omit --private-key",
        )
    notes = []
    new = [s for s in students if s.id not in old.students]
    if new:
        notes.append(
            f"{count_of(len(new), 'student')} added to release {old.id}{_versions_note(old, new)}"
        )
    current = {name: bank.digest(name) for name in exam.problem_ids}
    moved = [n for n in current if current[n] != old.digests.get(n)]
    if moved or exam != old.exam:
        what = ", ".join(moved) or "the set"
        notes.append(
            f"changed in the bank since this release was made: {what}; the release is unchanged; "
            "to use the change, render into another folder"
        )
    grown = add_students_to(old, students)
    return grown, (*notes, *_changes_note(old, grown))


def _changes_note(old: Release, grown: Release) -> list[str]:
    """Returns a note about students whose name, e-mail, or section changed, with the first few
    changes."""
    changed = [
        f"{name} ({', '.join(_differences(before, grown.students[name]))})"
        for name, before in old.students.items()
        if before != grown.students[name]
    ]
    if not changed:
        return []
    more = f", and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
    return [f"updated in release {old.id}: {', '.join(changed[:_NAMED])}{more}"]


def _differences(before: Student, after: Student) -> list[str]:
    """Returns each field that differs between the two, with its values, in a few words."""
    pairs = ((f.name, getattr(before, f.name), getattr(after, f.name)) for f in fields(Student))
    return [
        f"{field} from '{old}' to '{new}'" if old else f"{field} '{new}'"
        for field, old, new in pairs
        if old != new
    ]


def _versions_note(old: Release, new: Sequence[Student]) -> str:
    """Returns how many new students have each version, or nothing if the release has no
    versions."""
    if not any(student.version for student in (*old.students.values(), *new)):
        return ""
    counts = Counter(f"version {s.version}" if s.version else "individual numbers" for s in new)
    return ": " + ", ".join(f"{count} with {what}" for what, count in sorted(counts.items()))


def write_notebooks(
    release: Release,
    students: tuple[Student, ...],
    out: Path,
    bank: Bank,
    done: Callable[[str], None] = lambda _: None,
) -> list[Path]:
    """Writes the notebooks of *students* one by one, to limit memory, and returns their paths.
    Shared versions are also written to `versions/`, once each and without a student's name."""
    notebooks = Notebooks(release, bank)
    written = []
    for student in students:
        data = notebooks.of(release.students[student.id])
        target = out / "notebooks" / f"{student.id}.ipynb"
        write_changed(target, data)
        written.append(target)
        done(student.id)
    for version in versions_of(release):
        data = notebooks.of(of_version(version))
        write_changed(out / "versions" / f"{release.exam.id}-{version}.ipynb", data)
    return written


class Notebooks:
    """The notebooks of a release as files; each shared version is made only once."""

    def __init__(self, release: Release, bank: Bank):
        self._release, self._bank = release, bank
        self._shared: dict[str, bytes] = {}

    def of(self, student: Student) -> bytes:
        """Returns the student's notebook, without the student's name if the version is shared."""
        shared = self._shared.get(student.version)
        if shared is not None:
            return shared
        paper_of_student = paper(self._release, student)
        data = write(render(paper_of_student, self._bank.templates), metadata(paper_of_student))
        if student.version:
            self._shared[student.version] = data
        return data


def key_data(release: Release, student: str) -> dict[str, dict[str, object]]:
    """Returns the student's key as data: maps each answer to value, unit, points, and kind."""
    mine = Papers(release=release).of(student)
    return {
        question.name(part_id): key_entry(question, part_id, key)
        for question in mine.questions
        for part_id, key in question.keys.items()
    }


def key_entry(question: Question, part_id: str, key: Key) -> dict[str, object]:
    """Returns one part's key as plain data."""
    kind = kinds.find(key.part.kind)
    entry: dict[str, object] = {
        "value": kind.answer(key),
        "unit": getattr(key.part, "unit", None) or "",
        "points": question.points[part_id],
        "kind": key.part.kind,
        "problem": question.variant.problem.id,
        "part": part_id,
        "literal": answer_as_python(kind, key),
    }
    low, high = getattr(key, "low", None), getattr(key, "high", None)
    if low is not None and high is not None:
        entry["accepted"] = [low, high]
    return entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """One problem for one seed, as a student sees it."""

    paper: Paper
    cells: tuple[Cell, ...]
    seed: int

    def as_data(self, *, key: bool) -> dict[str, object]:
        """Returns the preview as plain data, with the key and the worked solution if *key*."""
        question = self.paper.questions[0]
        data: dict[str, object] = {
            "id": question.variant.problem.id,
            "seed": self.seed,
            "parameters": {
                n: units.format_quantity(v) for n, v in question.variant.draw.parameters.items()
            },
            "cells": [{"type": c.type, "source": c.source} for c in self.cells],
        }
        if key:
            data["key"] = {
                question.name(p): key_entry(question, p, k) for p, k in question.keys.items()
            }
            data["explanation"] = self._explanation()
            data["figures"] = [
                {"id": figure.id, "type": figure.type, "alt": figure.alt}
                for figure in self._solution_figures()
            ]
        return data

    def as_markdown(self, *, key: bool) -> str:
        """Returns the preview as Markdown, with the key and the worked solution if *key*."""
        blocks = [
            describe_figures(cell.source)
            if cell.type == "markdown"
            else f"```python\n{cell.source}\n```"
            for cell in self.cells
        ]
        if key:
            blocks.append("---\n\n## Key")
            for name, part_key in self.paper.named_keys():
                answer = explain_part(kinds.find(part_key.part.kind), part_key)
                blocks.append(f"- `{name}`: {indent_item(answer)}")
            if worked := self._explanation():
                blocks.append(f"### Worked solution\n\n{worked}")
            blocks += [f"*Figure: {figure.alt}*" for figure in self._solution_figures()]
        return "\n\n".join(blocks)

    def _solution_figures(self) -> tuple[DrawnFigure, ...]:
        return explanation_figures(self.paper.questions[0].variant)

    def _explanation(self) -> str:
        variant = self.paper.questions[0].variant
        return fill(variant.problem.explanation, variant.draw)


def draw_sample(bank: Bank, wanted: str, number: int = 0) -> Variant:
    """Draws sample *number* of the problem *wanted*.

    Raises SpecError, with the place in the YAML, if it can't be drawn, or if one of its texts can't
    be filled in.
    """
    problem, source = bank.locate(wanted)
    try:
        variant = draw(problem, sample_seed(problem.id, number), bank.facts)
        check_question(variant)
        check_explanations(variant)
    except DrawError as error:
        raise SpecError(error.what, where=source.at(error.path), fix=error.fix) from None
    return variant


def preview(bank: Bank, wanted: str, seed: int) -> Preview:
    """Returns the problem for the seed that `grader verify` counts as *seed*. Raises SpecError if
    it can't be drawn or shown."""
    variant = draw_sample(bank, wanted, seed)
    mine = standalone_paper([variant], "preview")
    try:
        explanation_figures(variant)
        prompt_figures(variant)
    except FigureError as error:
        place = bank.locate(wanted)[1].at(error.path)
        raise SpecError(error.what, where=place, fix=error.fix) from None
    cells = tuple(c for c in render(mine, bank.templates) if c.id not in _FRAME)
    return Preview(paper=mine, cells=cells, seed=seed)


_FRAME = ("title", "closing", "closing-check")
