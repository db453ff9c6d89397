"""Exporters, the options that they declare, and the registry of export formats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import MISSING, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from grader.model.exported import ClassResults, Exported, Result
from grader.model.quiz import Quiz
from grader.registry import Registry

if TYPE_CHECKING:
    from grader.bank.folders import Bank

Subject = TypeVar("Subject", Result, ClassResults, Quiz)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """The command-line option of an exporter's field."""

    help: str
    metavar: str | None = None
    least: float | None = None
    most: float | None = None
    also: str = ""
    """Another spelling, such as `--partial`."""
    exists: bool = False
    """Whether a path must be that of an existing file."""


def option(default: Any = MISSING, **about: Any) -> Any:
    """Returns a dataclass field that is an option of the command; required if it has no default.

    The field's type is bool, int, float, str, Path, or a StrEnum. *about* are the fields of
    `Option`.
    """
    return field(default=default, metadata={"option": Option(**about)})


@dataclass(frozen=True, kw_only=True)
class Exporter(ABC, Generic[Subject]):
    """Writes one format of another system: `grader export NAME`.

    Subclass `StudentExporter`, `ClassExporter`, or `QuizExporter` as a frozen dataclass. The
    class's docstring is the command's help, and its fields are the command's options.
    """

    out: ClassVar[str | None] = "{results}/exports/{name}"
    """Where the command writes by default: a folder, or a file if it has a suffix. If empty,
    `--out` is required; None if the format has no files."""
    examples: ClassVar[tuple[str, ...]] = ()
    """Command lines for the help."""

    @abstractmethod
    def export(self, subject: Subject) -> Exported:
        """Returns the files, and a note for everything that the format can't represent.

        The same subject gives the same bytes. Files of results contain what the student may see;
        files of a quiz also contain keys and solutions. Raises SetupError rather than drop points:
        for a part whose points are still open if the format can't say so, and for a part of a quiz
        that the other system can't ask. If the exporter has a field `leave_out` and it is True,
        such parts and their points are left out, and the notes name them.
        """

    def public(self, name: str) -> bool:  # noqa: ARG002
        """Returns whether students may see the exported file *name*."""
        return False

    def check_target(self, subject: Subject, out: Path) -> None:
        """Raises SetupError if the files of *subject* must not be written to *out*."""


class StudentExporter(Exporter[Result]):
    """Exports one student's result, for that student."""

    one_student: ClassVar[bool] = False
    """Whether `--student` is required. Otherwise, the default is a folder for each student."""

    def public(self, name: str) -> bool:  # noqa: ARG002
        """Returns True, because the student may see all files."""
        return True


class ClassExporter(Exporter[ClassResults]):
    """Exports the results of a class as a table, for the instructor."""


@dataclass(frozen=True, kw_only=True)
class QuizExporter(Exporter[Quiz]):
    """Exports a set with its keys, for the instructor."""

    private_key: str | None = option(
        None,
        metavar="SECRET",
        help="Secret from which the numbers are drawn; random by default.",
    )
    leave_out: bool = option(
        False,
        help="Drop parts that the format can't represent, with their points, and list them.",
    )

    @abstractmethod
    def quiz(self, bank: Bank, wanted: str) -> Quiz:
        """Draws the set *wanted*. Raises SpecError if a problem can't be drawn."""


exporters: Registry[type[Exporter[Any]]] = Registry("export format", "grader.exporters")
"""Exporter classes. Those of this package are listed in `grader.registry`."""
