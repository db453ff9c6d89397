"""A cell of a notebook as Python: its statements, and the lines on which they stand."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

MOST_STATEMENTS = 10_000
"""Of one cell; of a longer one nothing is known."""

NO_CODE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What the parser may raise, whatever the text."""

# What a notebook's shell takes and Python does not. Each line becomes one of Python's, so that
# what stands around it is kept.
_MAGIC = re.compile(r"^([ \t]*)[%!].*$", re.M)
_ASSIGNED_MAGIC = re.compile(r"^([\w., \t\[\]'\"]++=[ \t]*+)[%!].*$", re.M)
_HELP = re.compile(r"^([ \t]*+)(?:\?.*|.*\?[ \t]*|[,;/]\S.*)$", re.M)
_PROMPT = re.compile(r"^[ \t]*+(?:>>> ?|In \[\d+\]: ?|\.\.\.+: ?|\.\.\. ?)", re.M)
_RUNS_PYTHON = re.compile(r"\s*%%(?:time|timeit|capture|prun)\b")


def by_lines(body: list[ast.stmt]) -> Iterator[tuple[int, int, list[ast.stmt]]]:
    """First and last line of every statement, with those that share a line as one."""
    first, last, together = 0, 0, list[ast.stmt]()
    for statement in body:
        decorators = getattr(statement, "decorator_list", ())
        begins = min([statement.lineno, *(d.lineno for d in decorators)])
        if together and begins > last:
            yield first, last, together
            together = []
        if not together:
            first = begins
        together.append(statement)
        last = statement.end_lineno or begins
    if together:
        yield first, last, together


def parsed(cell: str) -> tuple[str, list[ast.stmt]]:
    """The cell as Python, with lines as the parser counts them, and its statements."""
    cell = re.sub(r"\r\n?", "\n", cell).replace("\0", "")
    for text in _readings(cell):
        body = _tree(text)
        if body is not None:
            return text, body if len(body) <= MOST_STATEMENTS else []
    return "", []


def _readings(cell: str) -> Iterator[str]:
    """What the cell may mean: Python as it stands, or what the notebook's shell makes of it."""
    yield cell
    if cell.lstrip().startswith("%%") and not _RUNS_PYTHON.match(cell):
        return
    yield _MAGIC.sub(r"\1pass", cell)
    cell = _PROMPT.sub("", cell)
    indent = re.match(r"[ \t]*", cell)
    if indent and indent[0]:
        cell = re.sub(rf"^{indent[0]}", "", cell, flags=re.M)
    yield _HELP.sub(r"\1pass", _MAGIC.sub(r"\1pass", _ASSIGNED_MAGIC.sub(r"\1None", cell)))


def _tree(text: str) -> list[ast.stmt] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text).body
    except NO_CODE:
        return None
