"""The input and output of exporters: the visible results of a class, and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.model.result import Feedback


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One student's visible result, and the submission it belongs to."""

    feedback: Feedback
    submission_sha256: str | None = None
    submitted_at: str | None = None
    """ISO 8601; None if nothing was submitted."""
    seconds: float = 0.0
    """How long the notebook ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassResults:
    """The results of all students, reduced to what `reveal` allows them to see."""

    exam: str
    title: str
    release: str
    engine: str
    results: tuple[Result, ...]
    """Ordered by student id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """Files in another system's format, and notes on what the format can't represent."""

    files: Mapping[str, bytes]
    """Contents by relative path, with `/` between folders."""
    notes: tuple[str, ...] = ()
    """What the format can't represent, and what its user should know; one sentence each."""
    stdout: str = ""
    """Text for stdout."""
    appended_text: Mapping[Path, str] = field(default_factory=dict)
    """Text to append to existing files, such as the outputs of a workflow step."""
