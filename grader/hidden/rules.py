"""What a part forbids its code to use, looked for in the syntax tree."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

LOOPS = "loops"
"""Forbids `for`, `while`, comprehensions, and what calls a function for each of many things."""

_LOOPS = (ast.For, ast.While, ast.AsyncFor, ast.comprehension)
_LOOPING = (
    "map", "filter", "functools.reduce", "numpy.vectorize", "numpy.frompyfunc",
    "numpy.apply_along_axis",
)  # fmt: skip
_AT_RUN_TIME = (
    "eval", "exec", "compile", "run_cell", "run_line_magic", "run_cell_magic", "globals",
)  # fmt: skip
"""Calls by which code can be run that is in no syntax tree, or under another name there."""
_BY_NAME = (
    "getattr", "__getattribute__", "__import__", "import_module", "attrgetter", "methodcaller",
)  # fmt: skip
_BY_KEY = ("__dict__", "vars", "globals", "locals")
_ITSELF = ("self", "cls")
_LONGEST = 20
"""Dots in the full name of anything."""


def broken(source: str, forbidden: Sequence[str]) -> str | None:
    """What of *forbidden* the code uses, in words; None when it keeps to the rules.

    A rule is `loops`, or a dotted name such as `torch.softmax`. That also stands for what is in
    it, such as `torch.optim.Adam` in `torch.optim`, for the same function under another import or
    elsewhere in the package, as a method, and by name through getattr. Code that is made at run
    time breaks every rule, for nobody can tell what is in it. What can't be parsed breaks none.
    """
    if not forbidden:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    names = _Names.of(tree)
    found = (one for node in ast.walk(tree) for one in _uses(node, names, forbidden))
    return next(found, None)


def _uses(node: ast.AST, names: _Names, forbidden: Sequence[str]) -> Iterator[str]:
    """What of *forbidden* this very node uses, in words."""
    if names.is_made_at_run_time(node):
        yield f"`{_called(node)}`"
    for rule in forbidden:
        if rule != LOOPS:
            if names.uses(node, rule):
                yield f"`{rule}`"
        elif isinstance(node, _LOOPS):
            yield "a loop"
        else:
            yield from (f"a loop (`{one}`)" for one in _LOOPING if names.is_exactly(node, one))


@dataclass(frozen=True, slots=True)
class _Names:
    """What the names of a module stand for, as far as its imports and assignments tell."""

    known: Mapping[str, str]
    """Names to the full names of what they are."""
    whole: frozenset[str]
    """Packages of which some module was imported by a star."""
    defined: frozenset[str]
    """Names of functions and classes of its own."""

    @classmethod
    def of(cls, tree: ast.Module) -> _Names:
        nodes = list(ast.walk(tree))
        imported = [pair for node in nodes for pair in _imported(node)]
        known = {name: full for name, full in imported if name != "*"}
        unsure = set()
        for node in nodes:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name, full = node.targets[0].id, _dotted(node.value, known)
                if full is not None and known.setdefault(name, full) != full:
                    unsure.add(name)
        for name in unsure:
            del known[name]
        defines = (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)
        return cls(
            known=known,
            whole=frozenset(full.split(".")[0] for name, full in imported if name == "*"),
            defined=frozenset(n.name for n in nodes if isinstance(n, defines)),
        )

    def uses(self, node: ast.AST, rule: str) -> bool:
        """Whether *node* is a use of what *rule* forbids."""
        last, root = rule.rpartition(".")[2], rule.partition(".")[0]
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return any(_is_of(full, rule) for full in _imports(node))
        if isinstance(node, ast.Name):
            starred = node.id == last and root in self.whole
            return _is_of(self._full(node), rule) or (starred and node.id not in self.defined)
        if isinstance(node, ast.Attribute):
            full = _dotted(node, self.known)
            if full is not None:
                return _is_of(full, rule) or (node.attr == last and full.split(".")[0] == root)
            # Of an unknown object it may be the method of the same name, unless it is set.
            used = isinstance(node.ctx, ast.Load) and not _is_named(node.value, _ITSELF)
            return node.attr == last != rule and used
        return _named_by_text(node, last, rule)

    def is_exactly(self, node: ast.AST, rule: str) -> bool:
        """Whether *node* is that function, and no other of its name."""
        if isinstance(node, ast.Name):
            return self._full(node) == rule
        return isinstance(node, ast.Attribute) and _dotted(node, self.known) == rule

    def is_made_at_run_time(self, node: ast.AST) -> bool:
        """Whether *node* runs code that is in no syntax tree."""
        if not isinstance(node, ast.Call) or _called(node) not in _AT_RUN_TIME:
            return False
        if isinstance(node.func, ast.Name):
            return self._full(node.func) in _AT_RUN_TIME
        full = _dotted(node.func, self.known) or ""
        # Models and frames have an `eval` of their own.
        return full.startswith("builtins.") or _called(node).startswith("run_")

    def _full(self, node: ast.Name) -> str:
        """What a name stands for; empty for what the module defines itself."""
        if node.id in self.known:
            return self.known[node.id].removeprefix("builtins.")
        return "" if node.id in self.defined else node.id


def _is_of(full: str, rule: str) -> bool:
    """Whether *full* is what the rule names, or in it."""
    full = full.removeprefix("builtins.")
    return full == rule or full.startswith(f"{rule}.")


def _imported(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Local names to what they were imported from, for an import."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            top = alias.name.split(".")[0]
            yield (alias.asname, alias.name) if alias.asname else (top, top)
    elif isinstance(node, ast.ImportFrom) and node.module:
        for alias in node.names:
            yield (alias.asname or alias.name), f"{node.module}.{alias.name}"


def _imports(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """The full names of all that is imported."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    else:
        yield from (full for _, full in _imported(node))


def _dotted(node: ast.AST, known: Mapping[str, str]) -> str | None:
    """The full name of what a name or an attribute is; None when it is of an object."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < _LONGEST:
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in known:
        return None
    return ".".join([known[node.id], *reversed(parts)])


def _called(node: ast.AST) -> str:
    """The last part of the name of what is called; empty for what is no call."""
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _is_named(node: ast.AST, names: Sequence[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _named_by_text(node: ast.AST, last: str, rule: str) -> bool:
    """Whether a call or an index takes something by a text that is its name."""
    if isinstance(node, ast.Call) and _called(node) in _BY_NAME:
        return any(_text(a) in (last, rule) for a in node.args)
    if isinstance(node, ast.Subscript):
        of = node.value
        by_key = of.attr if isinstance(of, ast.Attribute) else _called(of)
        return by_key in _BY_KEY and _text(node.slice) in (last, rule)
    return False


def _text(node: ast.AST) -> str | None:
    """A text that stands there, also as a sum of texts.

    Of texts alone: a number may have more digits than Python writes out.
    """
    pieces: list[str] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        right = _literal(node.right)
        if right is None:
            return None
        pieces.append(right)
        node = node.left
    left = _literal(node)
    return None if left is None else "".join([left, *reversed(pieces)])


def _literal(node: ast.AST) -> str | None:
    """The text that *node* itself is, or its beginning."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value[:100]
    return None
