"""The code that a name is made of: its definition, and all that it uses of the same notebook."""

from __future__ import annotations

import ast
import re
import symtable
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeGuard

MOST_CHARACTERS = 100_000
"""Of all cells that are looked at; of longer notebooks nothing is known."""
MOST_STATEMENTS = 10_000
"""Of one cell; of a longer one nothing is known."""

_NO_CODE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What the parser may raise, whatever the text."""
_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

# What a notebook's shell takes and Python does not. Each line becomes one of Python's, so that
# what stands around it is kept.
_MAGIC = re.compile(r"^([ \t]*)[%!].*$", re.M)
_ASSIGNED_MAGIC = re.compile(r"^([\w., \t\[\]'\"]++=[ \t]*+)[%!].*$", re.M)
_HELP = re.compile(r"^([ \t]*+)(?:\?.*|.*\?[ \t]*|[,;/]\S.*)$", re.M)
_PROMPT = re.compile(r"^[ \t]*+(?:>>> ?|In \[\d+\]: ?|\.\.\.+: ?|\.\.\. ?)", re.M)
_RUNS_PYTHON = re.compile(r"\s*%%(?:time|timeit|capture|prun)\b")


def definitions(cells: Sequence[str], name: str) -> str:
    """The source of what *name* is last given in *cells*, after all that it uses, in their order.

    Found by the syntax tree alone; cells that are not Python count for nothing. Empty when no
    statement at the top of a cell gives *name* a value, and when the cells are too long to look at.
    """
    statements = _statements(tuple(cells))
    given: dict[str, list[int]] = {}
    for number, statement in enumerate(statements):
        for each in statement.gives:
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
                waiting += statements[number].mentions
    return "\n".join(statements[number].text for number in sorted(wanted)) if name in given else ""


def functions_of(source: str) -> str:
    """The functions, classes and imports of *source*, which can be run again without harm.

    Other statements may do something, such as fill a list that another one made.
    """
    text, body = _parsed(source)
    lines = text.split("\n")
    return "\n".join(
        "\n".join(lines[first - 1 : last])
        if all(map(_defines, together))
        else "\n".join(map(_unparsed, filter(_defines, together)))
        for first, last, together in _by_lines(body)
    )


def _unparsed(one: ast.stmt) -> str:
    """Its text, where it shares a line with others; empty for what can't be written out again."""
    try:
        return ast.unparse(one)
    except _NO_CODE:  # such as a number of too many digits
        return ""


def _defines(one: ast.stmt) -> bool:
    if isinstance(one, (ast.If, ast.Try, ast.With)):
        return all(_defines(inner) for inner in ast.iter_child_nodes(one) if _is_statement(inner))
    if isinstance(one, ast.Assign):
        return isinstance(one.value, ast.Lambda)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    return isinstance(one, (*kinds, ast.Pass))


def _is_statement(node: ast.AST) -> TypeGuard[ast.stmt]:
    return isinstance(node, ast.stmt)


@dataclass(frozen=True, slots=True)
class _Statement:
    """One statement at the top of a cell, or several that share a line."""

    text: str
    gives: frozenset[str]
    """Names that have another value, or another content, once it has run."""
    mentions: frozenset[str]


@lru_cache(maxsize=32)  # one notebook's cells are looked at once for each of its functions
def _statements(cells: tuple[str, ...]) -> tuple[_Statement, ...]:
    if sum(map(len, cells)) > MOST_CHARACTERS:
        return ()
    return tuple(one for cell in cells for one in _of_cell(cell))


def _of_cell(cell: str) -> Iterator[_Statement]:
    text, body = _parsed(cell)
    lines = text.split("\n")
    for first, last, together in _by_lines(body):
        segment = "\n".join(lines[first - 1 : last])
        yield _Statement(
            text=segment,
            gives=frozenset(name for one in together for name in _given(one)),
            mentions=_mentioned(together, segment),
        )


def _by_lines(body: list[ast.stmt]) -> Iterator[tuple[int, int, list[ast.stmt]]]:
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


def _parsed(cell: str) -> tuple[str, list[ast.stmt]]:
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
    except _NO_CODE:
        return None


def _given(statement: ast.stmt) -> Iterator[str]:
    """Names to which it gives a value, or of whose values it changes a part."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _DEFINES):
            yield node.name
            yield from (n for g in ast.walk(node) if isinstance(g, ast.Global) for n in g.names)
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((a.asname or a.name).split(".")[0] for a in node.names)
        elif isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            if not isinstance(node.ctx, ast.Load):
                yield from _base(node)
        elif isinstance(node, ast.Call) and _is_named(node.func, "setattr") and node.args:
            yield from _base(node.args[0])
        if isinstance(node, ast.comprehension):
            waiting += [node.iter, *node.ifs]  # its variables are its own
        else:
            waiting += ast.iter_child_nodes(node)


def _base(node: ast.AST) -> Iterator[str]:
    """The name in front of all dots and brackets."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def _is_named(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _mentioned(statements: list[ast.stmt], text: str) -> frozenset[str]:
    names = {n.id for one in statements for n in ast.walk(one) if isinstance(n, ast.Name)}
    if any(isinstance(one, _DEFINES) for one in statements):
        outside = _from_outside(text)
        names = names if outside is None else names & outside
    return frozenset(names)


def _from_outside(text: str) -> set[str] | None:
    """The names that *text* takes from the notebook, without the variables of its functions."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            waiting = [symtable.symtable(text, "<cell>", "exec")]
    except _NO_CODE:
        return None
    found: set[str] = set()
    while waiting:
        table = waiting.pop()
        whole = table.get_type() == "module"
        found.update(
            symbol.get_name()
            for symbol in table.get_symbols()
            if (symbol.is_referenced() if whole else symbol.is_global())
        )
        waiting += table.get_children()
    return found


def lines_of(source: str, given: Sequence[str]) -> int:
    """How many lines of code *source* has, without the statements that stand in *given*, too."""
    known = {statement.text for statement in _statements(tuple(given))}
    own = [s.text for s in _statements((source,)) if s.text not in known] if known else [source]
    return sum(bool(line.strip()) for text in own for line in text.splitlines())


@lru_cache(maxsize=256)  # a starter is compared with what every student made of it
def shape_of(source: str) -> str:
    """*source* without comments, layout and docstrings, by which two of them are compared."""
    _, body = _parsed(source)
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
