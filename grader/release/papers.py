"""Which paper a student is graded by: as released, or by specs that were corrected since."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from grader.bank.folders import Bank
from grader.draw import paper
from grader.errors import SetupError
from grader.files import write_whole
from grader.kinds import kinds
from grader.model import Key, Paper, Release, Student, Trial
from grader.registry import nearest
from grader.release import sealed
from grader.release.file import load_release, new_release, release_bytes

if TYPE_CHECKING:
    from grader.gradebook import Gradebook

# What the gradebook keeps of the release its results belong to.
RELEASE, SOURCE, CORRECTED = "release", "release_file", "corrected_release"
SEATS = "seats"
"""The version on paper that each student had, by id; None for who did not come."""


_REMEMBERED = 16


@dataclass(frozen=True, kw_only=True)
class Papers:
    """The papers of a release, by the specs that count."""

    release: Release
    corrected: Release | None = None
    seats: Mapping[str, str | None] = field(default_factory=dict)
    """Where an exam was on paper: the version that each student had."""

    def of(self, student: str) -> Paper:
        """The paper of *student*; with corrected specs, on the numbers the student was given.

        Raises SetupError for a student who is not in the release, and when what students wrote
        would come to mean something else.
        """
        if student not in self.release.students:
            close = nearest(student, self.release.students)
            raise SetupError(
                f"the release has no student '{student}'",
                fix=f"did you mean '{close}'?"
                if close
                else "see the ids in release.json; render again to add a student",
            )
        if student not in self._recent:
            if len(self._recent) >= _REMEMBERED:
                self._recent.pop(next(iter(self._recent)))
            whose = self._seat(student)
            given = paper(self.release, whose)
            drawn = given if self.corrected is None else _corrected(given, self.corrected)
            mine = self.release.students[student]
            self._recent[student] = drawn if mine is whose else replace(drawn, student=mine)
        return self._recent[student]

    def _seat(self, student: str) -> Student:
        """Whose numbers the student was given."""
        if not self.seats:
            return self.release.students[student]
        # Who did not come had none; any version says what the exam is worth.
        version = self.seats.get(student) or next(filter(None, self.seats.values()), "A")
        return Student(id=version)

    @cached_property
    def _recent(self) -> dict[str, Paper]:
        # A paper with code remembers its hidden cases, and is asked for more than once.
        return {}

    def trials(self, student: str) -> tuple[Trial, ...]:
        """What is to be done with the functions that *student* wrote."""
        if not self.has_trials:
            return ()
        return trials_of(self.of(student))

    @cached_property
    def has_trials(self) -> bool:
        """Whether any problem has code to be called."""
        return any(p.solution for p in self.counts.problems.values())

    @property
    def counts(self) -> Release:
        """The release whose specs count."""
        return self.corrected or self.release

    def needs(self, what: str) -> bool:
        """Whether a problem of the release needs that of the machine."""
        return any(what in problem.needs for problem in self.release.problems.values())

    def names(self) -> tuple[str, ...]:
        """Every answer that any student of the release may have been asked for.

        The same for all students, so that what a file did does not depend on who handed it in.
        """
        names: dict[str, None] = {}
        number = 1
        for slot in self.release.exam.slots:
            ids = (slot.problem,) if slot.problem else slot.pool
            for _ in range(1 if slot.problem else slot.choose):
                for problem in (self.release.problems[i] for i in ids if i):
                    asked = (p.id for p in problem.parts if not slot.parts or p.id in slot.parts)
                    names.update(dict.fromkeys(f"q{number}_{part}" for part in asked))
                number += 1
        return tuple(names)


def trials_of(paper: Paper) -> tuple[Trial, ...]:
    """What is to be done with the functions of *paper*.

    Raises SetupError where a solution file can't be used.
    """
    found = (_trial_of(name, key) for name, key in paper.named_keys())
    return tuple(trial for trial in found if trial is not None)


def _trial_of(name: str, key: Key) -> Trial | None:
    try:
        return kinds.find(key.part.kind).trial(name, key)
    except ValueError as error:
        raise SetupError(
            f"the hidden cases of '{name}' can't be made: {error}",
            fix="correct the solution file of the problem, run `grader verify`, and render again",
        ) from error


def _corrected(given: Paper, current: Release) -> Paper:
    """The paper by *current*, as far as the notebook that was handed out allows it."""
    corrected = paper(current, given.student, given)
    before = dict(given.named_keys())
    for name, key in corrected.named_keys():
        if name not in before:
            raise SetupError(
                f"the corrected specs ask for '{name}', and the notebooks that were handed out "
                "did not",
                fix="keep the problems and the ids of their parts as they were released",
            )
        _same_meaning(name, before[name], key)
    return corrected


def _same_meaning(name: str, old: Key, new: Key) -> None:
    """Refuses a correction after which what students wrote would mean something else."""
    if old.part.kind != new.part.kind:
        raise SetupError(
            f"'{name}' was a {old.part.kind} and is a {new.part.kind} now",
            fix="keep the kind of a part that was handed out",
        )
    shown, meant = _things(old), _things(new)
    if len(shown) != len(meant):
        raise SetupError(
            f"the corrected spec has another number of things to choose from for '{name}'",
            fix="keep options, items and targets as they were handed out",
        )
    for was, now in zip(shown, meant, strict=True):
        if was != now:
            raise SetupError(
                f"under '{was[0]}' of '{name}' students saw '{was[1]}'; by the corrected spec "
                f"that is '{now[1]}'",
                fix="keep options, items and targets in their order, with their ids (the id is "
                "made of the text where none is given), and change only what is right",
            )


def _things(key: Key) -> tuple[tuple[str, str], ...]:
    """What letters, numbers and rows stand for in this student's notebook."""
    letters = tuple((thing.letter, thing.id) for thing in getattr(key, "choices", ()))
    numbers = tuple((str(i), item.id) for i, item in enumerate(getattr(key.part, "items", ()), 1))
    if letters:
        return letters + (numbers if key.part.kind == "matching" else ())
    sheet: Mapping[str, object] = kinds.find(key.part.kind).sheet(key)
    return tuple((field, str(value)) for field, value in sorted(sheet.items()))


def current_specs(release: Release, bank: Bank) -> Release:
    """The release with every spec as *bank* has it now."""
    fresh = new_release(bank, release.exam, tuple(release.students.values()), release.private_key)
    return replace(fresh, students=release.students)


def bind(book: Gradebook, release: Release, file: Path) -> None:
    """Ties a results folder to its release; raises SetupError when it belongs to another."""
    bound = book.setting(RELEASE)
    if bound is not None and bound != release.id:
        raise SetupError(
            f"these results belong to release {bound}, not to {release.id}",
            where=str(book.folder),
            fix="name the release they belong to, or choose another folder for --out",
        )
    file = file / "release.json" if file.is_dir() else file
    # Relative where possible, so that a course's folder can be moved as a whole.
    source = os.path.relpath(file.resolve(), book.folder.resolve())
    if bound is None or book.setting(SOURCE) != source:
        book.set_setting(RELEASE, release.id)
        book.set_setting(SOURCE, source)


def papers_of(book: Gradebook, release: Release | None = None) -> Papers:
    """The papers that the results in *book* are graded by; *release* if it is loaded already."""
    if release is None:
        source = book.setting(SOURCE)
        if not isinstance(source, str):
            raise SetupError(
                "these results name no release",
                where=str(book.folder),
                fix="run `grader grade` first",
            )
        release = load_release((book.folder / source).resolve())
    seats = book.setting(SEATS)
    if not isinstance(seats, dict):
        return Papers(release=release, corrected=_stored(book, release))
    # The release knows versions; the people who had them are known here.
    people = {name: one for name, one in book.students().items() if name in seats}
    release = replace(release, students=people)
    return Papers(release=release, corrected=_stored(book, release), seats=seats)


def absent(book: Gradebook) -> frozenset[str]:
    """Who, by the sheet that was typed in from paper, did not come."""
    seats = book.setting(SEATS)
    found = seats if isinstance(seats, dict) else {}
    return frozenset(student for student, version in found.items() if version is None)


def _stored(book: Gradebook, release: Release) -> Release | None:
    named = book.setting(CORRECTED)
    if not isinstance(named, str):
        return None
    file = _file(book, named, ".json")
    file = file if file.exists() else _file(book, named, ".pack")
    # Students may have been added to the release since the correction.
    return replace(load_release(file), students=release.students)


def _file(book: Gradebook, release_id: str, ending: str) -> Path:
    # Named by what it holds: a correction that was not finished never takes another one's place.
    return book.folder / "corrected" / f"{release_id}{ending}"


def keep_correction(book: Gradebook, corrected: Release | None, why: str) -> None:
    """Makes *corrected* what counts from now on; None goes back to the specs as released."""
    if corrected is not None:
        data, ending = release_bytes(corrected), ".json"
        key = _key_of(book)
        if key is not None:  # whose release may not be on this disk, nor may its correction
            data, ending = sealed.seal(data, corrected.id, key), ".pack"
        write_whole(_file(book, corrected.id, ending), data, durable=True, private=True)
    value = corrected.id if corrected else None
    if book.setting(CORRECTED) != value:
        book.set_setting(CORRECTED, value, why=why)


def _key_of(book: Gradebook) -> sealed.PackKey | None:
    """The key of the pack that the results in *book* are graded by; None without a pack."""
    source = book.setting(SOURCE)
    is_sealed = isinstance(source, str) and sealed.is_pack_file(book.folder / source)
    return sealed.held() if is_sealed else None
