"""Parsing a notebook cell as Python: its statements and their lines."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
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


def group_by_lines(body: list[ast.stmt]) -> Iterator[tuple[int, int, list[ast.stmt]]]:
    """Yields the first and last line of every statement; statements on the same line are
    grouped."""
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


def parse_cell(cell: str) -> tuple[str, list[ast.stmt]]:
    """Returns the cell as Python, with lines as the parser counts them, and its statements."""
    cell = re.sub(r"\r\n?", "\n", cell).replace("\0", "")
    for text in _iter_readings(cell):
        body = _body_of(text)
        if body is not None:
            return text, body
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


def _body_of(text: str) -> list[ast.stmt] | None:
    tree = syntax_tree(text)
    return None if tree is None else tree.body


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
        inside = getattr(node, "body", None)
        if isinstance(inside, list) and inside and _is_docstring(inside[0]):
            del inside[0]
    try:
        # Once each: an import may appear in several cells.
        return "\n".join(dict.fromkeys(ast.dump(statement) for statement in body))
    except (RecursionError, ValueError):  # ValueError for a number with too many digits
        return source


def _is_docstring(statement: object) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def count_lines(source: str, given: Sequence[str]) -> int:
    """Returns the number of lines of code in *source*, without the statements of *given*.

    An import that appears in several cells counts once. *source* may be long and is not parsed;
    *given* are our own texts.
    """
    lines = [line for line in source.splitlines() if line.strip()]
    imports = dict.fromkeys(line for line in lines if line.startswith(_IMPORTS))
    text = "\n".join(["", *imports, *(line for line in lines if line not in imports), ""])
    for statement in _statement_texts(tuple(given)):
        text = text.replace(f"\n{statement}\n", "\n")
    return len(text.split("\n")) - 2 if text.strip() else len(lines)


_IMPORTS = ("import ", "from ")


@lru_cache(maxsize=8)
def _statement_texts(given: tuple[str, ...]) -> tuple[str, ...]:
    texts = {statement for text in given for statement in _iter_statement_texts(text)}
    return tuple(sorted(texts, key=lambda text: (-len(text), text)))


def _iter_statement_texts(text: str) -> Iterator[str]:
    """Yields the texts of the top-level statements, without empty lines."""
    text, body = parse_cell(text)
    lines = text.split("\n")
    for first, last, _ in group_by_lines(body):
        yield "\n".join(line for line in lines[first - 1 : last] if line.strip())
