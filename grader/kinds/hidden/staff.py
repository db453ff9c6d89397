"""What staff see of code: each hidden case, and the lines that use what is forbidden."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from grader.errors import visible
from grader.kinds.attempts import CodeAnswer, CodeKey
from grader.kinds.hidden import analysis
from grader.kinds.hidden.compare import format_result
from grader.kinds.hidden.judging import CaseResults
from grader.kinds.hidden.solutions import decode_inputs
from grader.wire.values import UnknownError, decode_result


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCase:
    """One hidden case in plain text. **Secret.**"""

    group: str
    inputs: str
    expected: str
    result: str
    fault: str
    """Why the case fails or stays open; empty if it passes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """One line of a student's code."""

    number: int
    text: str
    forbidden: str = ""
    """What the line uses of what the part forbids, in words; empty if nothing."""


def shown_cases(value: CodeAnswer, key: CodeKey) -> tuple[ShownCase, ...]:
    """Returns the hidden cases in the order of the calls.

    Raises LookupError if the code was run on other cases, and ValueError and PackageError as
    `CodeKey.cases`.
    """
    return tuple(
        ShownCase(
            group=run.case.group + (" (called again)" if run.case.again else ""),
            inputs=", ".join(
                f"{name}={format_result(value)}"
                for name, value in decode_inputs(run.case.call).items()
            ),
            expected=_format_expectation(run.want),
            result=_format_call_result(run.call),
            fault=run.fault,
        )
        for run in CaseResults(value, key).runs
    )


def _format_expectation(want: Mapping[str, object]) -> str:
    if "raises" in want:
        return f"raises {want['raises']}"
    return format_result(decode_result(want["value"])) if "value" in want else "has the properties"


def _format_call_result(call: Mapping[str, object]) -> str:
    """Returns what a call returned, or how it ended, on one line of plain text."""
    if call["is"] != "returned":
        message = " ".join(str(call[name]) for name in ("type", "what") if call.get(name))
        return visible(f"{call['is']}: {message}"[:500])
    try:
        return visible(format_result(decode_result(call.get("v"))))
    except (UnknownError, ValueError):
        return "can't be read"


def source_lines(source: str, key: CodeKey) -> Iterator[SourceLine]:
    """Yields the lines of a student's code. Code that can't be analyzed has no marked lines."""
    try:
        forbidden = dict(analysis.forbidden_lines(source, key.part.forbid))
    except analysis.NotAnalyzedError:
        forbidden = {}
    for number, text in enumerate(source.split("\n"), 1):
        yield SourceLine(number=number, text=visible(text), forbidden=forbidden.get(number, ""))
