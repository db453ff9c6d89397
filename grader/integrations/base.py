"""The exporter interface, and the registry of export formats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from grader.model.exported import ClassResults, Exported, Result
from grader.model.quiz import Quiz
from grader.registry import Registry

Subject = TypeVar("Subject", Result, ClassResults, Quiz)


class Exporter(Protocol[Subject]):
    """Writes one format of another system. Pure: the same subject gives the same bytes."""

    @property
    def takes(self) -> type[Subject]:
        """`Result` for one student's files, `ClassResults` for a table of all, or `Quiz`."""

    def export(self, subject: Subject, *, leave_out: bool = False) -> Exported:
        """The files, and a note for everything that the format can't represent.

        Files of results contain what the student may see; files of a quiz also contain keys and
        solutions. Raises SetupError rather than drop points: for a part whose points are still
        open if the format can't say so, and for a part of a quiz that the other system can't
        ask. With *leave_out*, such parts and their points are left out, and the notes name them.
        """

    def public(self, name: str) -> bool:
        """Whether students may see the exported file *name*."""


exporters: Registry[Callable[..., Exporter[Any]]] = Registry("export format", "grader.exporters")
"""Exporter factories. Their keyword arguments come as text from the command line."""
