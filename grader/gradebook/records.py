"""What the gradebook tells beyond the shared records: audit lines and filed grades."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.model import Grade


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """One thing that somebody did."""

    number: int
    at: str
    what: str
    who: str
    why: str
    detail: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FiledGrade:
    """A grade as it was filed, with the run that made it."""

    run: int
    at: str
    grade: Grade
