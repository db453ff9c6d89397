"""What a part forbids its code to use, looked for in the syntax tree."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence

LOOPS = "loops"
"""Forbids `for`, `while` and comprehensions."""

_LOOPS = (ast.For, ast.While, ast.AsyncFor, ast.comprehension)
_BY_NAME = ("getattr", "__import__", "eval", "exec", "import_module")


def broken(source: str, forbidden: Sequence[str]) -> str | None:
    """What of *forbidden* the code uses, in words; None when it keeps to the rules.

    A rule is `loops`, or a dotted name such as `torch.softmax`, which also stands for the same
    function under another import, as a method, and by name through getattr.
    """
    if not forbidden:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    known = dict(_imported(tree))
    for node in ast.walk(tree):
        if LOOPS in forbidden and isinstance(node, _LOOPS):
            return "a loop"
        for rule in forbidden:
            if rule != LOOPS and _uses(node, rule, known):
                return f"`{rule}`"
    return None


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Local names to what they were imported from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (
                    (alias.asname or alias.name.split(".")[0]),
                    (alias.name if alias.asname else alias.name.split(".")[0]),
                )
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield (alias.asname or alias.name), f"{node.module}.{alias.name}"


def _uses(node: ast.AST, rule: str, known: dict[str, str]) -> bool:
    last = rule.rpartition(".")[2]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return rule in dict(_imported(ast.Module(body=[node], type_ignores=[]))).values()
    if isinstance(node, ast.Name):
        return known.get(node.id, node.id) == rule
    if isinstance(node, ast.Attribute):
        if node.attr != last:
            return False
        full = _dotted(node, known)
        # Of an unknown object it may be the method of the same name.
        return full is None or full == rule or full.split(".")[0] not in _roots(rule, known)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _BY_NAME:
        return any(isinstance(a, ast.Constant) and a.value in (last, rule) for a in node.args)
    return False


def _roots(rule: str, known: dict[str, str]) -> set[str]:
    """Modules of which something else may have that last name."""
    return {name.split(".")[0] for name in known.values()} | {rule.split(".", maxsplit=1)[0]}


def _dotted(node: ast.Attribute, known: dict[str, str]) -> str | None:
    """The full name of what an attribute of a module is; None when it is of an object."""
    parts = [node.attr]
    inner: ast.expr = node.value
    while isinstance(inner, ast.Attribute):
        parts.append(inner.attr)
        inner = inner.value
    if not isinstance(inner, ast.Name) or inner.id not in known:
        return None
    return ".".join([known[inner.id], *reversed(parts)])
