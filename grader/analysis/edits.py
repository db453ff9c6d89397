"""Expressions that differ from the right one by one error, such as a forgotten factor."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator, Mapping
from copy import copy
from itertools import combinations, islice

from grader.model import Draw, Expr
from grader.units.quantity import ONE, dimension_of

MOST = 3000
"""Most expressions that are tried for one part."""
MOST_NODES = 60
"""The largest definition of a value that is looked into."""
_IN_A_ROW = 20
"""Second errors that are tried before the next first error."""
_SWAPS: Mapping[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mod, ast.Mult),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
}
_ROUNDINGS = ("ceil", "floor", "round")
_EXTREMES = ("max", "min", "sum")
# What a constant is often mistaken for: bytes of formats, bits, states of an optimizer, prefixes.
_FOR_SMALL = (1, 2, 3, 4, 6, 8, 12, 16, 18, 32)
# Typical sizes that are taken for the one that is given.
_POWERS = (32, 64, 128, 256, 512, 1024)
_FOR_LARGE = {1000: 1024, 1024: 1000, 1e6: 2**20, 1e9: 2**30, 1e12: 2**40}


def edited_expressions(answer: Expr, draw: Draw) -> Iterator[tuple[str, int]]:
    """Yields expressions that differ from *answer* by one error, and the cost of each.

    Errors in the answer itself come first. They cost 1, others 2.

    An error may also be in the definition of a value that the answer names. *draw* is any
    student's; only the dimensions of its numbers matter.
    """
    seen = {str(answer)}
    for text, cost in islice(_Edits(draw).texts(_parse(answer)), 4 * MOST):
        if text not in seen and len(text) < 1000:
            seen.add(text)
            yield text, cost
            if len(seen) > MOST:
                return


def edits_of_edits(answer: Expr, draw: Draw) -> Iterator[ast.expr]:
    """Yields expressions that differ from *answer* by two errors, in the answer itself or, if it is
    only a name, in the definition of that value."""
    edits, tree = _Edits(draw), _parse(answer)
    while isinstance(tree, ast.Name):
        definition = next(edits.expand_names(tree), None)
        if definition is None:
            return
        tree = definition
    # Round robin, so that a limit leaves out some second errors and no first one.
    rows = deque(edits.edit_everywhere(expression) for expression in edits.edit_everywhere(tree))
    while rows:
        row = rows.popleft()
        some = list(islice(row, _IN_A_ROW))
        yield from some
        if len(some) == _IN_A_ROW:
            rows.append(row)


def _parse(source: Expr) -> ast.expr:
    return ast.parse(str(source).strip().replace("\n", " "), mode="eval").body


class _Edits:
    """The edits of one problem's expressions."""

    def __init__(self, draw: Draw):
        self._draw = draw
        self._dimensions = {
            name: dimension_of(value)
            for name, value in draw.scope.items()
            if not isinstance(value, (bool, str))
        }

    def texts(self, tree: ast.expr) -> Iterator[tuple[str, int]]:
        """Yields the edits level by level: of the answer, then of the values that it names, then
        of the values that those name."""
        # A key that is only a name stands for its definition.
        level, known, cost = [tree], {ast.dump(tree)}, 1
        while level:
            for expression in level:
                for edited in self.edit_everywhere(expression):
                    yield ast.unparse(edited), cost
            cost = cost if isinstance(tree, ast.Name) and level == [tree] else 2
            deeper = []
            for expression in level:
                for expanded in self.expand_names(expression):
                    if ast.dump(expanded) not in known:
                        known.add(ast.dump(expanded))
                        deeper.append(expanded)
            level = deeper[:12]

    def expand_names(self, tree: ast.expr) -> Iterator[ast.expr]:
        """Yields *tree* with one value replaced by its definition, wherever it is named."""
        for name in dict.fromkeys(n.id for n in ast.walk(tree) if isinstance(n, ast.Name)):
            written = self._draw.values.get(name)
            if isinstance(written, str):
                definition = _parse(written)
                if sum(1 for _ in ast.walk(definition)) <= MOST_NODES:
                    yield _Renaming({name: definition}).visit(_deep_copy(tree))

    def edit_everywhere(self, tree: ast.expr) -> Iterator[ast.expr]:
        """Yields *tree* with an edit in one place, or with a name replaced in all places."""
        yield from self._edit_inside(tree)
        names = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name)]
        for name in dict.fromkeys(n for n in names if n in self._dimensions):
            for other in self._names_alike(name):
                if names.count(name) > 1:
                    yield _Renaming({name: ast.Name(other)}).visit(_deep_copy(tree))
                if other in names and name < other:
                    swapped = {name: ast.Name(other), other: ast.Name(name)}
                    yield _Renaming(swapped).visit(_deep_copy(tree))

    def _edit_inside(self, node: ast.expr) -> Iterator[ast.expr]:
        """Yields *node* with an edit in one place: of itself, or of something inside it."""
        yield from self._edit_node(node)
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and not (isinstance(node, ast.Call) and field == "func"):
                for edited in self._edit_inside(value):
                    yield _replace_field(node, field, edited)
            elif isinstance(value, list) and not isinstance(node, ast.Compare):
                for index, one in enumerate(value):
                    if isinstance(one, ast.expr):
                        for edited in self._edit_inside(one):
                            yield _replace_field(
                                node, field, [*value[:index], edited, *value[index + 1 :]]
                            )

    def _edit_node(self, node: ast.expr) -> Iterator[ast.expr]:  # noqa: C901 # one case a kind
        """Yields what may stand in the place of *node*."""
        match node:
            case ast.BinOp(left, op, right):
                yield left
                yield right
                for swap in _SWAPS[type(op)]:
                    yield ast.BinOp(left, swap(), right)
                if isinstance(op, ast.Mult):
                    yield ast.BinOp(right, ast.Div(), left)
                elif not isinstance(op, ast.Add):
                    yield ast.BinOp(right, op, left)
                yield from self._move_brackets(left, op, right)
                yield from self._edit_chain(node)
                if isinstance(op, ast.FloorDiv):
                    yield _make_call("ceil", ast.BinOp(left, ast.Div(), right))
            case ast.Call(ast.Name(name), args):
                yield from self._edit_call(name, args)
            case ast.Name(name) if name in self._dimensions:
                yield from self._edit_name(node, name)
            case ast.Constant(int() | float() as value) if not isinstance(value, bool):
                yield from self._edit_constant(value)
            case ast.IfExp(_, body, orelse):
                yield body
                yield orelse
                yield _replace_field(_replace_field(node, "body", orelse), "orelse", body)
        if not isinstance(node, ast.Constant):
            yield from _iter_variations(node)

    def _move_brackets(
        self, left: ast.expr, op: ast.operator, right: ast.expr
    ) -> Iterator[ast.expr]:
        """Yields what *left* *op* *right* becomes with its brackets in another place."""
        factor, term = (ast.Mult, ast.Div), (ast.Add, ast.Sub)
        match left:
            case ast.BinOp(one, ast.Add() | ast.Sub() as inner, other) if isinstance(op, factor):
                yield ast.BinOp(ast.BinOp(one, op, right), inner, other)
                yield ast.BinOp(one, inner, ast.BinOp(other, op, right))
        match right:
            case ast.BinOp(one, ast.Mult() | ast.Div() as within, other) if isinstance(op, term):
                yield ast.BinOp(ast.BinOp(left, op, one), within, other)
            case ast.BinOp(one, ast.Add() | ast.Sub() as within, other) if isinstance(op, ast.Mult):
                yield ast.BinOp(ast.BinOp(left, op, one), within, other)

    def _edit_name(self, node: ast.expr, name: str) -> Iterator[ast.expr]:
        """Yields what *name* is mistaken for: a name of the same dimension, a size, or a power."""
        for other in self._names_alike(name):
            yield ast.Name(other)
            yield ast.BinOp(node, ast.Add(), ast.Name(other))
        size = self._draw.scope.get(name)
        if isinstance(size, int) and _POWERS[0] <= size <= 2 * _POWERS[-1]:
            yield from map(ast.Constant, _POWERS)
        if self._dimensions[name] == ONE:
            yield ast.BinOp(node, ast.Pow(), ast.Constant(2))
            yield _make_call("sqrt", node)

    def _edit_chain(self, node: ast.BinOp) -> Iterator[ast.expr]:
        """Yields wrong versions of a product, a quotient, or a sum.

        In a product, another name replaces two of its names; in a quotient, a factor and the
        divisor are exchanged; in a sum, the factor of the first term is applied to all terms.
        """
        if isinstance(node.op, ast.Mult):
            factors = _split_product(node)
            names = [i for i, expression in enumerate(factors) if self._is_unitless(expression)]
            for pair in combinations(names, 2):
                rest = [expression for i, expression in enumerate(factors) if i not in pair]
                for other, dimension in self._dimensions.items():
                    if dimension == ONE:
                        yield _multiply([*rest, ast.Name(other)])
        elif isinstance(node.op, ast.Div):
            factors = _split_product(node.left)
            for index in range(len(factors) if len(factors) > 1 else 0):
                above = [*factors[:index], node.right, *factors[index + 1 :]]
                yield ast.BinOp(_multiply(above), ast.Div(), factors[index])
        elif isinstance(node.op, (ast.Add, ast.Sub)):
            yield from _factor_out(node)

    def _is_unitless(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and self._dimensions.get(node.id) == ONE

    def _edit_call(self, name: str, args: list[ast.expr]) -> Iterator[ast.expr]:
        """Yields what a call of *name* becomes with another function, or with fewer arguments."""
        if name in _ROUNDINGS:
            yield from (_make_call(other, args[0]) for other in _ROUNDINGS if other != name)
            yield args[0]
        elif name in ("sqrt", "log", "log2"):
            yield args[0]
            yield ast.BinOp(args[0], ast.Div(), ast.Constant(2))
        elif name in _EXTREMES and len(args) > 1:
            yield from (_make_call(other, *args) for other in _EXTREMES if other != name)
            yield from args
            for index in range(len(args) if len(args) > 2 else 0):
                yield _make_call(name, *args[:index], *args[index + 1 :])
        elif name == "fact" and len(args) == 2:
            for field in self._facts_alike(*args):
                yield _make_call("fact", args[0], ast.Constant(field))

    def _edit_constant(self, value: float) -> Iterator[ast.expr]:
        """Yields what *value* is mistaken for: a multiple, a neighbor, or a common constant."""
        others = [2 * value, value / 2, value + 1, value - 1]
        others += _FOR_SMALL if 0 < value <= 64 else ()
        others += [_FOR_LARGE[value]] if value in _FOR_LARGE else []
        for other in dict.fromkeys(o for o in others if o != value):
            whole = int(other) if other == int(other) else other
            yield (
                ast.Constant(whole) if other >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(-whole))
            )

    def _names_alike(self, name: str) -> list[str]:
        """Returns the other names of the same dimension as *name*."""
        dimension = self._dimensions[name]
        return [n for n, d in self._dimensions.items() if d == dimension and n != name]

    def _facts_alike(self, item: ast.expr, field: ast.expr) -> list[str]:
        """Returns the other fields of the same item that have the same dimension."""
        key: object = item.value if isinstance(item, ast.Constant) else None
        if isinstance(item, ast.Name):
            key = self._draw.scope.get(item.id)
        fields = self._draw.facts.get(str(key), {})
        asked = field.value if isinstance(field, ast.Constant) else None
        if asked not in fields:
            return []
        dimension = dimension_of(fields[str(asked)])
        return [
            n for n, value in fields.items()
            if n != asked and not isinstance(value, str) and dimension_of(value) == dimension
        ]  # fmt: skip


def _iter_variations(node: ast.expr) -> Iterator[ast.expr]:
    """Yields *node* off by one, with a factor of 2 or 8, and its complement."""
    for off in (ast.Add(), ast.Sub()):
        yield ast.BinOp(node, off, ast.Constant(1))
    for number in (2, 8):
        yield ast.BinOp(ast.Constant(number), ast.Mult(), node)
        yield ast.BinOp(node, ast.Div(), ast.Constant(number))
    yield ast.BinOp(ast.Constant(1), ast.Sub(), node)


def _split_product(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return [*_split_product(node.left), *_split_product(node.right)]
    return [node]


def _multiply(factors: list[ast.expr]) -> ast.expr:
    product = factors[0]
    for factor in factors[1:]:
        product = ast.BinOp(product, ast.Mult(), factor)
    return product


def _factor_out(node: ast.BinOp) -> Iterator[ast.expr]:
    """Yields the sum *node* with each factor of its first term applied to all terms."""
    first = node.left
    if isinstance(first, ast.BinOp) and isinstance(first.op, (ast.Add, ast.Sub)):
        for product in _factor_out(first):
            if isinstance(product, ast.BinOp):
                yield ast.BinOp(
                    _replace_field(node, "left", product.left), ast.Mult(), product.right
                )
    elif isinstance(first, ast.BinOp) and isinstance(first.op, ast.Mult):
        for kept, factor in ((first.left, first.right), (first.right, first.left)):
            yield ast.BinOp(_replace_field(node, "left", kept), ast.Mult(), factor)


class _Renaming(ast.NodeTransformer):
    """Replaces names, but not those of functions."""

    def __init__(self, new: Mapping[str, ast.expr]):
        self._new = new

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Returns what replaces a name."""
        return self._new.get(node.id, node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Returns a call with other arguments."""
        node.args = [self.visit(arg) for arg in node.args]
        return node


def _deep_copy(node: ast.expr) -> ast.expr:
    return _parse(ast.unparse(node))


def _replace_field(node: ast.expr, field: str, value: object) -> ast.expr:
    new = copy(node)
    setattr(new, field, value)
    return new


def _make_call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name), list(args), [])
