"""The code that a name is made of: its definition, and all that it uses of the same notebook."""

from __future__ import annotations

import ast
import builtins
import re
import symtable
import unicodedata
import warnings
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeGuard

from grader.kinds.hidden.statements import NO_CODE, by_lines, parsed

MOST_CHARACTERS = 100_000
"""Of the code that one name is made of; longer code is left to a person."""

_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_CAPTURES = (ast.MatchAs, ast.MatchStar)
_STAR = "*"
_PACKAGE = "import "
"""Stands before the name of a package, which may have several names in one notebook."""
_PART = "part of "
"""Stands before a name of whose value a part is changed, under whatever name."""
_OF_ITSELF = frozenset([*dir(builtins), "get_ipython", "display", "__file__", "__class__"])
"""Names that are there before any cell."""
UNDEFINED = "its definition could not be run by itself"
"""Why code that was looked at is not called."""
FAILED_BEFORE = "another call of its group had ended the kernel or had taken too long"
"""Why a call that could change no verdict is not made."""


class TooLongError(ValueError):
    """A name is made of more code than `MOST_CHARACTERS`; says so."""


def definitions(cells: Sequence[str], name: str) -> str:
    """The source of what *name* is last given in *cells*, after all that it uses, in their order.

    Found by the syntax tree alone; cells that are not Python count for nothing, and a cell is only
    parsed when it has one of the names in it. Empty when no statement at the top of a cell gives
    *name* a value. Raises TooLongError.
    """
    index = _Index(cells)
    wanted: set[tuple[int, int]] = set()
    waiting = [name]
    seen: set[str] = set()
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        index.take(one)
        waiting += (*index.leads.get(one, ()), *_besides(one, index.given))
        for place in index.given.get(one, ()):
            if place not in wanted:
                wanted.add(place)
                waiting += index.at(place).mentions
    texts = [index.at(place).text for place in sorted(wanted)] if name in index.given else []
    if sum(map(len, texts)) > MOST_CHARACTERS:
        raise TooLongError(f"it is made of more than {MOST_CHARACTERS:,} characters of code")
    return "\n".join(texts)


class _Index:
    """The statements of a notebook by the names that they give, of the cells taken so far.

    A statement can only give, change or rename what is written in its cell. So once every cell
    that has a name in it was taken, all that is known of this name is complete.
    """

    def __init__(self, cells: Sequence[str]):
        self._cells = cells
        self._left = {number: _words(cell) for number, cell in enumerate(cells)}
        self._statements: dict[int, tuple[_Statement, ...]] = {}
        self.given: dict[str, list[tuple[int, int]]] = {}
        """The places of the statements, as the number of a cell and one within the cell."""
        self.leads: dict[str, set[str]] = {}

    def at(self, place: tuple[int, int]) -> _Statement:
        """The statement there."""
        return self._statements[place[0]][place[1]]

    def take(self, name: str) -> None:
        """Parses the cells that have *name* in them and were not parsed yet."""
        word = name.removeprefix(_PART).removeprefix(_PACKAGE)
        for number in [n for n, words in self._left.items() if words is None or word in words]:
            del self._left[number]
            self._statements[number] = _of_cell(self._cells[number])
            for place, statement in enumerate(self._statements[number]):
                for each in (*statement.gives, *(_PART + base for base in statement.changes)):
                    self.given.setdefault(each, []).append((number, place))
                for one, origin in statement.names:
                    self.leads.setdefault(_PART + origin, set()).add(_PART + one)
                    self.leads.setdefault(one, set()).add(origin)


@lru_cache(maxsize=512)
def _words(cell: str) -> frozenset[str] | None:
    """The words in a cell, and a star for an import of all; None where escapes may hide some."""
    if "\\" in cell:
        return None
    words = frozenset(re.findall(r"\w+", unicodedata.normalize("NFKC", cell)))
    return words | {_STAR} if "import" in words and _STAR in cell else words


def _besides(name: str, given: Container[str]) -> Iterator[str]:
    """What is to be found with a name: what changes it, and a star where nothing gives it."""
    if not name.startswith(_PART):
        yield _PART + name
        if name not in given and not name.startswith(_PACKAGE):
            yield _STAR


def unknown(source: str) -> str | None:
    """A name that *source* takes from the notebook and does not define; None when there is none.

    With an import by a star nobody can tell. What is no Python is not looked at.
    """
    text, body = parsed(source)
    there = {name for one in body for name in _given(one)}
    missing = (_from_outside(text) or set()) - there - _OF_ITSELF
    return min(missing, default=None) if _STAR not in there else None


def functions_of(source: str) -> str:
    """The functions, classes and imports of *source*, which can be run again without harm.

    With what gives another value to their names, or a part of one, such as a decorator that is
    called by hand. Other statements may do something, such as fill a list that another one made; a
    class that these use stays as it is, for they keep objects of it.
    """
    text, body = parsed(source)
    lines = text.split("\n")
    again = _again(body)
    return "\n".join(
        "\n".join(lines[first - 1 : last])
        if all(one in again for one in together)
        else "\n".join(_unparsed(one) for one in together if one in again)
        for first, last, together in by_lines(body)
    )


def _again(body: list[ast.stmt]) -> set[ast.stmt]:
    """Those that are run again. Each statement is looked at once, however they hang together."""
    again = {one for one in body if _defines(one)}
    made = Counter(name for one in again if not _imports(one) for name in _given(one))
    touched = {one: _touched(one) for one in body if one not in again}
    classes = _by_name((one.name, one) for one in again if isinstance(one, ast.ClassDef))
    touching = _by_name((name, one) for one, names in touched.items() for name in names)
    more = {one for one, names in touched.items() if any(made[name] for name in names)}
    kept: list[ast.stmt] = [one for one in touched if one not in more]
    while kept:
        for used in {n.id for n in ast.walk(kept.pop()) if isinstance(n, ast.Name)}:
            for one in classes.pop(used, ()):
                again.discard(one)
                kept.append(one)
                for name in _given(one):
                    made[name] -= 1
                    # What only changed that class is not run again either.
                    for other in touching.pop(name, ()) if not made[name] else ():
                        if other in more and not any(made[n] for n in touched[other]):
                            more.discard(other)
                            kept.append(other)
    return again | more


def _by_name(pairs: Iterable[tuple[str, ast.stmt]]) -> dict[str, list[ast.stmt]]:
    found: dict[str, list[ast.stmt]] = {}
    for name, one in pairs:
        found.setdefault(name, []).append(one)
    return found


def _touched(one: ast.stmt) -> set[str]:
    """Names that have another value, or one with another part, once it has run."""
    return {*_given(one), *_changed(one)}


def _imports(one: ast.stmt) -> bool:
    return isinstance(one, (ast.Import, ast.ImportFrom))


def _unparsed(one: ast.stmt) -> str:
    """Its text, where it shares a line with others; empty for what can't be written out again."""
    try:
        return ast.unparse(one)
    except NO_CODE:  # such as a number of too many digits
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
    changes: frozenset[str]
    """Names of whose values it changes a part."""
    names: frozenset[tuple[str, str]]
    """Other names that it gives to what has one, and to packages."""


@lru_cache(maxsize=512)  # a notebook's cells are looked at for each of its functions
def _of_cell(cell: str) -> tuple[_Statement, ...]:
    return tuple(_statements(cell))


def _statements(cell: str) -> Iterator[_Statement]:
    text, body = parsed(cell)
    lines = text.split("\n")
    for first, last, together in by_lines(body):
        segment = "\n".join(lines[first - 1 : last])
        yield _Statement(
            text=segment,
            gives=frozenset(name for one in together for name in _given(one)),
            mentions=_mentioned(together, segment),
            changes=frozenset(name for one in together for name in _changed(one)),
            names=frozenset(pair for one in together for pair in _renamed(one)),
        )


def _given(statement: ast.stmt) -> Iterator[str]:
    """Names to which it gives a value."""
    for node in _at_its_top(statement):
        if isinstance(node, _DEFINES):
            yield node.name
            yield from (n for g in ast.walk(node) if isinstance(g, ast.Global) for n in g.names)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((a.asname or a.name).split(".")[0] for a in node.names)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, _CAPTURES) and node.name:
            yield node.name


def _changed(statement: ast.stmt) -> Iterator[str]:
    """Names of whose values it changes a part."""
    for node in _at_its_top(statement):
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            if not isinstance(node.ctx, ast.Load):
                yield from _base(node)
        elif isinstance(node, ast.Call):
            if _name_of(node.func) == "setattr" and node.args:
                yield from _base(node.args[0])
            # Of `vars(np)` or `np.__dict__`, and not of every dict.
            space = node.func.value if isinstance(node.func, ast.Attribute) else node
            if _name_of(node.func) == "update" and _name_of(space) in ("vars", "__dict__"):
                yield from _base(space)


def _renamed(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """Names, and what each is another name of."""
    for node in _at_its_top(statement):
        yield from _renamed_by(node)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            yield from ((t.id, node.value.id) for t in node.targets if isinstance(t, ast.Name))


def _renamed_by(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Names that an import gives, and the package of each."""
    if isinstance(node, ast.Import):
        for a in node.names:
            top = a.name.split(".")[0]
            yield a.asname or top, _PACKAGE + top
    elif isinstance(node, ast.ImportFrom) and node.module:
        top = node.module.split(".")[0]
        yield from ((a.asname or a.name, _PACKAGE + top) for a in node.names)


def _at_its_top(statement: ast.stmt) -> Iterator[ast.AST]:
    """What is done when it is run: nothing that is in a function or a class."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.comprehension):
            waiting += [node.iter, *node.ifs]  # its variables are its own
        elif not isinstance(node, _DEFINES):
            waiting += ast.iter_child_nodes(node)


def _base(node: ast.AST) -> Iterator[str]:
    """The name in front of all dots and brackets, or the package that is meant by a text."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Subscript) and _name_of(node.value) == "modules":
            key = getattr(node.slice, "value", None)
            yield _PACKAGE + (key.split(".")[0] if isinstance(key, str) else "")
        node = node.value
    if isinstance(node, ast.Call) and _name_of(node) == "vars" and node.args:
        yield from _base(node.args[0])
    elif isinstance(node, ast.Name):
        yield node.id


def _name_of(node: ast.AST) -> str | None:
    """The last part of a name with dots, or of that of what is called."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)


def _mentioned(statements: list[ast.stmt], text: str) -> frozenset[str]:
    names = {n.id for one in statements for n in ast.walk(one) if isinstance(n, ast.Name)}
    if any(isinstance(one, _DEFINES) for one in statements):
        outside = _from_outside(text)
        names = names if outside is None else names & outside
    imported = (pair for one in statements for n in ast.walk(one) for pair in _renamed_by(n))
    return frozenset(names | {package for _, package in imported})


def _from_outside(text: str) -> set[str] | None:
    """The names that *text* takes from the notebook, without the variables of its functions."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            waiting = [symtable.symtable(text, "<cell>", "exec")]
    except NO_CODE:
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
