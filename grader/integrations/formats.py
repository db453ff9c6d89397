"""The built-in export formats, each as an exporter with its options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from grader.integrations.base import exporters
from grader.integrations.csv_totals import totals
from grader.integrations.github import actions
from grader.integrations.github.classroom50 import SCALE, Identity, classroom50
from grader.integrations.github.results import github
from grader.integrations.gradescope.results import FILE, TextFormat, Tiers, notes, results_json
from grader.integrations.lms.gradebooks import canvas, worksheet
from grader.integrations.lms.quizzes import moodle, qti
from grader.integrations.nbgrader.making import STUDENTS, nbgrader
from grader.model.exported import ClassResults, Exported, Result
from grader.model.quiz import Quiz


class _OfStudent:
    """An exporter of one student's result, for that student."""

    takes: ClassVar[type[Result]] = Result

    def public(self, name: str) -> bool:  # noqa: ARG002
        return True


class _OfClass:
    """An exporter of the whole class's results, for the instructor."""

    takes: ClassVar[type[ClassResults]] = ClassResults

    def public(self, name: str) -> bool:  # noqa: ARG002
        return False


class _OfQuiz:
    """An exporter of an exam with its answers, for the instructor."""

    takes: ClassVar[type[Quiz]] = Quiz

    def public(self, name: str) -> bool:  # noqa: ARG002
        return False


@exporters.add("csv")
@dataclass(frozen=True, slots=True, kw_only=True)
class Csv(_OfClass):
    """Totals for any spreadsheet. Cells of open points are empty."""

    def export(self, subject: ClassResults, *, leave_out: bool = False) -> Exported:  # noqa: ARG002
        """`results.csv`."""
        return totals(subject)


@exporters.add("github")
@dataclass(frozen=True, slots=True, kw_only=True)
class GitHub(_OfStudent):
    """Input of GitHub Classroom's autograding reporter."""

    def export(self, subject: Result, *, leave_out: bool = False) -> Exported:
        """One file per problem, and the outputs of the step."""
        return github(subject, partial=leave_out)


@exporters.add("actions")
@dataclass(frozen=True, slots=True, kw_only=True)
class Actions(_OfStudent):
    """Annotations and the summary of a step in a GitHub workflow."""

    notebook: str = ""
    """Path of the notebook in the repository, for annotations."""

    def export(self, subject: Result, *, leave_out: bool = False) -> Exported:  # noqa: ARG002
        """`annotations.txt`, and `summary.md`, which names open parts."""
        found = actions.annotations_of(subject, self.notebook)
        files = {
            "annotations.txt": actions.annotation_lines(found).encode("utf-8", "replace"),
            "summary.md": actions.summary_of(subject).encode("utf-8", "replace"),
        }
        return Exported(files=files)


@exporters.add("classroom50")
@dataclass(frozen=True, slots=True, kw_only=True)
class Classroom50(_OfStudent):
    """Classroom 50's result, and the body of its release."""

    whose: Identity
    scale: int = SCALE

    def export(self, subject: Result, *, leave_out: bool = False) -> Exported:
        """`result.json` and `release-body.md`."""
        return classroom50(subject, self.whose, scale=self.scale, partial=leave_out)


@exporters.add("gradescope")
@dataclass(frozen=True, slots=True, kw_only=True)
class Gradescope(_OfStudent):
    """Gradescope's result file, in which open parts have no score."""

    tiers: Tiers = Tiers()  # noqa: RUF009 - frozen
    text_format: TextFormat = TextFormat.TEXT

    def export(self, subject: Result, *, leave_out: bool = False) -> Exported:  # noqa: ARG002
        """`results.json`."""
        data = results_json(subject, tiers=self.tiers, text_format=self.text_format)
        return Exported(files={FILE: data}, notes=notes(subject, self.tiers))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gradebook(_OfClass):
    """A table that the instructor downloaded, with one column filled in."""

    table: bytes
    file: str
    scale: bool = False
    missing_as_zero: bool = False


@exporters.add("canvas")
@dataclass(frozen=True, slots=True, kw_only=True)
class Canvas(_Gradebook):
    """One column of a gradebook exported from Canvas."""

    column: str

    def export(self, subject: ClassResults, *, leave_out: bool = False) -> Exported:  # noqa: ARG002
        """The file under its original name; cells of open points are unchanged."""
        return canvas(
            subject,
            self.table,
            self.file,
            column=self.column,
            scale=self.scale,
            missing_as_zero=self.missing_as_zero,
        )


@exporters.add("worksheet")
@dataclass(frozen=True, slots=True, kw_only=True)
class Worksheet(_Gradebook):
    """The grades in Moodle's offline grading worksheet."""

    def export(self, subject: ClassResults, *, leave_out: bool = False) -> Exported:  # noqa: ARG002
        """The file under its original name; cells of open points are unchanged."""
        return worksheet(
            subject,
            self.table,
            self.file,
            scale=self.scale,
            missing_as_zero=self.missing_as_zero,
        )


@exporters.add("moodle")
@dataclass(frozen=True, slots=True, kw_only=True)
class Moodle(_OfQuiz):
    """Questions for Moodle's question bank."""

    def export(self, subject: Quiz, *, leave_out: bool = False) -> Exported:
        """`quiz.xml`."""
        return moodle(subject, leave_out=leave_out)


@exporters.add("qti")
@dataclass(frozen=True, slots=True, kw_only=True)
class Qti(_OfQuiz):
    """A quiz for Canvas, as a QTI 1.2 package."""

    def export(self, subject: Quiz, *, leave_out: bool = False) -> Exported:
        """`exam.zip`."""
        return qti(subject, leave_out=leave_out)


@exporters.add("nbgrader")
@dataclass(frozen=True, slots=True, kw_only=True)
class Nbgrader:
    """An nbgrader assignment with hidden tests."""

    assignment: str
    takes: ClassVar[type[Quiz]] = Quiz

    def public(self, name: str) -> bool:
        """True for the students' notebook, False for the source with the hidden tests."""
        return name.startswith(f"{STUDENTS}/")

    def export(self, subject: Quiz, *, leave_out: bool = False) -> Exported:
        """The source notebook, and the students' notebook."""
        return nbgrader(subject, self.assignment, leave_out=leave_out)
