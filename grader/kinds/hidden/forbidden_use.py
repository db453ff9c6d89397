"""Finds forbidden names in the syntax tree of students' code."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from grader.kinds.hidden.own_definitions import OwnDefinitions
from grader.kinds.hidden.statements import iter_imported_names, syntax_tree
from grader.wire.watch import LOOPS, is_covered

_LOOPS = (ast.For, ast.While, ast.AsyncFor, ast.comprehension)
_LOOKED_AT = (
    ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Import, ast.ImportFrom, ast.MatchClass,
    *_LOOPS,
)  # fmt: skip
_LOOPING = (
    "map", "filter", "functools.reduce", "itertools.starmap", "itertools.accumulate",
    "itertools.filterfalse", "itertools.takewhile", "itertools.dropwhile",
    "numpy.vectorize", "numpy.frompyfunc", "numpy.apply_along_axis",
)  # fmt: skip
_AT_RUN_TIME = (
    "eval", "exec", "compile", "run_cell", "run_line_magic", "run_cell_magic", "globals",
)  # fmt: skip
"""Calls that run code which is in no syntax tree, or under another name there."""
_ELSEWHERE = ("__main__", "__globals__", "f_globals", "f_locals")
"""Ways to reach the notebook's other functions, which are not analyzed."""
_SPACES = ("locals", "vars")
_BY_NAME = (
    "getattr", "__getattribute__", "__import__", "import_module", "attrgetter", "methodcaller",
)  # fmt: skip
_BY_KEY = ("__dict__", "vars", "globals", "locals")
_KEYED = ("get", "pop", "setdefault", "__getitem__")
_ITSELF = ("self", "cls")
_LONGEST = 20
"""Maximum number of dots in a full name."""


def find_forbidden_use(source: str, forbidden: Sequence[str]) -> str | None:
    """Returns the part of *forbidden* that the code uses, in words; None if it follows the rules.

    A rule is `loops` or a dotted name such as `torch.softmax`. A dotted name also covers its
    members (`torch.optim.Adam` for `torch.optim`), and the same function under another import,
    elsewhere in the package, as a method, or by name through getattr. Code generated at run time
    breaks every rule, because its content is unknown. Code that can't be parsed breaks none.
    """
    parsed = read_names(source) if forbidden else None
    if parsed is None:
        return None
    tree, names = parsed
    uses = (use for node in ast.walk(tree) for use in _iter_forbidden(node, names, forbidden))
    return next(uses, None) or _find_namespace_access(tree)


def list_forbidden_lines(source: str, forbidden: Sequence[str]) -> list[tuple[int, str]]:
    """Returns what lines of the code use of *forbidden*, in words, by line number from 1."""
    parsed = read_names(source) if forbidden else None
    if parsed is None:
        return []
    tree, names = parsed
    lines: dict[int, str] = {}
    for node in ast.walk(tree):
        for words in _iter_forbidden(node, names, forbidden):
            lines.setdefault(getattr(node, "lineno", 1), words)
    return sorted(lines.items())


def _find_namespace_access(tree: ast.Module) -> str | None:
    """Returns a call such as `locals()` outside the bodies of functions, where it gives access to
    all names of the notebook; None if there is none."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if _called_name(node) in _SPACES and not _arguments(node):
            return f"`{_called_name(node)}`"
        is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        body = getattr(node, "body", None) if is_function else None
        body_ids = set(map(id, body if isinstance(body, list) else [body]))
        waiting += (child for child in ast.iter_child_nodes(node) if id(child) not in body_ids)
    return None


def _iter_forbidden(node: ast.AST, names: ModuleNames, forbidden: Sequence[str]) -> Iterator[str]:
    """Yields the forbidden names that this node itself uses, in words."""
    if isinstance(node, ast.AugAssign):
        node = node.target  # which is also read
    elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        return
    if not isinstance(node, _LOOKED_AT):
        return
    if names.runs_generated_code(node):
        yield f"`{_called_name(node)}`"
    yield from (f"`{escape}`" for escape in names.iter_escapes(node))
    for rule in forbidden:
        if rule != LOOPS:
            if names.uses(node, rule):
                yield f"`{rule}`"
        elif isinstance(node, _LOOPS):
            yield "a loop"
        else:
            yield from (f"a loop (`{one}`)" for one in _LOOPING if names.refers_to(node, one))


@dataclass(frozen=True, slots=True)
class ModuleNames:
    """The meaning of a module's names, as far as its imports and assignments show it."""

    full_names: Mapping[str, str]
    """Names mapped to their full names."""
    whole: frozenset[str]
    """Packages with a module that was imported with a star."""
    own_names: frozenset[str]
    """Names of the module's own functions and classes."""
    own: OwnDefinitions

    @classmethod
    def from_tree(cls, tree: ast.Module) -> ModuleNames:
        """Returns the names of *tree*."""
        nodes = list(ast.walk(tree))
        imported = [pair for node in nodes for pair in iter_imported_names(node)]
        full_names = {"__builtins__": "builtins"}
        full_names |= {name: full for name, full in imported if name != "*"}
        ambiguous = set()
        for node in nodes:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                full = full_name_of(node.value, full_names)
                if full is not None and full_names.setdefault(name, full) != full:
                    ambiguous.add(name)
        for name in ambiguous:
            del full_names[name]
        defines = (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)
        return cls(
            full_names=full_names,
            whole=frozenset(full.split(".")[0] for name, full in imported if name == "*"),
            own_names=frozenset(n.name for n in nodes if isinstance(n, defines)),
            own=OwnDefinitions.from_tree(tree),
        )

    def uses(self, node: ast.AST, rule: str) -> bool:
        """Returns whether *node* uses what *rule* forbids."""
        last = rule.rpartition(".")[2]
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            covers = is_name_or_member if isinstance(node, ast.Import) else is_covered
            return any(covers(full, rule) for full in _iter_full_names(node))
        if isinstance(node, ast.Name):
            return self._may_refer_to(node, rule)
        if isinstance(node, ast.Attribute):
            return self._uses_attribute(node, rule)
        if isinstance(node, ast.MatchClass):  # a pattern such as `object(optim=o)`
            return self.reads_unknown_object(node) and last != rule and last in node.kwd_attrs
        texts = filter(None, self._looked_up_texts(node))
        return any(is_name_or_member(t, rule) or t.rpartition(".")[2] == last for t in texts)

    def _may_refer_to(self, node: ast.Name, rule: str) -> bool:
        """Returns whether a name is what *rule* names, or may be it because of a star import."""
        starred = node.id == rule.rpartition(".")[2] and rule.partition(".")[0] in self.whole
        return is_covered(self._resolve(node), rule) or (starred and node.id not in self.own_names)

    def _uses_attribute(self, node: ast.Attribute, rule: str) -> bool:
        """Returns whether an attribute is, or may be, what *rule* names."""
        full = full_name_of(node, self.full_names)
        last = rule.rpartition(".")[2]
        if full is not None:
            return is_covered(full, rule)
        # On an unknown object it may be the method of that name. If the code defines an attribute
        # of that name itself, `doubtful_use` and the observed calls decide.
        named = node.attr == last != rule and node.attr not in self.own.fields
        return (
            named
            and self.reads_unknown_object(node)
            and getattr(node.value, "id", "") not in _ITSELF
        )

    def reads_unknown_object(self, node: ast.Attribute | ast.MatchClass) -> bool:
        """Returns whether *node* reads an attribute of an object that may be anything."""
        if isinstance(node, ast.MatchClass):
            return getattr(node.cls, "id", "") not in self.own.classes
        return isinstance(node.ctx, ast.Load) and not self.own.is_own_object(node.value)

    def refers_to(self, node: ast.AST, rule: str) -> bool:
        """Returns whether *node* is the function *rule*, rather than a method of the same name."""
        last, root = rule.rpartition(".")[2], rule.partition(".")[0]
        if isinstance(node, ast.Name):
            if node.id != last and node.id not in self.full_names:
                return False
            return self._may_refer_to(node, rule)
        if isinstance(node, ast.Attribute):
            return is_covered(full_name_of(node, self.full_names) or "", rule)
        if self._owning_package(node) != (root if last != rule else "builtins"):
            return False
        return last in self._looked_up_texts(node)

    def iter_escapes(self, node: ast.AST) -> Iterator[str]:
        """Yields each way in which *node* accesses parts of the notebook that are not analyzed."""
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            full = list(_iter_full_names(node))
            yield from (w for w in _ELSEWHERE if any(is_name_or_member(n, w) for n in full))
        elif isinstance(node, ast.Attribute):
            yield from (way for way in _ELSEWHERE if node.attr == way)
        else:
            texts = self._looked_up_texts(node)
            yield from (way for way in _ELSEWHERE if way in texts)
            if self._is_sys_modules(_looked_up_object(node)) and None in texts:
                yield "sys.modules"

    def _looked_up_texts(self, node: ast.AST) -> list[str | None]:
        """Returns the names by which *node* may look something up; None for an unknown name."""
        return [text for one in self._name_nodes(node) for text in self.own.iter_texts(one)]

    def _name_nodes(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yields the nodes that give the name in a call or an index that looks something up."""
        container = _looked_up_object(node)
        if isinstance(node, ast.Call) and _called_name(node) in _BY_NAME:
            # For getattr the second argument: the first is the object.
            yield from node.args[1:2] if _called_name(node) == "getattr" else node.args
        elif container is not None:
            if isinstance(container, ast.Attribute):
                name = container.attr
            else:
                name = _called_name(container)
            if name in _BY_KEY or self._is_sys_modules(container):
                yield from [node.slice] if isinstance(node, ast.Subscript) else _arguments(node)[:1]

    def _is_sys_modules(self, node: ast.AST | None) -> bool:
        return node is not None and full_name_of(node, self.full_names) == "sys.modules"

    def _owning_package(self, node: ast.AST) -> str | None:
        """Returns the package that *node* looks something up in, by name; None if it is unknown."""
        owner = _looked_up_object(node)
        if isinstance(owner, ast.Attribute):
            owner = owner.value
        elif owner is not None:
            owner = next(iter(_arguments(owner)), None)
        elif _called_name(node) in _BY_NAME and len(_arguments(node)) > 1:
            owner = _arguments(node)[0]
        full = None if owner is None else full_name_of(owner, self.full_names)
        return None if full is None else full.partition(".")[0]

    def runs_generated_code(self, node: ast.AST) -> bool:
        """Returns whether *node* is a call, such as of `eval`, that runs code from a text."""
        if not isinstance(node, ast.Call) or _called_name(node) not in _AT_RUN_TIME:
            return False
        if isinstance(node.func, ast.Name):
            return self._resolve(node.func) in _AT_RUN_TIME
        full = full_name_of(node.func, self.full_names) or ""
        # Models and data frames have their own `eval`.
        return full.startswith("builtins.") or _called_name(node).startswith("run_")

    def _resolve(self, node: ast.Name) -> str:
        """Returns the full name of a name; empty if the module defines it."""
        if self.own.is_local(node) and node.id not in self.full_names:
            return ""
        if node.id in self.full_names:
            return self.full_names[node.id].removeprefix("builtins.")
        return "" if node.id in self.own_names else node.id


@lru_cache(maxsize=16)
def read_names(source: str) -> tuple[ast.Module, ModuleNames] | None:
    """Returns *source*'s tree, which must not be changed, and names; None if it is not Python."""
    tree = syntax_tree(source)
    return None if tree is None else (tree, ModuleNames.from_tree(tree))


def is_name_or_member(full: str, rule: str) -> bool:
    """Returns whether *full* is the rule's name or a member of it."""
    full = full.removeprefix("builtins.")
    return full == rule or full.startswith(f"{rule}.")


def _iter_full_names(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    else:
        yield from (full for _, full in iter_imported_names(node))


def full_name_of(node: ast.AST, known: Mapping[str, str]) -> str | None:
    """Returns the full name of a name or an attribute; None for attributes of objects."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < _LONGEST:
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in known:
        return None
    return ".".join([known[node.id], *reversed(parts)])


def _called_name(node: ast.AST) -> str:
    """Returns the last part of the name that is called; empty if *node* is not a call."""
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _looked_up_object(node: ast.AST) -> ast.AST | None:
    """Returns what `x[...]` or `x.get(...)` looks up a key in; None for any other node."""
    if isinstance(node, ast.Subscript):
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.value if node.func.attr in _KEYED else None
    return None


def _arguments(node: ast.AST) -> list[ast.expr]:
    return node.args if isinstance(node, ast.Call) else []
