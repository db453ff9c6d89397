"""A cell of a notebook as Python: its statements, and the lines on which they stand."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache

NO_CODE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What the parser may raise, whatever the text."""

_TRIES = 9

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
            return text, body
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
    tree = syntax_tree(text)
    return None if tree is None else tree.body


def syntax_tree(text: str) -> ast.Module | None:
    """Its syntax tree; None for what is no Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(_TRIES):
            try:
                return ast.parse(text)
            except NO_CODE:
                return None
            except SystemError:
                # Up to Python 3.12 threads that parse at once share a counter, and may find it
                # changed when a garbage collection lets another one in.
                continue
        return ast.parse(text)


@lru_cache(maxsize=256)  # a starter is compared with what every student made of it
def shape_of(source: str) -> str:
    """*source* without comments, layout and docstrings, by which two of them are compared."""
    _, body = parsed(source)
    for node in (n for statement in body for n in ast.walk(statement)):
        inside = getattr(node, "body", None)
        if isinstance(inside, list) and inside and _is_text(inside[0]):
            del inside[0]
    try:
        # Each once: an import may stand in several cells.
        return "\n".join(dict.fromkeys(ast.dump(statement) for statement in body))
    except (RecursionError, ValueError):  # ValueError for a number of too many digits
        return source


def _is_text(statement: object) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def lines_of(source: str, given: Sequence[str]) -> int:
    """How many lines of code *source* has, without the statements that stand in *given*, too.

    An import that stands in several cells counts once. *source* is not parsed, however long it is;
    *given* are texts of ours.
    """
    lines = [line for line in source.splitlines() if line.strip()]
    imports = dict.fromkeys(line for line in lines if line.startswith(_IMPORTS))
    text = "\n".join(["", *imports, *(line for line in lines if line not in imports), ""])
    for statement in _texts_of(tuple(given)):
        text = text.replace(f"\n{statement}\n", "\n")
    return len(text.split("\n")) - 2 if text.strip() else len(lines)


_IMPORTS = ("import ", "from ")


@lru_cache(maxsize=8)
def _texts_of(given: tuple[str, ...]) -> tuple[str, ...]:
    texts = {statement for text in given for statement in _statements(text)}
    return tuple(sorted(texts, key=lambda text: (-len(text), text)))


def _statements(text: str) -> Iterator[str]:
    """The texts of the statements at its top, without empty lines."""
    text, body = parsed(text)
    lines = text.split("\n")
    for first, last, _ in by_lines(body):
        yield "\n".join(line for line in lines[first - 1 : last] if line.strip())
