"""Records of the gradebook: audit log entries and stored grades."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.model import Grade


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """One action in the audit log."""

    number: int
    at: str
    what: str
    who: str
    why: str
    detail: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FiledGrade:
    """A stored grade, with the run that made it."""

    run: int
    at: str
    grade: Grade
