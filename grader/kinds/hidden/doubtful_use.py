"""Detects code whose text does not show what it calls, because it uses indirect access.

The list of such ways is never complete. Code that uses one of them is reviewed by a person, and
`grader.wire.watch` observes the calls and resolves the names.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.kinds.hidden.forbidden_use import (
    ModuleNames,
    full_name_of,
    is_name_or_member,
    read_names,
)
from grader.kinds.hidden.own_definitions import literal_text
from grader.wire.watch import LOOPS

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
        *("get_ipython", "user_ns", "__func__", "get_type_hints", "ForwardRef"),
    ]
)
"""Ways to reach any object, to run code without source, and to stop the watching."""
_MODULES = (
    "pkgutil", "inspect", "ctypes", "cffi", "gc", "code", "codeop", "runpy", "pydoc",
    "pickle", "marshal", "shelve", "dill", "cloudpickle", "copyreg", "imp", "zipimport", "doctest",
    "subprocess", "unittest.mock", "logging.config", "xmlrpc", "cProfile", "profile", "trace",
    "bdb", "pdb", "multiprocessing", "concurrent.futures.ProcessPoolExecutor",
    "torch.jit", "torch.fx", "torch.package", "torch.hub", "torch.load", "torch.multiprocessing",
    "torch.utils.cpp_extension", "numpy.f2py", "numpy.load", "numpy.ctypeslib", "timeit.timeit",
    "timeit.repeat", "timeit.Timer",
    "importlib.util", "importlib.machinery", "importlib.resources", "sys.modules", "sys.monitoring",
)  # fmt: skip
"""Modules that look up objects by name or run code given as text."""
_KNOWN = frozenset(
    [
        *sys.stdlib_module_names,
        *("numpy", "torch", "triton", "numba", "ml_dtypes", "cupy", "einops", "tqdm", "IPython"),
        *("matplotlib", "seaborn", "plotly", "pandas", "scipy"),
    ]
)
"""Modules that may be used. Any other may be a file that a cell has written."""
_PLAIN_CLASSES = frozenset(
    ["bool", "bytearray", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str",
     "tuple"]
)  # fmt: skip
"""Classes whose single positional subpattern matches the whole value."""


def find_doubtful_use(source: str, forbidden: Sequence[str]) -> str | None:
    """Returns why it is unclear whether the code uses what is *forbidden*; None if it is clear.

    The text continues "it uses". Code that clearly breaks a rule is found by
    `forbidden_use.find_forbidden_use`.
    """
    parsed = read_names(source) if forbidden else None
    if parsed is None:
        return None
    tree, names = parsed
    nodes = list(ast.walk(tree))
    finder = _DoubtFinder(
        names=names,
        calls={id(n.func): n for n in nodes if isinstance(n, ast.Call)},
        statement_ids=frozenset(id(n.value) for n in nodes if isinstance(n, ast.Expr)),
        rules=tuple(rule for rule in forbidden if rule != LOOPS),
    )
    return next((doubt for node in nodes for doubt in finder.iter_doubts(node)), None)


@dataclass(frozen=True, slots=True)
class _DoubtFinder:
    """Finds the doubtful nodes of one tree."""

    names: ModuleNames
    calls: dict[int, ast.Call]
    """Calls, by the id of the node that is called."""
    statement_ids: frozenset[int]
    """Ids of expressions that are statements, such as docstrings."""
    rules: Sequence[str]

    def iter_doubts(self, node: ast.AST) -> Iterator[str]:
        """Yields why this node itself makes it unclear what the code uses."""
        if isinstance(node, ast.MatchClass):
            plain = node.patterns and getattr(node.cls, "id", "") in _PLAIN_CLASSES
            if self.names.reads_unknown_object(node) and (
                node.kwd_attrs or (node.patterns and not plain)
            ):
                yield "a `case` that matches attributes of an object"
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from self._iter_import_doubts(node)
        elif isinstance(node, ast.Constant) and id(node) not in self.statement_ids:
            text = literal_text(node)
            dotted_rules = (rule for rule in self.rules if "." in rule)
            yield from (
                f"the text `{r}`" for r in dotted_rules if text and is_name_or_member(text, r)
            )
        elif isinstance(node, (ast.Name, ast.Attribute)):
            yield from self._iter_name_doubts(node)

    def _iter_import_doubts(self, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
        """Yields why an import makes it unclear what the code uses."""
        start = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            full = start + alias.name
            if alias.name in _REACHING:
                yield f"`{full}`"
            elif alias.name in (*_BY_NAME, *_RUNNING) and alias.asname not in (None, alias.name):
                yield f"`{alias.name}` under another name"
            elif full.partition(".")[0] not in _KNOWN:
                yield f"the module `{full.partition('.')[0]}`, which is not analyzed"
            yield from self._iter_full_name_doubts(full, whole=True)

    def _iter_name_doubts(self, node: ast.Name | ast.Attribute) -> Iterator[str]:
        """Yields why a name or an attribute makes it unclear what the code uses."""
        name = node.id if isinstance(node, ast.Name) else node.attr
        full = full_name_of(node, self.names.full_names)
        call = self.calls.get(id(node))
        may_be_builtin = isinstance(node, ast.Name) or (full or "").startswith("builtins.")
        is_own = isinstance(node, ast.Attribute) and self._is_own(node.value)
        if name in _REACHING and not is_own:
            yield f"`{name}`"
        elif name in _BY_NAME:
            yield from self._iter_lookup_doubts(name, call)
        elif call is None and may_be_builtin and name in _RUNNING:
            yield f"`{name}` under another name"
        elif name == "vars" and call is not None and not all(map(self._is_own, call.args)):
            yield "`vars`"
        elif name == "__class__" and not isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                yield "a new `__class__` of an object"
        elif full is not None:
            yield from self._iter_full_name_doubts(full)
        elif isinstance(node, ast.Attribute) and self.names.reads_unknown_object(node):
            # It may be an attribute that the code defines itself, see `ModuleNames.uses`.
            yield from (f"`.{name}` of an object that may be anything" for rule in self.rules
                        if name == rule.rpartition(".")[2] != rule)  # fmt: skip

    def _is_own(self, node: ast.AST) -> bool:
        return self.names.own.is_own_object(node)

    def _iter_lookup_doubts(self, name: str, call: ast.Call | None) -> Iterator[str]:
        """Yields why it is unclear what *name*, a function of `_BY_NAME`, looks up."""
        if call is None:
            yield f"`{name}` under another name"
        elif name == "getattr" and call.args and self._is_own(call.args[0]):
            return
        elif call.keywords or any(map(self._may_be_forbidden, call.args[_BY_NAME[name]])):
            yield f"`{name}` with a name computed at run time"

    def _may_be_forbidden(self, node: ast.AST) -> bool:
        """Returns whether *node* may be the name of something forbidden, or lead to it."""
        if isinstance(node, ast.JoinedStr) and node.values:
            begins = literal_text(node.values[0]) or ""
            pieces = [piece for rule in self.rules for piece in rule.split(".")]
            may_be = any(piece.startswith(begins) for piece in pieces)
            # Libraries have short names for others, such as `np`.
            return len(begins) < 3 or begins.startswith("_") or "." in begins or may_be
        return None in self.names.own.iter_texts(node)

    def _iter_full_name_doubts(self, full: str, *, whole: bool = False) -> Iterator[str]:
        """Yields why the object with this full name is doubtful; *whole* if it is imported."""
        if any(is_name_or_member(full, module) for module in _MODULES):
            yield f"`{full}`"
        root, *pieces = full.split(".")
        checked = [root, *pieces] if whole else [root, *pieces[:-1]]
        if any(piece.startswith("_") and not piece.startswith("__") for piece in checked):
            yield f"`{full}`, which is private to its package"
        for rule in self.rules:
            first, last = rule.partition(".")[0], rule.rpartition(".")[2]
            if root == first and not is_name_or_member(full, rule):
                is_private = bool(pieces) and pieces[-1].startswith("_") and last in pieces[-1]
                if last in pieces[:-1] or is_private:
                    yield f"`{full}`, which may do the same as `{rule}`"
