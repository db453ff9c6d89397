"""What staff see of graded code: hidden cases, and lines that use what is forbidden."""

from __future__ import annotations

from dataclasses import dataclass

from grader.errors import GraderError
from grader.gradebook import Gradebook
from grader.grading.sources import ReleaseSource, evidence_of, source_of
from grader.kinds import Unreadable
from grader.kinds.attempts import CodeKey
from grader.kinds.base import kinds
from grader.kinds.hidden.staff import ShownCase, SourceLine, shown_cases, source_lines
from grader.model.result import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeView:
    """One code part as staff see it. **Secret.**"""

    name: str
    lines: tuple[SourceLine, ...]
    forbids: tuple[str, ...]
    cases: tuple[ShownCase, ...] = ()
    missing: str = ""
    """Why there are no cases; a sentence."""


def code_views(book: Gradebook, row: Row) -> tuple[tuple[CodeView, ...], str]:
    """Returns the code parts of a student and an empty text, or no parts and why there are none."""
    graded = source_of(book)
    if not isinstance(graded, ReleaseSource):
        return (), "These results come from another system, so there are no hidden cases to show."
    evidence = evidence_of(book, row)
    if evidence is None or evidence.is_on_paper:
        return (), "There is no execution to show."
    views = tuple(
        _code_view(name, key, answer.raw)
        for name, key in graded.papers.of(row.student.id).named_keys()
        if isinstance(key, CodeKey)
        and (answer := evidence.answers.get(name)) is not None
        and answer.raw is not None
    )
    return views, "" if views else "This exam has no code parts with an answer."


def _code_view(name: str, key: CodeKey, raw: object) -> CodeView:
    """Returns the student's code with its cases, or why they can't be shown."""
    assert isinstance(raw, dict)  # noqa: S101 - evidence holds JSON objects
    lines = tuple(source_lines(str(raw.get("source") or ""), key))
    missing = ""
    cases: tuple[ShownCase, ...] = ()
    try:
        cases = shown_cases(kinds.find(key.part.kind).read(raw, key), key)
    except Unreadable as error:
        missing = str(error)
    except LookupError:
        missing = "The code was run on inputs that no longer count."
    except (GraderError, ValueError) as error:
        missing = f"The hidden cases can't be created: {error}."
    return CodeView(name=name, lines=lines, forbids=key.part.forbid, cases=cases, missing=missing)
