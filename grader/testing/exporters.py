"""The conformance checks for exporters of any format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from html import unescape
from typing import Any

from grader.errors import GraderError
from grader.integrations.base import Exporter, QuizExporter, StudentExporter
from grader.model.exported import ClassResults, Exported, Result
from grader.model.quiz import Quiz, QuizPart
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


_Subject = Result | ClassResults


def check_exporter(exporter: Exporter[Any], read: Read, *, missing_is_zero: bool = False) -> None:
    """Checks that *exporter* fulfills the contract of exporters.

    *read* should be written from the other system's documentation and share no code with
    *exporter*. Set *missing_is_zero* if the system needs a score even without a submission. Raises
    AssertionError that names the violation and the sample.
    """
    check = _Check(exporter, read, missing_is_zero=missing_is_zero)
    if isinstance(exporter, QuizExporter):
        check.check_quizzes()
    else:
        check.check_results()


@dataclass(frozen=True, slots=True)
class _Check:
    exporter: Exporter[Any]
    read: Read
    missing_is_zero: bool

    def check_results(self) -> None:
        """Checks exports of all sample classes, with and without leaving open parts out."""
        for name, subject in self._iter_subjects(samples.settled_classes()):
            for leave_out in (False, True):
                self._check_points(
                    subject, self._export_all(subject, name, leave_out=leave_out), name
                )
        for name, subject in self._iter_subjects(samples.unsettled_classes()):
            self._check_open(subject, name)
        for name, subject in self._iter_subjects(samples.classes_without_grades()):
            self._check_absent(subject, name)
        for name, subject in self._iter_subjects(samples.hostile_classes()):
            label = f"a student writes {name}"
            exported = self._export_all(subject, label)
            _check_harmless(_all_files(exported), samples.HOSTILE, label)
            self._check_points(subject, exported, label)
        for name, subject in self._iter_subjects({"an exempt student": samples.exempt_class()}):
            self._check_exempt(subject, name)

    def _iter_subjects(self, classes: Mapping[str, ClassResults]) -> Iterator[tuple[str, _Subject]]:
        """Yields what to export at a time, by name: each class, or each of its results."""
        for name, sample in classes.items():
            whole = not isinstance(self.exporter, StudentExporter)
            yield from ((name, subject) for subject in ([sample] if whole else sample.results))

    def _read_points(
        self, subject: _Subject, exported: Exported | None
    ) -> Iterator[tuple[Result, Points]]:
        """Yields each student's result with the points that are read from the files."""
        if exported is None:
            return
        try:
            found = self.read(exported)
        except Exception as error:
            raise AssertionError(
                f"the reader raises {type(error).__name__}: {error}; the files are "
                f"{', '.join(sorted(exported.files))}"
            ) from error
        if isinstance(subject, Result):
            _require(len(found) <= 1, f"one student's files are read as those of {len(found)}")
            yield subject, next(iter(found.values()), Points())
            return
        for result in subject.results:
            yield result, found.get(result.feedback.student.id) or Points()

    def _check_points(self, subject: _Subject, exported: Exported, name: str) -> None:
        """Checks that the points read from *exported* equal those that went in, or that a note
        names the result."""
        for result, points in self._read_points(subject, exported):
            feedback = result.feedback
            _require(points.earned is not None, f"{name}: no points are read")
            pairs = ((points.earned, feedback.score), (points.most, feedback.max_score))
            for actual, expected in pairs:
                matches = actual is None or abs(actual - expected) <= SAME
                _require(
                    matches or _names_result(exported, result),
                    f"{name}: {expected:g} points go in, {actual} are read, and no note says why",
                )

    def _check_exempt(self, subject: _Subject, name: str) -> None:
        """Checks that an exempt student has no points, whatever was graded."""
        for result, points in self._read_points(
            subject, self._export(subject, name, leave_out=True)
        ):
            if result.feedback.standing is Standing.EXEMPT:
                _require(points.earned is None, f"{name}: {points.earned} points are read")

    def _check_open(self, subject: _Subject, name: str) -> None:
        """Checks that open marks do not become 0, and that a note names them."""
        strict = self._export(subject, name, leave_out=False)
        lenient = self._export(subject, name, leave_out=True)
        _require(lenient or strict is None, f"{name}: refused only where parts may be left out")
        for exported in filter(None, (strict, lenient)):
            for result, points in self._read_points(subject, exported):
                parts = [part for problem in result.feedback.problems for part in problem.parts]
                settled = any(part.points is not None for part in parts)
                same = points.earned is None or abs(points.earned - result.feedback.score) <= SAME
                _require(
                    points.earned is None or (settled and same),
                    f"{name}: {points.earned} points are read, although some are open",
                )
                named = _names_open_parts(exported, result)
                _require(named, f"{name}: no note names the open parts")

    def _check_absent(self, subject: _Subject, name: str) -> None:
        """Checks that a student without a submission has no points, or 0 if some are required."""
        for leave_out in (False, True):
            exported = self._export(subject, name, leave_out=leave_out)
            for result, points in self._read_points(subject, exported):
                waits = result.feedback.standing is Standing.WAITING
                zero = self.missing_is_zero and points.earned == 0 and not waits
                _require(
                    points.earned is None or zero,
                    f"{name}: {points.earned} points are read, although nothing was graded",
                )

    def check_quizzes(self) -> None:
        """Checks exports of all sample quizzes, with and without leaving parts out."""
        self._export_all(samples.plain_quiz(), "a plain quiz")
        samples_by_name = {
            "a plain quiz": samples.plain_quiz(),
            "variants": samples.variants_quiz(),
            **samples.quizzes(),
        }
        for name, quiz in samples_by_name.items():
            strict = self._export(quiz, name, leave_out=False)
            lenient = self._export(quiz, name, leave_out=True)
            if strict is not None:
                same = lenient is not None and lenient.files == strict.files
                _require(same, f"{name}: leaves out what it can hold")
                self._check_complete_quiz(quiz, strict, name)
            elif lenient is not None:
                self._check_left_out(quiz, lenient, name)
        for name, quiz in samples.hostile_quizzes():
            label = f"a text of the set is {name}"
            exported = self._export_all(quiz, label)
            _check_harmless(exported.files, (), label)
            self._check_complete_quiz(quiz, exported, label)

    def _check_complete_quiz(self, quiz: Quiz, exported: Exported, name: str) -> None:
        """Checks that no points are lost, and that notes name every lost feature with its part."""
        self._check_maximum(exported, _quiz_points(quiz), name)
        for part, field in _quiz_parts(quiz):
            for phrase in (phrase for item in field.items for phrase in item.lost_features):
                noted = any(phrase in note and part in note for note in exported.notes)
                _require(noted, f"{name}: no note about {part} says: {phrase}")

    def _check_left_out(self, quiz: Quiz, exported: Exported, name: str) -> None:
        """Checks that notes name the parts left out, whose points equal the missing points."""
        notes = [note for note in exported.notes if "left out" in note]
        gone = [
            field.points
            for part, field in _quiz_parts(quiz)
            if any(_mentions(note, part) for note in notes)
        ]
        _require(gone, f"{name}: it leaves something out, and no note names a part")
        self._check_maximum(exported, _quiz_points(quiz) - sum(gone), name)

    def _check_maximum(self, exported: Exported, wanted: float, name: str) -> None:
        """Checks that *wanted* is read from *exported* as the maximum points."""
        points = list(self.read(exported).values())
        most = points[0].most if len(points) == 1 else None
        _require(
            most is not None and abs(most - wanted) <= SAME,
            f"{name}: {wanted:g} points go in, apart from those that notes name as left out, "
            f"and {most} are read",
        )

    def _export_all(self, subject: Any, name: str, *, leave_out: bool = False) -> Exported:
        """Returns the exported files of a subject that must not be refused."""
        exported = self._export(subject, name, leave_out=leave_out)
        if exported is None:
            raise AssertionError(f"{name}: refused although nothing is lost")
        return exported

    def _export(self, subject: Any, name: str, *, leave_out: bool) -> Exported | None:
        """Returns the exported files; None if the exporter refuses with a reason and a fix."""
        change: dict[str, Any] = {"leave_out": leave_out}
        has_option = any(field.name == "leave_out" for field in fields(self.exporter))
        exporter = replace(self.exporter, **change) if has_option else self.exporter
        try:
            exported = exporter.export(subject)
        except GraderError as refusal:
            _require(_is_printable(refusal.what), f"{name}: refused with {refusal.what!r}")
            _require(refusal.fix and _is_printable(refusal.fix), f"{name}: refused without a fix")
            return None
        except Exception as error:
            raise AssertionError(f"{name}: {type(error).__name__}: {error}") from error
        _require(exported == exporter.export(subject), f"{name}: two exports of the same differ")
        for note in exported.notes:
            _require(_is_printable(note), f"{name}: the note {note!r} is not one printable line")
        for file, data in exported.files.items():
            _require(_is_portable_path(file), f"{name}: the file's name {file!r}")
            _require(isinstance(data, bytes), f"{name}: {file} is not bytes")
            secrets = find_secrets(data, samples.SECRETS) if exporter.public(file) else ()
            for what in secrets:
                raise AssertionError(f"{name}: {file}, which students get, has {what}")
        return exported


def _check_harmless(files: Mapping[str, bytes], written: Sequence[str], name: str) -> None:
    for file, data in files.items():
        for what in find_harm(file, data, written):
            raise AssertionError(f"{name}: {file}: {what}")


def _all_files(exported: Exported) -> dict[str, bytes]:
    """Returns the files by name, with the text that is printed or appended."""
    texts = {"stdout.txt": exported.stdout}
    texts |= {file.name: text for file, text in exported.appended_text.items()}
    return {**exported.files, **{n: t.encode("utf-8", "replace") for n, t in texts.items() if t}}


def _require(holds: object, what: str) -> None:
    if not holds:
        raise AssertionError(what)


def _names_result(exported: Exported, result: Result) -> bool:
    """Returns whether a note names the student, or an affected problem or part."""
    feedback = result.feedback
    numbers = [f"problem {problem.number}" for problem in feedback.problems]
    parts = [part.name for problem in feedback.problems for part in problem.parts]
    names = (feedback.student.id, *numbers, *parts)
    return any(_mentions(note, name) for note in exported.notes for name in names)


def _names_open_parts(exported: Exported, result: Result) -> bool:
    """Returns whether a note names the student, or a note or a file that some parts are open."""
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


def _quiz_points(quiz: Quiz) -> float:
    return sum(pool.points for pool in quiz.pools)


def _quiz_parts(quiz: Quiz) -> Iterator[tuple[str, QuizPart]]:
    """Yields each part with its name in notes."""
    for pool in quiz.pools:
        for field in pool.questions[0].fields:
            yield f"q{pool.number}_{field.id}", field


def _is_printable(text: str) -> bool:
    """Returns whether *text* is one nonblank line of printable characters."""
    return bool(text.strip()) and text.isprintable()


def _is_portable_path(name: str) -> bool:
    """Returns whether the path *name* is relative, leads downward, and is valid everywhere."""
    parts = name.split("/")
    return all(
        p not in ("", ".", "..") and not re.search(r'[\\:<>"|?*\x00-\x1f]', p) for p in parts
    )
