"""The source code that a name needs: its definition and everything it uses in the notebook."""

from __future__ import annotations

import ast
import builtins
import re
import symtable
import unicodedata
import warnings
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from grader.kinds.hidden.statements import NO_CODE, group_by_lines, iter_imported_names, parse_cell
from grader.model.grouping import group_by_key

MOST_CHARACTERS = 100_000
"""Maximum length of the code that one name needs; longer code is graded manually."""

_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_IMPORTS = (ast.Import, ast.ImportFrom)
_CAPTURES = (ast.MatchAs, ast.MatchStar)
_STAR = "*"
_PACKAGE = "import "
"""Prefix of a package's name, which may have several names in one notebook."""
_PART = "part of "
"""Prefix of a name whose value is partly changed, under any name."""
_OF_ITSELF = frozenset([*dir(builtins), "get_ipython", "display", "__file__", "__class__"])
"""Names that exist before the first cell."""
UNDEFINED = "its definition could not be run by itself"
"""Why code that was analyzed is not called."""
FAILED_BEFORE = "another call of its group had ended the kernel or had taken too long"
"""Why a call that can't change the verdict is not made."""


class TooLongError(ValueError):
    """A name needs more code than `MOST_CHARACTERS`; the message says so."""


def extract_definition(cells: Sequence[str], name: str) -> str:
    """Returns the source of the last definition of *name* in *cells*, after everything it uses.

    Only the syntax tree is examined. Cells that are not Python are ignored, and a cell is only
    parsed if it contains one of the names. Empty if no top-level statement defines *name*. Raises
    TooLongError.
    """
    index = _Index(cells)
    wanted: set[tuple[int, int]] = set()
    waiting = [name]
    visited: set[str] = set()
    while waiting:
        mention = waiting.pop()
        if mention in visited:
            continue
        visited.add(mention)
        index.parse_cells_with(mention)
        waiting += (*index.needed_names.get(mention, ()), *_related_names(mention, index.places))
        for place in index.places.get(mention, ()):
            if place not in wanted:
                wanted.add(place)
                waiting += index.statement_at(place).mentions
    if name not in index.places:
        return ""
    texts = [index.statement_at(place).text for place in sorted(wanted)]
    if sum(map(len, texts)) > MOST_CHARACTERS:
        raise TooLongError(f"it needs more than {MOST_CHARACTERS:,} characters of code")
    return "\n".join(texts)


class _Index:
    """The statements of the cells parsed so far, by the names they define.

    A statement can only define, change, or rename what its cell contains. So once all cells that
    contain a name are parsed, everything about this name is known.
    """

    def __init__(self, cells: Sequence[str]):
        self._cells = cells
        self._unparsed = {number: _words_in(cell) for number, cell in enumerate(cells)}
        self._statements: dict[int, tuple[_Statement, ...]] = {}
        self.places: dict[str, list[tuple[int, int]]] = {}
        """Where each name is set or changed: the cell's number, and the statement's index in it."""
        self.needed_names: dict[str, set[str]] = {}
        """What to look up as well for a name: what an alias stands for, and changes of aliases."""

    def statement_at(self, place: tuple[int, int]) -> _Statement:
        """Returns the statement at a position."""
        return self._statements[place[0]][place[1]]

    def parse_cells_with(self, name: str) -> None:
        """Parses the cells that contain *name* and are not parsed yet."""
        word = name.removeprefix(_PART).removeprefix(_PACKAGE)
        for number in [n for n, words in self._unparsed.items() if words is None or word in words]:
            del self._unparsed[number]
            self._statements[number] = _statements_of_cell(self._cells[number])
            for place, statement in enumerate(self._statements[number]):
                parts = (_PART + base for base in statement.changes)
                for changed in (*statement.gives, *parts):
                    self.places.setdefault(changed, []).append((number, place))
                for alias, origin in statement.names:
                    self.needed_names.setdefault(_PART + origin, set()).add(_PART + alias)
                    self.needed_names.setdefault(alias, set()).add(origin)


@lru_cache(maxsize=512)
def _words_in(cell: str) -> frozenset[str] | None:
    """Returns the words in a cell, and a star for a star import; None if escapes may hide some."""
    if "\\" in cell:
        return None
    words = frozenset(re.findall(r"\w+", unicodedata.normalize("NFKC", cell)))
    return words | {_STAR} if "import" in words and _STAR in cell else words


def _related_names(name: str, given: Container[str]) -> Iterator[str]:
    """Yields names whose statements may also define *name*: part changes and star imports."""
    if not name.startswith(_PART):
        yield _PART + name
        if name not in given and not name.startswith(_PACKAGE):
            yield _STAR


def find_undefined_name(source: str) -> str | None:
    """Returns a name that *source* uses but neither defines nor finds built in; None if there is
    none.

    With a star import, the result is None. Source that is not Python is ignored.
    """
    text, body = parse_cell(source)
    defined = {name for statement in body for name in _assigned_names(statement)}
    missing = (_outer_names(text) or set()) - defined - _OF_ITSELF
    return min(missing, default=None) if _STAR not in defined else None


def functions_of(source: str) -> str:
    """Returns the functions, classes, and imports of *source*, which can safely run again.

    This includes statements that change their names or a part of one, such as a decorator called by
    hand. Other statements may have effects, such as appending to a list of another statement. A
    class that they use is left out, because they hold instances of it.
    """
    groups = list(group_by_lines(source))
    again = _statements_to_rerun([statement for _, together in groups for statement in together])
    return "\n".join(
        text
        if all(statement in again for statement in together)
        else "\n".join(_unparse(statement) for statement in together if statement in again)
        for text, together in groups
    )


def _statements_to_rerun(body: list[ast.stmt]) -> set[ast.stmt]:
    """Returns the statements that `functions_of` keeps, after examining each only once."""
    again = {statement for statement in body if _is_definition(statement)}
    defining = (statement for statement in again if not isinstance(statement, _IMPORTS))
    counts = Counter(chain.from_iterable(map(_assigned_names, defining)))
    touched = {
        statement: {*_assigned_names(statement), *_partly_changed_names(statement)}
        for statement in body
        if statement not in again
    }
    classes = group_by_key(
        (statement.name, statement) for statement in again if isinstance(statement, ast.ClassDef)
    )
    touching = group_by_key((name, one) for one, names in touched.items() for name in names)
    rerun_by_name = {one for one, names in touched.items() if any(counts[name] for name in names)}
    kept: list[ast.stmt] = [statement for statement in touched if statement not in rerun_by_name]
    while kept:
        for used in {n.id for n in ast.walk(kept.pop()) if isinstance(n, ast.Name)}:
            for statement in classes.pop(used, ()):
                again.discard(statement)
                kept.append(statement)
                for name in _assigned_names(statement):
                    counts[name] -= 1
                    # Statements that only changed that class are not run again either.
                    for other in touching.pop(name, ()) if not counts[name] else ():
                        if other in rerun_by_name and not any(counts[n] for n in touched[other]):
                            rerun_by_name.discard(other)
                            kept.append(other)
    return again | rerun_by_name


def _unparse(statement: ast.stmt) -> str:
    """Returns the text of a statement that shares a line; empty if it can't be unparsed."""
    try:
        return ast.unparse(statement)
    except NO_CODE:  # such as a number of too many digits
        return ""


def _is_definition(statement: ast.stmt) -> bool:
    """Returns whether a statement does nothing but import, or define functions and classes."""
    if isinstance(statement, (ast.If, ast.Try, ast.With)):
        inside = ast.iter_child_nodes(statement)
        return all(_is_definition(inner) for inner in inside if isinstance(inner, ast.stmt))
    if isinstance(statement, ast.Assign):
        return isinstance(statement.value, ast.Lambda)
    return isinstance(statement, (*_DEFINES, *_IMPORTS, ast.Pass))


@dataclass(frozen=True, slots=True)
class _Statement:
    """A top-level statement of a cell, or several on the same line."""

    text: str
    gives: frozenset[str]
    """Names whose value or content it changes."""
    mentions: frozenset[str]
    changes: frozenset[str]
    """Names whose value it changes in part."""
    names: frozenset[tuple[str, str]]
    """Aliases that it creates, of names and of packages."""


@lru_cache(maxsize=512)  # a notebook's cells are analyzed for each of its functions
def _statements_of_cell(cell: str) -> tuple[_Statement, ...]:
    """Returns the statements of a cell, with the names that each changes, mentions, or creates."""
    return tuple(
        _Statement(
            text=text,
            gives=frozenset(chain.from_iterable(map(_assigned_names, together))),
            mentions=_mentioned_names(together, text),
            changes=frozenset(chain.from_iterable(map(_partly_changed_names, together))),
            names=frozenset(chain.from_iterable(map(_iter_aliases, together))),
        )
        for text, together in group_by_lines(cell)
    )


def _assigned_names(statement: ast.stmt) -> Iterator[str]:
    """Yields the names that the statement assigns."""
    for node in _walk_executed(statement):
        if isinstance(node, _DEFINES):
            yield node.name
            yield from (n for g in ast.walk(node) if isinstance(g, ast.Global) for n in g.names)
        elif isinstance(node, _IMPORTS):
            yield from ((a.asname or a.name).split(".")[0] for a in node.names)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, _CAPTURES) and node.name:
            yield node.name


def _partly_changed_names(statement: ast.stmt) -> Iterator[str]:
    """Yields the names whose value the statement changes in part."""
    for node in _walk_executed(statement):
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            if not isinstance(node.ctx, ast.Load):
                yield from _base_names(node)
        elif isinstance(node, _DEFINES):
            yield from chain.from_iterable(map(_registry_names, node.decorator_list))
        elif isinstance(node, ast.Call):
            yield from _registry_names(node)
            if _name_of(node.func) == "setattr" and node.args:
                yield from _base_names(node.args[0])
            # Of `vars(np)` or `np.__dict__`, and not of every dict.
            space = node.func.value if isinstance(node.func, ast.Attribute) else node
            if _name_of(node.func) == "update" and _name_of(space) in ("vars", "__dict__"):
                yield from _base_names(space)


def _registry_names(node: ast.expr) -> Iterator[str]:
    """Yields the name that something is registered with, as for `functools.singledispatch`."""
    function = node.func if isinstance(node, ast.Call) else node
    if (
        isinstance(function, ast.Attribute)
        and function.attr == "register"
        and isinstance(function.value, ast.Name)
    ):
        yield function.value.id


def _iter_aliases(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yields new names, each with the name it is an alias of."""
    for node in _walk_executed(statement):
        yield from _iter_import_aliases(node)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            yield from ((t.id, node.value.id) for t in node.targets if isinstance(t, ast.Name))


def _iter_import_aliases(node: ast.AST) -> Iterator[tuple[str, str]]:
    for name, full in iter_imported_names(node):
        yield name, _PACKAGE + full.split(".")[0]


def _walk_executed(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yields the nodes that run with the statement, without bodies of functions and classes."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.comprehension):
            waiting += [node.iter, *node.ifs]  # its variables are its own
        elif not isinstance(node, _DEFINES):
            waiting += ast.iter_child_nodes(node)


def _base_names(node: ast.AST) -> Iterator[str]:
    """Yields the name before all dots and brackets, or the package that a text names."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Subscript) and _name_of(node.value) == "modules":
            key = getattr(node.slice, "value", None)
            yield _PACKAGE + (key.split(".")[0] if isinstance(key, str) else "")
        node = node.value
    if isinstance(node, ast.Call) and _name_of(node) == "vars" and node.args:
        yield from _base_names(node.args[0])
    elif isinstance(node, ast.Name):
        yield node.id


def _name_of(node: ast.AST) -> str | None:
    """Returns the last part of a dotted or called name; None for any other node."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)


def _mentioned_names(statements: list[ast.stmt], text: str) -> frozenset[str]:
    """Returns the names and packages that statements use, without the local names of functions."""
    nodes = [node for statement in statements for node in ast.walk(statement)]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    if any(isinstance(statement, _DEFINES) for statement in statements):
        outside = _outer_names(text)
        names = names if outside is None else names & outside
    packages = {package for node in nodes for _, package in _iter_import_aliases(node)}
    return frozenset(names | packages)


def _outer_names(text: str) -> set[str] | None:
    """Returns the names that *text* takes from the notebook, without local variables."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            waiting = [symtable.symtable(text, "<cell>", "exec")]
    except NO_CODE:
        return None
    outer: set[str] = set()
    while waiting:
        table = waiting.pop()
        whole = table.get_type() == "module"
        outer.update(
            symbol.get_name()
            for symbol in table.get_symbols()
            if (symbol.is_referenced() if whole else symbol.is_global())
        )
        waiting += table.get_children()
    return outer
