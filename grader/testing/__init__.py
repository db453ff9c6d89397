"""Conformance checks for authors of kinds, exporters, and sandboxes."""

from grader.testing.exporters import Points, Read, check_exporter
from grader.testing.kinds import NONSENSE, check_kind
from grader.testing.samples import STUDENTS, quizzes
from grader.testing.sandboxes import check_sandbox

__all__ = [
    "NONSENSE",
    "STUDENTS",
    "Points",
    "Read",
    "check_exporter",
    "check_kind",
    "check_sandbox",
    "quizzes",
]
