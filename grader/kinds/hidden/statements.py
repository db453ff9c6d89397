"""Parsing a notebook cell as Python: its statements and their lines."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from functools import lru_cache

NO_CODE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""Exceptions that the parser may raise for arbitrary text."""

_TRIES = 9

# Notebook syntax that is not Python. Each such line becomes a line of Python, so that the lines
# around it are kept.
_MAGIC = re.compile(r"^([ \t]*)[%!].*$", re.M)
_ASSIGNED_MAGIC = re.compile(r"^([\w., \t\[\]'\"]++=[ \t]*+)[%!].*$", re.M)
_HELP = re.compile(r"^([ \t]*+)(?:\?.*|.*\?[ \t]*|[,;/]\S.*)$", re.M)
_PROMPT = re.compile(r"^[ \t]*+(?:>>> ?|In \[\d+\]: ?|\.\.\.+: ?|\.\.\. ?)", re.M)
_RUNS_PYTHON = re.compile(r"\s*%%(?:time|timeit|capture|prun)\b")


def parse_cell(cell: str) -> tuple[str, list[ast.stmt]]:
    """Returns the cell's Python text and its statements; both are empty if it is not Python."""
    cell = re.sub(r"\r\n?", "\n", cell).replace("\0", "")
    for text in _iter_readings(cell):
        tree = syntax_tree(text)
        if tree is not None:
            return text, tree.body
    return "", []


def _iter_readings(cell: str) -> Iterator[str]:
    """Yields possible readings of the cell: plain Python, then without the notebook's syntax."""
    yield cell
    if cell.lstrip().startswith("%%") and not _RUNS_PYTHON.match(cell):
        return
    yield _MAGIC.sub(r"\1pass", cell)
    cell = _PROMPT.sub("", cell)
    indent = re.match(r"[ \t]*", cell)
    if indent and indent[0]:
        cell = re.sub(rf"^{indent[0]}", "", cell, flags=re.M)
    yield _HELP.sub(r"\1pass", _MAGIC.sub(r"\1pass", _ASSIGNED_MAGIC.sub(r"\1None", cell)))


def syntax_tree(text: str) -> ast.Module | None:
    """Returns the syntax tree; None if *text* is not Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(_TRIES):
            try:
                return ast.parse(text)
            except NO_CODE:
                return None
            except SystemError:
                # Up to Python 3.12, threads that parse at the same time share a counter, which may
                # change when a garbage collection switches threads.
                continue
        return ast.parse(text)


@lru_cache(maxsize=256)  # the starter is compared with each student's code
def shape_of(source: str) -> str:
    """Returns *source* without comments, layout, and docstrings, for comparison."""
    _, body = parse_cell(source)
    for node in (n for statement in body for n in ast.walk(statement)):
        match getattr(node, "body", None):
            case [ast.Expr(value=ast.Constant(value=str())), *_] as inside:
                del inside[0]
    try:
        # Once each: an import may appear in several cells.
        return "\n".join(dict.fromkeys(ast.dump(statement) for statement in body))
    except (RecursionError, ValueError):  # ValueError for a number with too many digits
        return source


def group_by_lines(cell: str) -> Iterator[tuple[str, list[ast.stmt]]]:
    """Yields the text of every statement of a cell; statements on the same line are grouped."""
    text, body = parse_cell(cell)
    lines = text.split("\n")
    first = last = 0
    together: list[ast.stmt] = []
    for statement in body:
        decorators = getattr(statement, "decorator_list", ())
        begins = min([statement.lineno, *(d.lineno for d in decorators)])
        if together and begins > last:
            yield "\n".join(lines[first - 1 : last]), together
            together = []
        if not together:
            first = begins
        together.append(statement)
        last = statement.end_lineno or begins
    if together:
        yield "\n".join(lines[first - 1 : last]), together


def iter_imported_names(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yields the local names of an import, with their full names."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            top = alias.name.split(".")[0]
            yield (alias.asname, alias.name) if alias.asname else (top, top)
    elif isinstance(node, ast.ImportFrom) and node.module:
        for alias in node.names:
            yield (alias.asname or alias.name), f"{node.module}.{alias.name}"
