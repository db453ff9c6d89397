"""What an exporter is: the last of the four seams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from grader.model.exported import ClassResults, Exported, Result
from grader.model.quiz import Quiz
from grader.registry import Registry

Subject = TypeVar("Subject", Result, ClassResults, Quiz)


class Exporter(Protocol[Subject]):
    """One format of another system. Pure: the same subject gives the same bytes."""

    @property
    def takes(self) -> type[Subject]:
        """`Result` for one student's files, `ClassResults` for a table of all, or `Quiz`."""

    def export(self, subject: Subject, *, leave_out: bool = False) -> Exported:
        """The files, and a note for everything that the format does not hold.

        Of results the files have what the student may see; a quiz has its keys and solutions too.
        Raises SetupError, with what would be lost and a fix, rather than drop points: of a part
        whose points are open where the format has no place for that, of a part of a quiz that the
        other system can't ask. With *leave_out* such parts are left out, out of the maximum too,
        and each is named in the notes.
        """

    def public(self, name: str) -> bool:
        """Whether students get to see the file *name* of those that `export` made."""


exporters: Registry[Callable[..., Exporter[Any]]] = Registry("export format", "grader.exporters")
"""Each makes an exporter from options, which come as text by their names from a command line."""
