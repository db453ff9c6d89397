"""The conformance checks for exporters of any format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from html import unescape
from typing import Any

from grader.errors import GraderError
from grader.integrations.base import Exporter, QuizExporter, StudentExporter
from grader.model.exported import ClassResults, Exported, Result
from grader.model.quiz import Quiz
from grader.model.result import Standing
from grader.testing import samples
from grader.testing.files import find_harm, find_secrets, texts_of

SAME = 0.005
"""Half a hundredth of a point, since gradebooks keep two decimals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """The points found by a reader of the format."""

    earned: float | None = None
    """None if not stated, as for open points; always None for a quiz."""
    most: float | None = None
    """The maximum points; None if the format does not state them."""


Read = Callable[[Exported], Mapping[str, Points]]
"""Reads exported files as the other system does, and returns points by student id.

For the files of one student, and for a quiz, the key of the only value does not matter.
"""


def check_exporter(exporter: Exporter[Any], read: Read, *, missing_is_zero: bool = False) -> None:
    """Checks that *exporter* fulfills the contract of exporters.

    *read* should be written from the other system's documentation and share no code with
    *exporter*. Set *missing_is_zero* if the system needs a score even without a submission. Raises
    AssertionError that names the violation and the sample.
    """
    check = _Check(exporter, read, missing_is_zero=missing_is_zero)
    if isinstance(exporter, QuizExporter):
        check.quizzes()
    else:
        check.check_results()


@dataclass(frozen=True, slots=True)
class _Check:
    exporter: Exporter[Any]
    read: Read
    missing_is_zero: bool

    def check_results(self) -> None:
        for name, sample in samples.settled_classes().items():
            for one in self._subjects(sample):
                made = [self._export(one, name, leave_out=leave) for leave in (False, True)]
                _require(all(made), f"{name}: refused although nothing is lost")
                for exported in filter(None, made):
                    self._check_complete(one, exported, name)
        for name, sample in samples.unsettled_classes().items():
            for one in self._subjects(sample):
                self._check_open(one, name)
        for name, sample in samples.classes_without_grades().items():
            for one in self._subjects(sample):
                self._check_absent(one, name)
        for name, sample in samples.hostile_classes().items():
            for one in self._subjects(sample):
                self._check_hostile(one, f"a student writes {name}")

    def _subjects(self, sample: ClassResults) -> tuple[Result | ClassResults, ...]:
        return sample.results if isinstance(self.exporter, StudentExporter) else (sample,)

    def _check_complete(
        self, subject: Result | ClassResults, exported: Exported, name: str
    ) -> None:
        """The points read equal the points earned."""
        found = self.read(exported)
        for result in _results_in(subject):
            feedback = result.feedback
            got = _points_of_student(found, subject, feedback.student.id)
            _require(got is not None and got.earned is not None, f"{name}: no points are read")
            assert got is not None  # noqa: S101 - for the type checker
            numbers = ((got.earned, feedback.score), (got.most, feedback.max_score))
            for read, wanted in numbers:
                exact = read is None or abs(read - wanted) <= SAME
                _require(
                    exact or _names_result(exported, result),
                    f"{name}: {wanted:g} points go in, {read} are read, and no note says why",
                )

    def _check_open(self, subject: Result | ClassResults, name: str) -> None:
        """Open marks do not become 0, and a note names them."""
        made = self._export(subject, name, leave_out=False)
        left = self._export(subject, name, leave_out=True)
        _require(left or made is None, f"{name}: refused only where parts may be left out")
        for exported in filter(None, (made, left)):
            found = self.read(exported)
            for result in _results_in(subject):
                feedback = result.feedback
                got = _points_of_student(found, subject, feedback.student.id)
                earned = got.earned if got else None
                settled = any(p.points is not None for q in feedback.problems for p in q.parts)
                right = earned is None or (settled and abs(earned - feedback.score) <= SAME)
                _require(right, f"{name}: {earned} points are read, although some are open")
                _require(
                    _names_open_parts(exported, result), f"{name}: no note names the open parts"
                )

    def _check_absent(self, subject: Result | ClassResults, name: str) -> None:
        """A student without a submission has no points, unless the system requires some."""
        for leave_out in (False, True):
            exported = self._export(subject, name, leave_out=leave_out)
            if exported is None:
                continue
            found = self.read(exported)
            for result in _results_in(subject):
                got = _points_of_student(found, subject, result.feedback.student.id)
                earned = got.earned if got else None
                waits = result.feedback.standing is Standing.WAITING
                zero = self.missing_is_zero and earned == 0 and not waits
                _require(
                    earned is None or zero,
                    f"{name}: {earned} points are read, although nothing was graded",
                )

    def _check_hostile(self, subject: Result | ClassResults, name: str) -> None:
        exported = self._export(subject, name, leave_out=False)
        _require(exported, f"{name}: refused although nothing is lost")
        assert exported is not None  # noqa: S101 - for the type checker
        for file, data in _all_files(exported).items():
            for what in find_harm(file, data, samples.HOSTILE):
                raise AssertionError(f"{name}: {file}: {what}")
        self._check_complete(subject, exported, name)

    def quizzes(self) -> None:
        plain = samples.plain_quiz()
        _require(self._export(plain, "a plain quiz", leave_out=False), "a plain quiz is refused")
        found = {"a plain quiz": plain, "variants": samples.variants_quiz(), **samples.quizzes()}
        for name, quiz in found.items():
            whole = self._export(quiz, name, leave_out=False)
            left = self._export(quiz, name, leave_out=True)
            if whole is not None:
                _require(left and left.files == whole.files, f"{name}: leaves out what it can hold")
                self._check_complete_quiz(quiz, whole, name)
            elif left is not None:
                self._check_left_out(quiz, left, name)
        for name, quiz in samples.hostile_quizzes():
            said = f"a text of the set is {name}"
            made = self._export(quiz, said, leave_out=False)
            _require(made, f"{said}: refused although nothing is lost")
            assert made is not None  # noqa: S101 - for the type checker
            for file, data in made.files.items():
                for what in find_harm(file, data, ()):
                    raise AssertionError(f"{said}: {file}: {what}")
            self._check_complete_quiz(quiz, made, said)

    def _check_complete_quiz(self, quiz: Quiz, exported: Exported, name: str) -> None:
        """All points are present, and notes name every lost feature with its part."""
        got = self._read_maximum(exported)
        wanted = _quiz_points(quiz)
        _require(
            got is not None and abs(got - wanted) <= SAME,
            f"{name}: {wanted:g} points go in, and {got} are read",
        )
        for part, phrase in _lost_features(quiz):
            noted = any(phrase in note and part in note for note in exported.notes)
            _require(noted, f"{name}: no note about {part} says: {phrase}")

    def _check_left_out(self, quiz: Quiz, exported: Exported, name: str) -> None:
        """Notes name the parts left out, whose points equal the missing points."""
        got = self._read_maximum(exported)
        gone = [
            field.points
            for pool in quiz.pools
            for field in pool.questions[0].fields
            if any(
                _mentions(note, f"q{pool.number}_{field.id}") for note in _left_out_notes(exported)
            )
        ]
        wanted = _quiz_points(quiz) - sum(gone)
        _require(gone, f"{name}: it leaves something out, and no note names a part")
        _require(
            got is not None and abs(got - wanted) <= SAME,
            f"{name}: {sum(gone):g} of {_quiz_points(quiz):g} points are named as left out, "
            f"and {got} are read",
        )

    def _read_maximum(self, exported: Exported) -> float | None:
        found = list(self.read(exported).values())
        return found[0].most if len(found) == 1 else None

    def _export(self, subject: Any, name: str, *, leave_out: bool) -> Exported | None:
        """The exported files; None if the exporter refuses with a reason and a fix."""
        change: dict[str, Any] = {"leave_out": leave_out}
        has_option = any(field.name == "leave_out" for field in fields(self.exporter))
        exporter = replace(self.exporter, **change) if has_option else self.exporter
        try:
            made = exporter.export(subject)
        except GraderError as refusal:
            _require(_one_line(refusal.what), f"{name}: refused with {refusal.what!r}")
            _require(refusal.fix and _one_line(refusal.fix), f"{name}: refused without a fix")
            return None
        except Exception as error:
            raise AssertionError(f"{name}: {type(error).__name__}: {error}") from error
        again = exporter.export(subject)
        _require(made == again, f"{name}: two exports of the same differ")
        for note in made.notes:
            _require(_one_line(note), f"{name}: the note {note!r} is not one printable line")
        for file, data in made.files.items():
            _require(_is_portable_path(file), f"{name}: the file's name {file!r}")
            _require(isinstance(data, bytes), f"{name}: {file} is not bytes")
            if exporter.public(file):
                for what in find_secrets(data, samples.SECRETS):
                    raise AssertionError(f"{name}: {file}, which students get, has {what}")
        return made


def _all_files(exported: Exported) -> dict[str, bytes]:
    """Returns the files by name, with the text that is printed or appended."""
    texts = {"stdout.txt": exported.printed}
    texts |= {file.name: text for file, text in exported.appended.items()}
    return {**exported.files, **{n: t.encode("utf-8", "replace") for n, t in texts.items() if t}}


def _require(holds: object, what: str) -> None:
    if not holds:
        raise AssertionError(what)


def _results_in(subject: Result | ClassResults) -> tuple[Result, ...]:
    return (subject,) if isinstance(subject, Result) else subject.results


def _points_of_student(
    found: Mapping[str, Points], subject: Result | ClassResults, student: str
) -> Points | None:
    if isinstance(subject, Result):
        _require(len(found) <= 1, f"the files of one student are read as those of {len(found)}")
        return next(iter(found.values()), None)
    return found.get(student)


def _names_result(exported: Exported, result: Result) -> bool:
    """Whether a note names the student, or an affected problem or part."""
    feedback = result.feedback
    numbers = [f"problem {problem.number}" for problem in feedback.problems]
    parts = [part.name for problem in feedback.problems for part in problem.parts]
    names = (feedback.student.id, *numbers, *parts)
    return any(_mentions(note, name) for note in exported.notes for name in names)


def _names_open_parts(exported: Exported, result: Result) -> bool:
    """Whether a note names the student, or a note or a file that some parts are open."""
    feedback = result.feedback
    names = [p.name for q in feedback.problems for p in q.parts if p.points is None]
    if feedback.standing is Standing.WAITING:
        names.append("not graded")
    texts = [
        unescape(t) for file, data in _all_files(exported).items() for t in texts_of(file, data)
    ]
    noted = any(_mentions(note, feedback.student.id) for note in exported.notes)
    return noted or any(_mentions(t, name) for t in (*exported.notes, *texts) for name in names)


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None


def _left_out_notes(exported: Exported) -> Iterator[str]:
    return (note for note in exported.notes if "left out" in note)


def _quiz_points(quiz: Quiz) -> float:
    return sum(pool.points for pool in quiz.pools)


def _lost_features(quiz: Quiz) -> Iterator[tuple[str, str]]:
    for pool in quiz.pools:
        for field in pool.questions[0].fields:
            for item in field.items:
                for phrase in item.lost:
                    yield f"q{pool.number}_{field.id}", phrase


def _one_line(text: str) -> bool:
    return bool(text.strip()) and text.isprintable()


def _is_portable_path(name: str) -> bool:
    """Relative, downwards, and the same on every system."""
    parts = name.split("/")
    return all(
        p not in ("", ".", "..") and not re.search(r'[\\:<>"|?*\x00-\x1f]', p) for p in parts
    )
