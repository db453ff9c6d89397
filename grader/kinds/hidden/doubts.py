"""Detects code whose text does not show what it calls, because it uses indirect access.

The list of such ways is never complete. Code that uses one of them is reviewed by a person, and
`grader.wire.watch` observes the calls.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from grader.kinds.hidden.rules import LOOPS, Names, dotted, is_of, text_of
from grader.kinds.hidden.statements import syntax_tree

_BY_NAME = {
    "getattr": slice(1, 2), "__getattribute__": slice(None), "attrgetter": slice(None),
    "methodcaller": slice(1), "import_module": slice(1), "__import__": slice(1),
}  # fmt: skip
"""Functions that look up an object by name, and which of their arguments is the name."""
_RUNNING = frozenset(["eval", "exec", "compile", "__builtins__"])
"""Built-in names; calls of them are rejected elsewhere."""
_REACHING = frozenset(
    [
        *("resolve_name", "locate", "find_spec", "module_from_spec", "exec_module", "load_module"),
        *("getattr_static", "getmembers", "get_objects", "get_referrers", "get_referents"),
        *("get_field", "__subclasses__", "__dict__", "__loader__", "__spec__", "__closure__"),
        *("_getframe", "_current_frames", "f_back", "f_builtins", "tb_frame", "gi_frame"),
        *("cr_frame", "ag_frame", "FunctionType", "CodeType", "CompilationUnit", "load_inline"),
        *("setprofile", "settrace", "setprofile_all_threads", "settrace_all_threads"),
    ]
)
"""Ways to reach any object, to run code without source, and to stop the watching."""
_MODULES = (
    "pkgutil", "inspect", "ctypes", "cffi", "gc", "code", "codeop", "runpy", "pydoc", "timeit",
    "pickle", "marshal", "shelve", "dill", "cloudpickle", "copyreg", "imp", "zipimport", "doctest",
    "subprocess", "unittest.mock", "logging.config", "xmlrpc", "cProfile", "profile", "trace",
    "bdb", "pdb", "torch.jit", "torch.fx", "torch.package", "torch.utils.cpp_extension",
    "numpy.f2py", "importlib.util", "importlib.machinery", "importlib.resources", "sys.modules",
    "sys.monitoring",
)  # fmt: skip
"""Modules that look up objects by name or run code given as text."""
_PLAIN_CLASSES = frozenset(
    ["bool", "bytearray", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str",
     "tuple"]
)  # fmt: skip
"""Classes whose single positional subpattern matches the whole value."""


def undecidable(source: str, forbidden: Sequence[str]) -> str | None:
    """Returns why it is unclear whether the code uses what is *forbidden*; None if it is clear.

    The text continues "it uses". Code that clearly breaks a rule is found by `rules.broken`.
    """
    tree = syntax_tree(source) if forbidden else None
    if tree is None:
        return None
    names = Names.of(tree)
    calls = {id(n.func): n for n in ast.walk(tree) if isinstance(n, ast.Call)}
    rules = [rule for rule in forbidden if rule != LOOPS and "." in rule]
    doubts = (one for node in ast.walk(tree) for one in _doubts(node, names, calls, rules))
    return next(doubts, None)


def _doubts(
    node: ast.AST, names: Names, calls: dict[int, ast.Call], rules: Sequence[str]
) -> Iterator[str]:
    if isinstance(node, ast.MatchClass):
        if node.kwd_attrs or (node.patterns and getattr(node.cls, "id", "") not in _PLAIN_CLASSES):
            yield "a `case` that matches attributes of an object"
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from _of_import(node)
    elif isinstance(node, ast.Constant):
        text = text_of(node)
        yield from (f"the text `{r}`" for r in rules if text is not None and is_of(text, r))
    elif isinstance(node, (ast.Name, ast.Attribute)):
        yield from _of_name(node, names, calls.get(id(node)))


def _of_import(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    start = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
    for alias in node.names:
        if _in_modules(start + alias.name) or alias.name in _REACHING:
            yield f"`{start}{alias.name}`"
        elif alias.name in (*_BY_NAME, *_RUNNING) and alias.asname not in (None, alias.name):
            yield f"`{alias.name}` under another name"


def _of_name(node: ast.Name | ast.Attribute, names: Names, call: ast.Call | None) -> Iterator[str]:
    name = node.id if isinstance(node, ast.Name) else node.attr
    if name in _REACHING:
        yield f"`{name}`"
    elif name in _BY_NAME:
        if call is None:
            yield f"`{name}` under another name"
        elif call.keywords or any(text_of(one) is None for one in call.args[_BY_NAME[name]]):
            yield f"`{name}` with a name computed at run time"
    elif call is None and isinstance(node, ast.Name) and name in _RUNNING:
        yield f"`{name}` under another name"
    elif name == "vars" and call is not None and call.args:
        yield "`vars`"
    else:
        full = dotted(node, names.known)
        if full is not None and _in_modules(full):
            yield f"`{full}`"


def _in_modules(full: str) -> bool:
    return any(is_of(full, module) for module in _MODULES)
