"""What exporters get and give: what students may see of a class's results, and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader.model.result import Feedback


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One student's result, as far as the student may see it, and the submission it is of."""

    feedback: Feedback
    submission_sha256: str | None = None
    submitted_at: str | None = None
    """ISO 8601; None when nothing was handed in."""
    seconds: float = 0.0
    """How long the notebook ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassResults:
    """The results of everybody, for whom `reveal` has decided what may be seen."""

    exam: str
    title: str
    release: str
    engine: str
    results: tuple[Result, ...]
    """In order of the students' ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """The files of another system's format, and what did not survive it."""

    files: Mapping[str, bytes]
    """By path, relative to where they are written; with `/` between folders."""
    notes: tuple[str, ...] = ()
    """What the format can't hold, and what whoever uses it should know; a sentence each."""
