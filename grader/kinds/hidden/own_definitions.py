"""Finds what students' code certainly defines itself: simple classes, objects, variables, texts.

Anything else may be any object. A class is simple if the attributes of its objects can only be
those that its code sets by name.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.ClassDef, ast.Lambda)
_PLAIN_BASES = frozenset(["object", "Module", "NamedTuple", "Enum", "ABC", "Exception"])
_PLAIN_DECORATORS = frozenset(["dataclass", "total_ordering"])
_MAKING = frozenset(["__new__", "__getattr__", "__getattribute__", "__class__", "__bases__"])
_OF_CLASSES = ("__class_getitem__", "__init_subclass__")
"""Methods of a class itself."""


@dataclass(frozen=True, slots=True)
class OwnDefinitions:
    """The classes, objects, variables, and texts that a module certainly defines itself."""

    classes: frozenset[str]
    """Names of its simple classes."""
    fields: frozenset[str]
    """Names of the attributes that its classes define."""
    texts: Mapping[str, str]
    """Names that always refer to the same text."""
    _objects: frozenset[str]
    _selves: frozenset[int]
    _locals: frozenset[int]

    @classmethod
    def from_tree(cls, tree: ast.Module) -> OwnDefinitions:
        """Returns what the module *tree* certainly defines itself."""
        nodes = list(ast.walk(tree))
        bindings = Counter(name for node in nodes for name in _bound_names(node))
        plain_imports = [
            n for n in nodes if isinstance(n, ast.alias) and n.asname in (None, n.name)
        ]
        others = set(nodes).difference(plain_imports)
        renamed = {name for node in others for name in _bound_names(node)}
        values = set(_names_used_as_values(nodes))
        all_classes = [n for n in nodes if isinstance(n, ast.ClassDef)]
        simple = [
            n for n in all_classes
            if bindings[n.name] == 1 and n.name not in values and _is_simple_class(n, renamed)
        ]  # fmt: skip
        if any(_changes_instantiation(node) for node in nodes):
            simple = []
        names = frozenset(node.name for node in simple)
        assigned = [pair for node in nodes for pair in _iter_assignments(node)]
        texts = {name: literal_text(value) for name, value in assigned if bindings[name] == 1}
        objects = Counter(name for name, value in assigned if _called_name(value) in names)
        own = cls(
            classes=names,
            fields=frozenset(name for node in all_classes for name in _field_names(node)),
            texts={name: text for name, text in texts.items() if text is not None},
            _objects=frozenset(name for name in objects if objects[name] == bindings[name]),
            _selves=frozenset(id(one) for node in simple for _, one in _self_names(node)),
            _locals=frozenset(id(one) for node in nodes for one in _local_names(node)),
        )
        # If a method may be looked up on another object, its `self` may be of another class.
        unsafe = {name for node in nodes for name in own._looked_up_names(node)}
        pairs = (pair for node in simple for pair in _self_names(node))
        return replace(own, _selves=frozenset(id(n) for m, n in pairs if m not in unsafe))

    def _looked_up_names(self, node: ast.AST) -> Iterator[str]:
        """Yields names with which a method may be looked up on an object of another class."""
        if isinstance(node, ast.Attribute):
            if not self.is_own_object(node.value) and _called_name(node.value) != "super":
                yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value

    def is_own_object(self, node: ast.AST) -> bool:
        """Returns whether *node* is certainly an object of a simple class."""
        if _called_name(node) in self.classes:
            return True
        return isinstance(node, ast.Name) and (id(node) in self._selves or node.id in self._objects)

    def is_local(self, node: ast.Name) -> bool:
        """Returns whether this name is a local variable of the function that contains it."""
        return id(node) in self._locals

    def iter_texts(self, node: ast.AST) -> Iterator[str | None]:
        """Yields the texts that *node* may be; None for one that is unknown."""
        if isinstance(node, ast.IfExp):
            yield from self.iter_texts(node.body)
            yield from self.iter_texts(node.orelse)
        elif isinstance(node, ast.Name):
            yield self.texts.get(node.id)
        else:
            yield literal_text(node)


def _bound_names(node: ast.AST) -> Iterator[str]:
    """Yields the names that *node* itself binds."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).split(".")[0]
    elif isinstance(node, (*_FUNCTIONS, ast.ClassDef)) or (
        isinstance(node, (ast.MatchAs, ast.MatchStar, ast.ExceptHandler)) and node.name
    ):
        yield str(node.name)
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest


def _iter_assignments(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.Assign):
        yield from ((t.id, node.value) for t in node.targets if isinstance(t, ast.Name))
    elif isinstance(node, ast.AnnAssign) and node.value and isinstance(node.target, ast.Name):
        yield node.target.id, node.value


def _called_name(node: ast.AST) -> str:
    called = node.func if isinstance(node, ast.Call) else None
    return called.id if isinstance(called, ast.Name) else ""


def _last_name(node: ast.AST) -> str:
    """Returns the last part of the name of a class or a decorator, without its arguments."""
    while isinstance(node, (ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _is_simple_class(node: ast.ClassDef, renamed: Container[str]) -> bool:
    """Returns whether all bases and decorators of a class are plain, and none is *renamed*."""
    bases = [_last_name(base) for base in node.bases]
    decorators = [_last_name(expression) for expression in node.decorator_list]
    are_plain = _PLAIN_BASES.issuperset(bases) and _PLAIN_DECORATORS.issuperset(decorators)
    return are_plain and not node.keywords and not any(n in renamed for n in (*bases, *decorators))


def _changes_instantiation(node: ast.AST) -> bool:
    """Returns whether *node* may change how a class makes objects or finds their attributes."""
    if isinstance(node, ast.Attribute):
        return node.attr in _MAKING and not isinstance(node.ctx, ast.Load)
    return any(name in _MAKING for name in _bound_names(node))


def _names_used_as_values(nodes: list[ast.AST]) -> Iterator[str]:
    """Yields the names that are used other than in calls, attributes, patterns, or annotations."""
    fine: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Call):
            fine.add(id(node.func))
            if _called_name(node) == "isinstance":
                fine |= {id(part) for argument in node.args[1:] for part in ast.walk(argument)}
        elif isinstance(node, ast.MatchClass):
            fine.add(id(node.cls))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            fine.add(id(node.value))
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            fine |= {id(part) for part in ast.walk(annotation)} if annotation else set()
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in fine:
            yield node.id


def _methods(node: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [statement for statement in node.body if isinstance(statement, _FUNCTIONS)]


def _field_names(node: ast.ClassDef) -> Iterator[str]:
    """Yields the attributes, including methods, that a class and its methods define."""
    for statement in node.body:
        yield from (name for part in ast.walk(statement) for name in _bound_names(part)
                    if isinstance(statement, (ast.Assign, ast.AnnAssign)))  # fmt: skip
    for method in _methods(node):
        yield method.name
        yield from (
            part.attr
            for part in ast.walk(method)
            if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store)
        )


def _self_names(node: ast.ClassDef) -> Iterator[tuple[str, ast.Name]]:
    """Yields each name that refers to a method's own object, after the name of the method."""
    for method in _methods(node):
        parameters = [*method.args.posonlyargs, *method.args.args]
        wrapped = any(_last_name(expression) != "property" for expression in method.decorator_list)
        if not parameters or wrapped or method.name in _OF_CLASSES:
            continue
        inside = [part for statement in method.body for part in _walk_scope(statement)]
        names = [n for n in inside if isinstance(n, ast.Name) and n.id == parameters[0].arg]
        if all(isinstance(name.ctx, ast.Load) for name in names):
            yield from ((method.name, name) for name in names)


def _walk_scope(node: ast.AST) -> Iterator[ast.AST]:
    """Yields *node* and the nodes in it, except those inside functions and classes."""
    waiting = [node]
    while waiting:
        inner = waiting.pop()
        yield inner
        if not isinstance(inner, _SCOPES):
            waiting += ast.iter_child_nodes(inner)


def _local_names(node: ast.AST) -> Iterator[ast.Name]:
    """Yields the names in a function, and in functions inside it, that refer to its variables."""
    if not isinstance(node, (*_FUNCTIONS, ast.Lambda)):
        return
    body = _body_of(node)
    inside = [part for statement in body for part in _walk_scope(statement)]
    # Comprehensions have variables of their own, and `global` declares those of others.
    targets = [part.target for part in inside if isinstance(part, ast.comprehension)]
    not_local = {id(part) for target in targets for part in ast.walk(target)}
    outer = {n for c in inside if isinstance(c, ast.Nonlocal) for n in c.names}
    outer |= {n for c in ast.walk(node) if isinstance(c, ast.Global) for n in c.names}
    bound = {name for p in inside if id(p) not in not_local for name in _bound_names(p)}
    bound |= {child.arg for child in ast.iter_child_nodes(node.args) if isinstance(child, ast.arg)}
    bound -= outer
    seeing = _walk_functions(body)
    yield from (p for p in seeing if isinstance(p, ast.Name) and p.id in bound)


def _body_of(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.AST]:
    return [node.body] if isinstance(node, ast.Lambda) else list(node.body)


def _walk_functions(body: list[ast.AST]) -> Iterator[ast.AST]:
    """Yields the nodes in the *body* of a function, and in functions and classes inside it.

    Leaves out those that are evaluated in the scope of a class. Its code may find a global or
    built-in name although the function around it has a variable of that name.
    """
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ClassDef):
            in_class = [part for statement in node.body for part in _walk_scope(statement)]
            waiting += [part for part in in_class if isinstance(part, ast.ClassDef)]
            functions = [p for p in in_class if isinstance(p, (*_FUNCTIONS, ast.Lambda))]
            waiting += [part for function in functions for part in _body_of(function)]
        else:
            yield node
            waiting += ast.iter_child_nodes(node)


def literal_text(node: ast.AST) -> str | None:
    """Returns a literal text, including sums of texts; None for anything else.

    Not numbers: one may have more digits than Python formats.
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
    """Returns the first 100 characters of a literal text; None for any other node."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value[:100]
    return None
