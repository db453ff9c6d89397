"""The console output of `grader check`: one word of status per answer, 80 columns wide."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterator

import click

from grader.check.run import Checked, Found, Line, Stopped
from grader.errors import shown
from grader.model import SAMPLE

WIDTH = 80
_SIGNS = {
    Found.READ: "ok",
    Found.PARTLY: "PARTLY",
    Found.EMPTY: "EMPTY",
    Found.MISSING: "MISSING",
    Found.UNREADABLE: "UNCLEAR",
}
_GUTTER = 9
"""Columns of a status word, including the space after it."""
_WIDEST = 24
"""Columns of a name; after a longer one, the text begins on a new line."""
_COLOURS = {"ok": "green", "PARTLY": "yellow", "EMPTY": "yellow"}


def report(checked: Checked) -> str:
    """The full report, with one or more lines per answer."""
    width = min(max(len(line.name) for line in checked.lines), _WIDEST)
    lines = [text for line in checked.lines for text in _answer(line, width)]
    if checked.stopped:
        lines += ["", "Cells that stopped; the answers that they would have set are missing:"]
        lines += [text for one in checked.stopped for text in _stop(one)]
    return "\n".join([*_head(checked), *lines, "", *_end(checked)])


def _stop(one: Stopped) -> Iterator[str]:
    """The cell and line that stopped, the reason, and the source of that line."""
    yield from _wrap(one.said, "  ")
    if one.source:
        yield from _wrap(f"`{one.source}`", "    ")


def sign(line: Line) -> str:
    """The status word of an answer."""
    return _SIGNS[line.found] if line.passes or line.found is not Found.READ else "FAIL"


def outcome(checked: Checked) -> str:
    """A sentence that counts the readable answers and the examples that pass."""
    good = sum(line.found is Found.READ for line in checked.lines)
    text = f"{good} of {len(checked.lines)} answers are there and readable"
    tried = [one for line in checked.lines for one in line.tried]
    if tried:
        passed = sum(not one.fault for one in tried)
        text += f"; {passed} of {len(tried)} visible examples pass"
    return f"{text}."


NOT_RIGHT = "This says nothing about whether they are right."


def colours() -> bool | None:
    """The `color` argument of `click.echo`: None for automatic, False for no color."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return False if plain or not sys.stdout.isatty() else None


def _head(checked: Checked) -> Iterator[str]:
    about = checked.about
    facts = [
        f"{about.exam or 'exam'}" if about.exam or about.release else "",
        f"release {about.release}" if about.release else "",
        f"notebook of {about.student}" if about.student else "",
        f"version {about.version}" if about.version not in ("", SAMPLE) else "",
    ]
    text = ", ".join(filter(None, facts))
    if text:
        yield from _wrap(text, "")
        yield ""
    if about.version == SAMPLE:
        yield from _wrap(
            "This is the sample for practice. It is not graded: hand in your own notebook.", ""
        )
        yield ""


def _answer(line: Line, width: int) -> Iterator[str]:
    mark, name = sign(line), shown(line.name, 80)
    text = sentence(line)
    indent = " " * (_GUTTER + width + 2)
    first = f"{mark.ljust(_GUTTER)}{name.ljust(width)}  "
    if len(name) > width:
        yield _color(first.rstrip(), mark)
        first = indent
    wrapped = _wrap(text, first, indent)
    yield from (_color(row, mark) if n == 0 else row for n, row in enumerate(wrapped))
    for fault in (one.fault for one in line.tried if one.fault):
        rows = _wrap(fault, f"{' ' * _GUTTER}FAIL  ", " " * 15)
        yield from (_color(row, "FAIL") if n == 0 else row for n, row in enumerate(rows))


def sentence(line: Line) -> str:
    """What the check found, followed by how to write the answer if that helps."""
    text, how = line.text.rstrip("."), line.how.split(";")[0]
    # A kind's message about an unreadable answer already says what to give.
    if not how or line.found is Found.READ or "give " in text:
        return text
    return f"to do: {how}" if line.found is Found.EMPTY else f"{text}. To do: {how}"


def _end(checked: Checked) -> Iterator[str]:
    yield from _wrap(outcome(checked), "")
    yield NOT_RIGHT
    if checked.ready and checked.about.version == SAMPLE:
        yield "A notebook that is ready looks like this one, which is only for practice."
    elif checked.ready:
        yield from _wrap("The notebook is ready. Save it and hand it in.", "")
    else:
        yield from _wrap(
            "Fix the answers marked in capitals, save the notebook, and check it again.", ""
        )
    yield f"SHA-256 {checked.sha256}"


def _color(row: str, mark: str) -> str:
    """*row* with its status word in color. The color adds no information."""
    return row.replace(mark, click.style(mark, fg=_COLOURS.get(mark, "red")), 1)


def _wrap(text: str, first: str, indent: str | None = None) -> list[str]:
    return textwrap.wrap(
        shown(text, 2_000),
        WIDTH,
        initial_indent=first,
        subsequent_indent=first if indent is None else indent,
        break_on_hyphens=False,
    ) or [first.rstrip()]
