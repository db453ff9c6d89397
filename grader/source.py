"""The code that a name is made of: its definition, and all that it uses of the same notebook."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence

MOST_CHARACTERS = 200_000
"""Of all cells that are looked at."""
MOST_KEPT = 40_000

_MAGIC = re.compile(r"^[ \t]*[%!].*$", re.M)


def definitions(cells: Sequence[str], name: str) -> str:
    """The source of what *name* is last given in *cells*, after all that it uses, in their order.

    Found by the syntax tree alone; cells that are not Python count for nothing. Empty when no
    statement at the top of a cell gives *name* a value.
    """
    statements = list(_statements(cells))
    given: dict[str, list[int]] = {}
    for number, (_, names, _) in enumerate(statements):
        for each in names:
            given.setdefault(each, []).append(number)
    wanted: set[int] = set()
    waiting = [name]
    seen: set[str] = set()
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        for number in given.get(one, ()):
            if number not in wanted:
                wanted.add(number)
                waiting += statements[number][2]
    text = "\n".join(statements[number][0] for number in sorted(wanted))
    return text[:MOST_KEPT] if name in given else ""


def _statements(cells: Iterable[str]) -> Iterator[tuple[str, frozenset[str], frozenset[str]]]:
    """Every statement: its text, the names that it gives a value, and those that it mentions."""
    room = MOST_CHARACTERS
    for cell in cells:
        room -= len(cell)
        if room < 0:
            return
        text = _MAGIC.sub("", cell).replace("\0", "")
        for statement in _parsed(text):
            segment = _segment(text, statement)
            yield segment, _given(statement), _mentioned(statement)


def _parsed(text: str) -> list[ast.stmt]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _segment(text: str, statement: ast.stmt) -> str:
    first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
    return "\n".join(text.splitlines()[first - 1 : statement.end_lineno])


def _given(statement: ast.stmt) -> frozenset[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return frozenset((statement.name,))
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return frozenset((a.asname or a.name).split(".")[0] for a in statement.names)
    stored = (n for n in ast.walk(statement) if isinstance(n, ast.Name))
    return frozenset(n.id for n in stored if isinstance(n.ctx, ast.Store))


def _mentioned(statement: ast.stmt) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(statement) if isinstance(n, ast.Name))


def shape_of(source: str) -> str:
    """*source* without comments, layout and docstrings, by which two of them are compared."""
    body = _parsed(source)
    for node in (n for statement in body for n in ast.walk(statement)):
        inside = getattr(node, "body", None)
        if isinstance(inside, list) and inside and _is_text(inside[0]):
            del inside[0]
    try:
        return "\n".join(ast.dump(statement) for statement in body)
    except RecursionError:
        return source


def _is_text(statement: object) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
