"""What each role may do in the desk."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum, auto

from grader.model.course import Role


class Capability(StrEnum):
    """Something that a person may do in the desk."""

    READ = auto()
    """Read the work and the marks of the students in the person's sections."""
    GRADE = auto()
    """Give points for answers, and undo one's own decisions."""
    CHANGE_RUBRIC = auto()
    """Add rubric items, and change them for all students of the person's sections."""
    CHANGE_MARK = auto()
    """Change any mark of a student."""
    ANSWER_REQUESTS = auto()
    """Take in regrade requests, and answer them."""
    UNDO_OTHERS = auto()
    """Undo decisions and answers of other people."""
    SETTLE = auto()
    """Decide which points count where two people graded independently and differ."""
    READ_LOG = auto()
    """Read the audit log, which is about the whole class."""
    SEARCH_IDEAS = auto()
    """Search the wrong answers of the whole class for ideas that they have in common."""
    SEE_NAMES = auto()
    """See the names of students although grading is anonymous."""
    WRITE_RESULTS = auto()
    """Write the grades and the feedback pages that students get."""


_READING = frozenset({Capability.READ})
_GRADING = _READING | {
    Capability.GRADE,
    Capability.CHANGE_RUBRIC,
    Capability.CHANGE_MARK,
    Capability.ANSWER_REQUESTS,
}
CAPABILITIES: Mapping[Role, frozenset[Capability]] = {
    Role.OBSERVER: _READING,
    Role.GRADER: _GRADING,
    Role.HEAD_GRADER: _GRADING
    | {
        Capability.UNDO_OTHERS,
        Capability.SETTLE,
        Capability.READ_LOG,
        Capability.SEARCH_IDEAS,
    },
    Role.INSTRUCTOR: frozenset(Capability),
}
"""What each role may do."""
WHOLE_CLASS = frozenset({Capability.READ_LOG, Capability.SEARCH_IDEAS})
"""What shows the whole class, so that people who see only some sections may not do it."""
