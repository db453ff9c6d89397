"""The paper that a student is graded by: as released, or with specs corrected since."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from grader.bank.facts import facts_data
from grader.bank.folders import Bank
from grader.bank.problem import digest
from grader.draw import iter_questions, paper, points_of, seed_for
from grader.errors import SetupError
from grader.files import write_atomic
from grader.kinds import kinds
from grader.kinds.attempts import CodeKey
from grader.kinds.hidden.kept_cases import Keep
from grader.model import CallPlan, Key, Paper, Release, Student
from grader.model.paper import question_number
from grader.registry import suggest
from grader.release import sealed
from grader.release.file import load_release, new_release, release_bytes
from grader.release.pins import Pins

if TYPE_CHECKING:
    from grader.gradebook import Gradebook

# Settings of the gradebook about the release that its results belong to.
RELEASE, SOURCE, CORRECTED = "release", "release_file", "corrected_release"
CORRECTIONS = "corrected"  # a folder of the results
SEATS = "seats"
"""The setting with each student's version on paper, by id; None for absent students."""
_REMEMBERED = 16


@dataclass(frozen=True, kw_only=True)
class Papers:
    """The papers of a release, with the specs in force."""

    release: Release
    correction: Release | None = None
    seats: Mapping[str, str | None] = field(default_factory=dict)
    """For an exam on paper: each student's version; None for absent students."""
    keep: Keep | None = field(default=None, compare=False, repr=False)
    """Where hidden cases and expected results are kept; nowhere if None."""

    def of(self, student: str) -> Paper:
        """Returns the paper of *student*. Corrected specs keep the numbers that the student was
        given.

        Raises SetupError if the student is not in the release, or if a correction would change the
        meaning of answers.
        """
        if student not in self._recent:
            drawn = self.partial_paper(student, None)
            if len(self._recent) >= _REMEMBERED:
                self._recent.pop(next(iter(self._recent)))
            self._recent[student] = drawn
        return self._recent[student]

    def partial_paper(self, student: str, only: Collection[int] | None) -> Paper:
        """Returns the paper of *student* with only the questions whose numbers are in *only*, or
        with all if *only* is None. Raises SetupError if the release has no such student."""
        seat = self._find_seat(student)
        drawn = paper(self.release, seat, only=only)
        if self.correction is not None:
            drawn = _correct_paper(drawn, self.correction, only)
        drawn = replace(drawn, student=self.release.students[student])
        return drawn if self.keep is None else _with_keep(drawn, self.keep)

    def key(self, student: str, answer: str) -> Key | None:
        """Returns the key of the answer named *answer*, or None if *student* was not asked for it.
        Draws only the question of this answer. Raises SetupError as `of` does."""
        drawn = self.partial_paper(student, {question_number(answer)})
        return dict(drawn.named_keys()).get(answer)

    def questions(self, student: str) -> Iterator[tuple[int, str]]:
        """Yields the number of each question of *student* and a digest of all that determines it:
        the drawn numbers, the spec in force, and the points. Nothing is drawn.

        Raises SetupError as `of` does.
        """
        seat = self._find_seat(student).seat
        for number, slot, problem in iter_questions(self.counts, seat):
            spec = self.counts.digests[problem.id]
            # The parts that were drawn at the release, which a correction keeps.
            released = self.release.problems[problem.id]
            seed = seed_for(self.release.private_key, seat, problem.id)
            points = points_of(problem, slot, seed, points_of(released, slot, seed))
            parts = [self.release.id, self._facts, seat, number, problem.id, spec, points]
            yield number, digest(parts)

    @cached_property
    def _facts(self) -> str:
        return digest(facts_data(self.counts.facts))

    def seat(self, student: str) -> str:
        """Returns the text that seeds the random numbers of *student*: the student's version, or
        the id if there is none. Students with the same text get the same numbers.

        Raises SetupError if the student is not in the release.
        """
        return self._find_seat(student).seat

    def _find_seat(self, student: str) -> Student:
        """Returns the student, or the version on paper, whose numbers *student* was given."""
        if student not in self.release.students:
            hint = "see the ids in release.json; to add a student, render again"
            fix = suggest(student, self.release.students, hint)
            raise SetupError(f"the release has no student '{student}'", fix=fix)
        if not self.seats:
            return self.release.students[student]
        # Absent students had no version; any version gives the maximum points.
        version = self.seats.get(student) or next(filter(None, self.seats.values()), "A")
        return Student(id=version)

    @cached_property
    def _recent(self) -> dict[str, Paper]:
        # Recent papers, since a paper with code caches its hidden cases and is used repeatedly.
        return {}

    def call_plans(self, student: str) -> tuple[CallPlan, ...]:
        """Returns the call plans of the functions that *student* wrote. Raises SetupError as `of`
        does, or if a solution can't be used."""
        if not self.has_call_plans:
            return ()
        return call_plans_of(self.of(student))

    def prepare_judging(self, student: str) -> None:
        """Makes the expected results for the code of *student*, unless they are kept already.

        Problems with the author's code are left to judging.
        """
        if not self.has_call_plans:
            return
        for _, key in self.of(student).named_keys():
            if isinstance(key, CodeKey):
                with suppress(Exception):
                    key.expected_results  # noqa: B018 - a cached property

    @cached_property
    def has_call_plans(self) -> bool:
        """Whether any problem has functions to call."""
        return any(p.solution for p in self.counts.problems.values())

    @property
    def counts(self) -> Release:
        """The release whose specs are in force."""
        return self.correction or self.release

    def needs(self, what: str) -> bool:
        """Returns whether a problem of the release needs *what*, such as a GPU."""
        return any(what in problem.needs for problem in self.release.problems.values())

    def names(self) -> tuple[str, ...]:
        """Returns the names of all answers that any student of the release may be asked for.

        They are the same for all students, so that the evidence of a file does not depend on who
        handed it in.
        """
        names: dict[str, None] = {}
        number = 1
        for slot in self.release.exam.slots:
            for _ in range(slot.count):
                for problem in (self.release.problems[i] for i in slot.problem_ids):
                    part_ids = (p.id for p in problem.parts if slot.asks(problem.id, p.id))
                    names.update(dict.fromkeys(f"q{number}_{part}" for part in part_ids))
                number += 1
        return tuple(names)


def call_plans_of(paper: Paper) -> tuple[CallPlan, ...]:
    """Returns the call plans of the functions of *paper*. Raises SetupError if a solution can't be
    used."""
    call_plans = (_call_plan_of(name, key) for name, key in paper.named_keys())
    return tuple(plan for plan in call_plans if plan is not None)


def _call_plan_of(name: str, key: Key) -> CallPlan | None:
    """Returns the call plan of one answer, or None if it is not a function.

    Raises SetupError if its hidden cases can't be created.
    """
    try:
        return kinds.find(key.part.kind).call_plan(name, key)
    except ValueError as error:
        raise SetupError(
            f"can't create the hidden cases of '{name}': {error}",
            fix="correct the solution file of the problem, run `grader verify`, and render again",
        ) from error


def _with_keep(mine: Paper, keep: Keep) -> Paper:
    """Returns the paper with keys that keep their hidden cases and expected results."""
    questions = []
    for question in mine.questions:
        variant = question.variant
        keys = {
            name: replace(key, keep=keep) if isinstance(key, CodeKey) else key
            for name, key in variant.keys.items()
        }
        questions.append(replace(question, variant=replace(variant, keys=keys)))
    return replace(mine, questions=tuple(questions))


def _correct_paper(given: Paper, current: Release, only: Collection[int] | None) -> Paper:
    """Returns the paper *given* by the specs of *current*. Raises SetupError if the notebook that
    was handed out does not allow the correction."""
    corrected = paper(current, given.student, given, only)
    before = dict(given.named_keys())
    for name, key in corrected.named_keys():
        if name not in before:
            raise SetupError(
                f"the corrected specs ask for '{name}', which the released notebooks do not",
                fix="keep the problems and the ids of their parts as released",
            )
        _require_same_meaning(name, before[name], key)
    return corrected


def _require_same_meaning(name: str, old: Key, new: Key) -> None:
    """Raises SetupError if a correction would change the meaning of students' answers."""
    if old.part.kind != new.part.kind:
        raise SetupError(
            f"the kind of '{name}' has changed from {old.part.kind} to {new.part.kind}",
            fix="keep the kind of each part as released",
        )
    shown = _meanings(old)
    meant = _meanings(new)
    if len(shown) != len(meant):
        raise SetupError(
            f"the number of choices of '{name}' has changed",
            fix="keep options, items, and targets as released",
        )
    for was, now in zip(shown, meant, strict=True):
        if was != now:
            raise SetupError(
                f"for '{was[0]}' of '{name}', students saw '{was[1]}', but the corrected spec has "
                f"'{now[1]}'",
                fix="keep options, items, and targets in order and with their ids (without an id, "
                "it comes from the text), and change only which are correct",
            )


def _meanings(key: Key) -> tuple[tuple[str, str], ...]:
    """Returns the meaning of letters, numbers, and rows in this student's notebook."""
    letters = tuple((thing.letter, thing.id) for thing in getattr(key, "choices", ()))
    numbers = tuple((str(i), item.id) for i, item in enumerate(getattr(key.part, "items", ()), 1))
    if letters:
        return letters + (numbers if key.part.kind == "matching" else ())
    sheet: Mapping[str, object] = kinds.find(key.part.kind).sheet(key)
    return tuple((field, str(value)) for field, value in sorted(sheet.items()))


def current_specs(release: Release, bank: Bank) -> Release:
    """Returns the release with the current specs of *bank*."""
    fresh = new_release(bank, release.exam, tuple(release.students.values()), release.private_key)
    return replace(fresh, students=release.students)


def bind(book: Gradebook, release: Release, file: Path) -> None:
    """Links a results folder to its release. Raises SetupError if the results belong to another
    one."""
    bound = book.setting(RELEASE)
    if bound is not None and bound != release.id:
        raise SetupError(
            f"these results belong to release {bound}, not to {release.id}",
            where=str(book.folder),
            fix="use that release, or choose another folder for --out",
        )
    file = file / "release.json" if file.is_dir() else file
    source = str(file.resolve())
    with suppress(ValueError):  # on Windows, between two drives
        # A relative path allows the course's folder to be moved as a whole.
        source = os.path.relpath(source, book.folder.resolve())
    if bound is None or book.setting(SOURCE) != source:
        book.set_setting(RELEASE, release.id)
        book.set_setting(SOURCE, source)


def papers_of(book: Gradebook, release: Release | None = None) -> Papers:
    """Returns the papers for the results in *book*, by *release* or, if None, by the file that
    *book* names. Raises SetupError if that file is missing."""
    if release is None:
        source = book.setting(SOURCE)
        if not isinstance(source, str):
            raise SetupError(
                "these results have no release",
                where=str(book.folder),
                fix="run `grader grade` first",
            )
        file = (book.folder / source).resolve()
        if not file.exists():
            raise SetupError(
                "the release of these results is not here",
                where=str(file),
                fix="move it back, or run `grader grade` with its new place: --release FILE, or "
                "--pack FILE if it is sealed",
            )
        release = load_release(file)
    release = _without_forgotten(book, release)
    keep = Pins(book, release.id, _key_of(book))
    seats = seats_of(book)
    if seats is not None:
        # The release has only versions; the gradebook has the students.
        people = {name: student for name, student in book.students().items() if name in seats}
        release = replace(release, students=people)
    correction = _load_correction(book, release)
    return Papers(release=release, correction=correction, seats=seats or {}, keep=keep)


def _without_forgotten(book: Gradebook, release: Release) -> Release:
    students = book.personal.without_forgotten(release.students)
    return release if students == release.students else replace(release, students=students)


def absent(book: Gradebook) -> frozenset[str]:
    """Returns the ids of students who were absent, according to the sheet of paper answers."""
    seats = seats_of(book) or {}
    return frozenset(student for student, version in seats.items() if version is None)


def seats_of(book: Gradebook) -> dict[str, str | None] | None:
    """Returns each student's version on paper, or None for results of notebooks."""
    seats = book.setting(SEATS)
    return seats if isinstance(seats, dict) else None


def _load_correction(book: Gradebook, release: Release) -> Release | None:
    """Returns the corrected release in force, or None if there is none."""
    named = book.setting(CORRECTED)
    if not isinstance(named, str):
        return None
    file = _correction_path(book, named, ".json")
    file = file if file.exists() else _correction_path(book, named, ".pack")
    if not file.exists():
        fix = f"copy '{CORRECTIONS}' from the results folder that this one is a copy of"
        raise SetupError("the corrected specs are not here", where=str(file.parent), fix=fix)
    # Students may have been added to the release since the correction.
    return replace(load_release(file), students=release.students)


def _correction_path(book: Gradebook, release_id: str, ending: str) -> Path:
    # Named by its id, so that an unfinished correction never replaces another one.
    return book.folder / CORRECTIONS / f"{release_id}{ending}"


def keep_correction(book: Gradebook, corrected: Release | None, *, by: str, why: str) -> None:
    """Puts the specs of *corrected* in force, or those of the release if it is None."""
    if corrected is not None:
        # Without the students, who are in the release; one may have to be forgotten.
        data, ending = release_bytes(replace(corrected, students={})), ".json"
        key = _key_of(book)
        if key is not None:  # a correction of a sealed release must be sealed as well
            data, ending = sealed.seal(data, corrected.id, key), ".pack"
        write_atomic(_correction_path(book, corrected.id, ending), data, durable=True, private=True)
    value = corrected.id if corrected else None
    if book.setting(CORRECTED) != value:
        book.set_setting(CORRECTED, value, by=by, why=why)


def _key_of(book: Gradebook) -> sealed.PackKey | None:
    """Returns the key of the pack that the results in *book* use, or None without a pack."""
    source = book.setting(SOURCE)
    is_sealed = isinstance(source, str) and sealed.is_pack_file(book.folder / source)
    return sealed.current_key() if is_sealed else None
