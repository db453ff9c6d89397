"""Checks and rewrites the syntax tree of a template: what placeholders may contain."""

from __future__ import annotations

from typing import Any

from jinja2 import nodes
from jinja2.visitor import NodeTransformer

from grader import units
from grader.expressions.fault import ExpressionError, TextError
from grader.expressions.filters import FILTERS
from grader.expressions.functions import check_call
from grader.registry import suggest
from grader.units.parse import shorten

MAX_DEPTH = 40
MAX_NODES = 1500
MAX_LOOP = 100
MAX_LOOPS = 2
# The number of arguments after the value.
TESTS = {"even": 0, "odd": 0, "divisibleby": 1}
CALLED = "_called_"
COMPARED = "_compared_"

_ARITHMETIC = (*(nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow),)
_ALLOWED = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For),
    *(nodes.Name, nodes.Const, nodes.List, nodes.Tuple, nodes.Call, nodes.Filter, nodes.Test),
    *(nodes.Keyword, nodes.Getattr, nodes.CondExpr, nodes.Compare, nodes.Operand),
    *(nodes.And, nodes.Or, nodes.Not, nodes.Neg, nodes.Pos),
    *_ARITHMETIC,
)
_NOT_HERE: dict[type[nodes.Node], tuple[str, str]] = {
    nodes.Assign: ("{% set %}", "compute it under 'values'"),
    nodes.AssignBlock: ("{% set %}", "compute it under 'values'"),
    nodes.Concat: ("'~'", "write one placeholder after the other"),
    nodes.Getitem: ("an index in brackets", "print names, or loop over a list"),
    nodes.Dict: ("a brace after '{{'", "put a space between LaTeX's brace and '{{'"),
}


def check(tree: nodes.Template) -> None:
    """Raises TextError for the first node that is not allowed, with its line."""
    stack: list[tuple[nodes.Node, int, int]] = [(tree, 0, 0)]
    count = 0
    while stack:
        node, depth, loops = stack.pop()
        count += 1
        loops += isinstance(node, nodes.For)
        if depth > MAX_DEPTH or count > MAX_NODES or loops > MAX_LOOPS:
            raise TextError("the placeholders of the text are too complex", node.lineno, "split it")
        _check_node(node)
        called = node.node if isinstance(node, nodes.Call) else None
        stack += [(c, depth + 1, loops) for c in node.iter_child_nodes() if c is not called]


def _check_node(node: nodes.Node) -> None:
    """Raises TextError if *node* is of a type, or used in a way, that is not allowed."""
    if not isinstance(node, _ALLOWED):
        default = (f"'{type(node).__name__.lower()}'", "remove it")
        syntax, fix = _NOT_HERE.get(type(node), default)
        raise TextError(f"{syntax} is not allowed in a text", node.lineno, fix)
    check_special = _CHECKS.get(type(node))
    if check_special:
        check_special(node)


def _check_output(node: nodes.Output) -> None:
    """Raises TextError for a placeholder with a bare number, which is meant as LaTeX in braces."""
    for child in node.nodes:
        constant = isinstance(child, nodes.Const) and not isinstance(child, nodes.TemplateData)
        if constant and not isinstance(child.value, str):  # type: ignore[attr-defined]
            value = shorten(str(child.value))  # type: ignore[attr-defined]
            raise TextError(
                f"'{{{{{value}}}}}' would print '{value}' without braces",
                child.lineno,
                f"for LaTeX write '{{ {{{value}}} }}'",
            )


def _check_constant(node: nodes.Const) -> None:
    value = node.value
    if isinstance(value, (int, float)) and not -(1 << 1024) < value < 1 << 1024:
        raise TextError("the number is too large", node.lineno)


def _check_for_loop(node: nodes.For) -> None:
    """Raises TextError for a loop over anything but a short list or a range."""
    listed = isinstance(node.iter, (nodes.List, nodes.Tuple))
    if node.recursive or not (listed or _is_range(node.iter)):
        fix = "write {% for n in [1, 2, 4] %} or {% for i in range(4) %}"
        raise TextError("a loop needs a list or a range", node.lineno, fix)
    if listed and len(node.iter.items) > MAX_LOOP:  # type: ignore[attr-defined]
        raise TextError(f"a loop can have at most {MAX_LOOP} iterations", node.lineno)


def _is_range(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Call) and getattr(node.node, "name", None) == "range"


def _check_call(node: nodes.Call) -> None:
    if not isinstance(node.node, nodes.Name) or node.kwargs or node.dyn_args or node.dyn_kwargs:
        raise TextError("only named functions can be called", node.lineno, "see the reference")
    if node.node.name == "range":
        if not 1 <= len(node.args) <= 3:
            raise TextError("range() takes one to three numbers", node.lineno)
        return
    try:
        check_call(node.node.name, len(node.args))
    except ExpressionError as error:
        raise TextError(error.what, node.lineno, error.fix) from None


def _check_filter(node: nodes.Filter) -> None:
    function = FILTERS.get(node.name)
    if function is None:
        fix = suggest(node.name[:100], FILTERS, "choose from " + ", ".join(FILTERS))
        raise TextError(f"unknown filter '{shorten(node.name)}'", node.lineno, fix)
    count = len(node.args) + len(node.kwargs)
    named = all(k.key == "digits" for k in node.kwargs)
    dynamic = node.dyn_args or node.dyn_kwargs
    if node.node is None or dynamic or not named or not function.accepts_count(count):
        what = f"the filter '{node.name}' has the wrong arguments"
        raise TextError(what, node.lineno, f"write {function.usage}")
    if node.name == "unit" and node.args and isinstance(node.args[0], nodes.Const):
        try:
            units.parse_unit(str(node.args[0].value))
        except units.UnitError as error:
            raise TextError(error.what, node.lineno, error.fix) from None


def _check_test(node: nodes.Test) -> None:
    count = len(node.args) + len(node.kwargs)
    dynamic = node.dyn_args or node.dyn_kwargs or node.kwargs
    if node.name in TESTS and (count != TESTS[node.name] or dynamic):
        raise TextError(f"the test 'is {node.name}' has the wrong arguments", node.lineno)
    if node.name not in TESTS:
        fix = "undefined names are errors; write a comparison"
        raise TextError(f"the test 'is {shorten(node.name)}' is not allowed", node.lineno, fix)


def _check_getattr(node: nodes.Getattr) -> None:
    is_loop = isinstance(node.node, nodes.Name) and node.node.name == "loop"
    if not is_loop or node.attr not in {"index", "index0", "first", "last", "length"}:
        raise TextError("a '.' after a name is not allowed in a text", node.lineno, "print a name")


def _check_condition(node: nodes.CondExpr) -> None:
    if node.expr2 is None:
        raise TextError("an 'if' without 'else'", node.lineno, "write: a if condition else b")


def _check_compare(node: nodes.Compare) -> None:
    if len(node.ops) != 1:
        raise TextError(
            "a chained comparison is not allowed", node.lineno, "join two comparisons with 'and'"
        )


def _check_name(node: nodes.Name) -> None:
    if node.name in {"self", "super", "caller", "varargs", "kwargs"}:
        raise TextError(f"'{node.name}' can't be a name in a text", node.lineno, "rename it")


_MAKE_TEXT = frozenset({"unit", "number", "thousands", "percent", "scientific"})


def _check_arithmetic(node: nodes.BinExpr) -> None:
    """Raises TextError for an operand that is a printed text, and for an ambiguous power."""
    for side in (node.left, node.right):
        if isinstance(side, nodes.Filter) and side.name in _MAKE_TEXT:
            what = f"'| {side.name}' applies only to the last operand of the calculation"
            raise TextError(what, node.lineno, "put the calculation in parentheses before '|'")
    # Jinja2 reads 2**3**2 as 64 and -2**2 as 4, but expressions give 512 and -4.
    if isinstance(node, nodes.Pow) and isinstance(node.left, (nodes.Pow, nodes.Neg)):
        what = "a power of a power, or of a negative number, is ambiguous here"
        raise TextError(what, node.lineno, "compute it under 'values'")


_CHECKS: dict[type[nodes.Node], Any] = {
    nodes.Output: _check_output,
    nodes.Const: _check_constant,
    nodes.For: _check_for_loop,
    nodes.Call: _check_call,
    nodes.Filter: _check_filter,
    nodes.Test: _check_test,
    nodes.Getattr: _check_getattr,
    nodes.CondExpr: _check_condition,
    nodes.Compare: _check_compare,
    nodes.Name: _check_name,
    **dict.fromkeys(_ARITHMETIC, _check_arithmetic),
}


class _Rewrite(NodeTransformer):
    """Renames functions, and replaces comparisons by our own.

    "min" is a minute as a name and a function when called. Jinja2 would find a size and a number
    unequal, where our expressions raise an error.
    """

    def visit_Call(self, node: nodes.Call) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        node.node = _name_node(CALLED + node.node.name, node)  # type: ignore[attr-defined]
        return node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        operand = node.ops[0]
        function = _name_node(COMPARED + operand.op, node)
        call = nodes.Call(function, [node.expr, operand.expr], [], None, None)
        return call.set_lineno(node.lineno)


def _name_node(name: str, node: nodes.Node) -> nodes.Name:
    function = nodes.Name(name, "load")
    function.set_lineno(node.lineno)
    function.set_environment(node.environment)  # type: ignore[arg-type]
    return function


def rewrite(tree: nodes.Template) -> nodes.Template:
    """Returns *tree* with functions and comparisons under names that authors can't use."""
    return _Rewrite().visit(tree)  # type: ignore[no-any-return]
