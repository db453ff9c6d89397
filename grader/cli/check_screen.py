"""The console output of `grader check`: one word of status per answer, 80 columns wide."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterator

import click

from grader.collect.check.run import AnswerLine, AnswerStatus, CheckResult, StoppedCell
from grader.errors import one_line
from grader.model import SAMPLE
from grader.text.words import count_of

WIDTH = 80
_SIGNS = {
    AnswerStatus.READ: "ok",
    AnswerStatus.PARTLY: "PARTLY",
    AnswerStatus.EMPTY: "EMPTY",
    AnswerStatus.MISSING: "MISSING",
    AnswerStatus.UNREADABLE: "UNCLEAR",
}
_GUTTER = 9
"""Columns of a status word, including the space after it."""
_WIDEST = 24
"""Columns of a name; after a longer one, the text begins on a new line."""
_COLORS = {"ok": "green", "PARTLY": "yellow", "EMPTY": "yellow"}


def report(checked: CheckResult) -> str:
    """Returns the full report, with one or more lines per answer."""
    width = min(max(len(line.name) for line in checked.lines), _WIDEST)
    lines = [text for line in checked.lines for text in _answer_lines(line, width)]
    if checked.stopped_cells:
        lines += ["", "Cells that stopped; the answers that they would have set are missing:"]
        lines += [text for cell in checked.stopped_cells for text in _stop_lines(cell)]
    return "\n".join([*_head_lines(checked), *lines, "", *_end_lines(checked)])


def _stop_lines(cell: StoppedCell) -> Iterator[str]:
    """Yields the cell and line that stopped, the reason, and the source of that line."""
    yield from _wrap_lines(cell.message, "  ")
    if cell.source:
        yield from _wrap_lines(f"`{cell.source}`", "    ")


def status_word(line: AnswerLine) -> str:
    """Returns the status word of an answer."""
    return _SIGNS[line.status] if line.passes or line.status is not AnswerStatus.READ else "FAIL"


def outcome_sentence(checked: CheckResult) -> str:
    """Returns a sentence that counts the readable answers and the examples that pass."""
    good = sum(line.status is AnswerStatus.READ for line in checked.lines)
    answers = count_of(len(checked.lines), "answer is", "answers are")
    text = f"{good} of {answers} there and readable"
    tried = [example for line in checked.lines for example in line.example_results]
    if tried:
        passed = sum(not one.fault for one in tried)
        examples = count_of(len(tried), "visible example passes", "visible examples pass")
        text += f"; {passed} of {examples}"
    return f"{text}."


NOT_RIGHT = "This says nothing about whether they are right."


def color_setting() -> bool | None:
    """Returns the `color` argument of `click.echo`: None for automatic, False for no color."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return False if plain or not sys.stdout.isatty() else None


def _head_lines(checked: CheckResult) -> Iterator[str]:
    """Yields what the notebook says about itself, and a warning if it is the sample."""
    about = checked.about
    facts = [
        f"{about.exam or 'exam'}" if about.exam or about.release else "",
        f"release {about.release}" if about.release else "",
        f"notebook of {about.student}" if about.student else "",
        f"version {about.version}" if about.version not in ("", SAMPLE) else "",
    ]
    text = ", ".join(filter(None, facts))
    if text:
        yield from _wrap_lines(text, "")
        yield ""
    if about.version == SAMPLE:
        yield from _wrap_lines(
            "This is the sample for practice. It is not graded: hand in your own notebook.", ""
        )
        yield ""


def _answer_lines(line: AnswerLine, width: int) -> Iterator[str]:
    """Yields the lines of one answer: its status, name, and text, then examples that failed."""
    mark, name = status_word(line), one_line(line.name, 80)
    text = answer_sentence(line)
    indent = " " * (_GUTTER + width + 2)
    first = f"{mark.ljust(_GUTTER)}{name.ljust(width)}  "
    if len(name) > width:
        yield _color(first.rstrip(), mark)
        first = indent
    wrapped = _wrap_lines(text, first, indent)
    yield from (_color(row, mark) if n == 0 else row for n, row in enumerate(wrapped))
    for fault in (example.fault for example in line.example_results if example.fault):
        rows = _wrap_lines(fault, f"{' ' * _GUTTER}FAIL  ", " " * 15)
        yield from (_color(row, "FAIL") if n == 0 else row for n, row in enumerate(rows))


def answer_sentence(line: AnswerLine) -> str:
    """Returns what the check found, followed by how to write the answer if that helps."""
    text, how = line.text.rstrip("."), line.how.split(";")[0]
    # A kind's message about an unreadable answer already says what to give.
    if not how or line.status is AnswerStatus.READ or "give " in text:
        return text
    return f"to do: {how}" if line.status is AnswerStatus.EMPTY else f"{text}. To do: {how}"


def _end_lines(checked: CheckResult) -> Iterator[str]:
    """Yields the summary of the check, what to do next, and the hash of the notebook."""
    yield from _wrap_lines(outcome_sentence(checked), "")
    yield NOT_RIGHT
    if checked.ready and checked.about.version == SAMPLE:
        yield "A notebook that is ready looks like this one, which is only for practice."
    elif checked.ready:
        yield from _wrap_lines("The notebook is ready. Save it and hand it in.", "")
    else:
        yield from _wrap_lines(
            "Fix the answers marked in capitals, save the notebook, and check it again.", ""
        )
    yield f"SHA-256 {checked.sha256}"


def _color(row: str, mark: str) -> str:
    """Returns *row* with its status word in color, which adds no information."""
    return row.replace(mark, click.style(mark, fg=_COLORS.get(mark, "red")), 1)


def _wrap_lines(text: str, first: str, indent: str | None = None) -> list[str]:
    """Returns *text* in lines of 80 columns, which begin with *first* and then with *indent*."""
    return textwrap.wrap(
        one_line(text, 2_000),
        WIDTH,
        initial_indent=first,
        subsequent_indent=first if indent is None else indent,
        break_on_hyphens=False,
    ) or [first.rstrip()]
