"""Conformance checks for authors of kinds and exporters."""

from grader.testing.exporters import Points, Read, check_exporter
from grader.testing.kinds import NONSENSE, check_kind
from grader.testing.samples import STUDENTS, quizzes

__all__ = [
    "NONSENSE",
    "STUDENTS",
    "Points",
    "Read",
    "check_exporter",
    "check_kind",
    "quizzes",
]
