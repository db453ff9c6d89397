"""Parses the text of an expression into a small checked syntax tree."""

from __future__ import annotations

import ast
import re
from typing import Any

from grader import units
from grader.expressions.arithmetic import LIMIT
from grader.expressions.fault import ExpressionError
from grader.expressions.functions import check_call
from grader.units.parse import shorten

MAX_LENGTH = 2000
MAX_DEPTH = 50
MAX_NODES = 400

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.In: "in",
    ast.NotIn: "not in",
}
_ALLOWED = (
    *(ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp),
    *(ast.Call, ast.Name, ast.Constant, ast.Tuple),
)
_NOT_HERE = {
    ast.Attribute: "a '.' after a name",
    ast.Subscript: "an index in brackets",
    ast.Lambda: "a lambda",
    ast.ListComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.JoinedStr: "an f-string",
    ast.List: "a list",
    ast.Dict: "a dictionary",
    ast.Set: "a set",
    ast.NamedExpr: "an assignment",
    ast.Starred: "a '*' before an argument",
}


def parse(source: str) -> ast.expr:
    """Returns the checked tree of *source*. Raises ExpressionError.

    Python's parser never gets text that could keep it busy or cause a warning.
    """
    if len(source) > MAX_LENGTH:
        raise ExpressionError(
            f"the expression has {len(source)} characters, more than the limit of {MAX_LENGTH}",
            fix="split it into several 'values'",
        )
    line = re.sub(r"\s", " ", source).rstrip()
    start = len(line) - len(line.lstrip())
    line = line.strip()
    if not line:
        raise ExpressionError("the expression is empty", fix="write a number or a formula")
    _check_tokens(line, start)
    try:
        tree = ast.parse(line, mode="eval").body
    except SyntaxError as error:
        # Python versions report different offsets for the same error.
        raise _syntax_error(line, (error.offset or 1) - 1, start) from None
    except (ValueError, MemoryError, RecursionError):
        raise ExpressionError("the expression can't be read", fix="make it simpler") from None
    _check_tree(tree, line.encode(), start)
    return tree


def _syntax_error(line: str, offset: int, start: int) -> ExpressionError:
    """Returns the error for text that Python can't parse from *offset* on."""
    offset = max(0, min(offset, len(line)))
    near = shorten(line[offset:])
    what = f"can't read the expression at '{near}'"
    if not near or re.search(r"[-+*/%<>=(,]$", line):
        what, offset = "the expression is incomplete", len(line)
    fix = "check operators, quotes, and brackets"
    if re.search(r"(?<![<>=!])=(?!=)", line):
        fix = "write '==' to compare"
    elif re.search(r"\d%", line):
        fix = "write a share as a number: 0.5 for 50%"
    elif re.search(r"\d +(?!(?:and|or|if|else|not|in|is)\b)[^\W\d]", line):
        fix = "write '*' between a number and its unit"
    return ExpressionError(what, start + offset + 1, fix)


_TOKENS = re.compile(
    r"""(?P<string>'[^']*'|"[^"]*")
      | (?P<name>[^\W\d²][^\W²]*)
      | (?P<number>(?:\d|\.\d)(?:[^\W²]|\.)*)
      | (?P<open>[(\[{]) | (?P<close>[)\]}])
      | (?P<prefix>[-+~])
      | (?P<other>[^\s])""",
    re.VERBOSE,
)
_NUMBER = re.compile(r"[0-9][0-9_]*\.?[0-9_]*(?:[eE][0-9_]*)?|\.[0-9][0-9_]*(?:[eE][0-9_]*)?")
_HEX = re.compile(r"0[xX][0-9a-fA-F_]+")
_INSTEAD = {
    "×": "write '*' to multiply",
    "·": "write '*' to multiply",
    "−": "write '-'",
    "÷": "write '/' to divide",
    "≤": "write '<='",
    "≥": "write '>='",
    "≠": "write '!='",
    "^": "write '**' for a power",
    "²": "write '**2'",
    "&": "write 'and'",
    "|": "write 'or'",
    "#": "comments belong in the YAML, not in the expression",
    "'": "close the quote",
    '"': "close the quote",
}


def _check_tokens(line: str, start: int) -> None:
    """Raises ExpressionError for text that must not reach Python's parser."""
    depth = prefixes = 0
    for match in _TOKENS.finditer(line):
        kind, word, column = match.lastgroup, match[0], start + match.start() + 1
        prefixes = prefixes + 1 if kind == "prefix" or word == "not" else 0
        depth += (kind == "open") - (kind == "close")
        if max(depth, prefixes) > MAX_DEPTH:
            raise _depth_error(column)
        if kind == "number" and not (_NUMBER.fullmatch(word) or _HEX.fullmatch(word)):
            # "1if x" is legal Python, but some versions warn.
            what = f"'{shorten(word)}' is not a number"
            raise ExpressionError(what, column, "write 2 * x for 2x, and put spaces around words")
        if kind == "string" and "\\" in word:
            raise ExpressionError("a backslash has no meaning here", column, "remove it")
        if kind == "other" and (word in _INSTEAD or not word.isascii()):
            fix = _INSTEAD.get(word)
            raise ExpressionError(f"'{shorten(word)}' has no meaning here", column, fix)


def _depth_error(column: int) -> ExpressionError:
    what = f"the expression is nested more than {MAX_DEPTH} levels deep"
    return ExpressionError(what, column, "split it into several 'values'")


def _check_tree(tree: ast.expr, line: bytes, start: int) -> None:
    """Raises ExpressionError for the first node that is not allowed, or if there are too many.

    Also numbers the columns of *line*, which begins at *start*, as people count them.
    """
    stack: list[tuple[ast.expr, int, bool]] = [(tree, 1, False)]
    count = 0
    while stack:
        node, depth, listed = stack.pop()
        # Python counts bytes from 0; people count characters from 1.
        before = line[: node.col_offset].decode(errors="replace")
        node.col_offset = start + len(before) + 1
        count += 1
        if depth > MAX_DEPTH:
            raise _depth_error(node.col_offset)
        if count > MAX_NODES:
            what = f"the expression has more than {MAX_NODES} nodes"
            raise ExpressionError(what, node.col_offset, "split it into several 'values'")
        _check_node(node, listed)
        stack += [(child, depth + 1, where) for child, where in _children(node)]


def _children(node: ast.expr) -> list[tuple[ast.expr, bool]]:
    """Returns the subexpressions of *node*, and whether each may be a list."""
    if isinstance(node, ast.Compare):
        listed = [isinstance(op, (ast.In, ast.NotIn)) for op in node.ops]
        return [(node.left, False), *zip(node.comparators, listed, strict=True)]
    if isinstance(node, ast.Call):
        return [(argument, False) for argument in node.args]
    return [(c, False) for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)]


def _check_node(node: ast.expr, listed: bool) -> None:
    """Raises ExpressionError if *node* is not allowed. *listed* says that it may be a list."""
    column = node.col_offset
    if not isinstance(node, _ALLOWED):
        syntax = _NOT_HERE.get(type(node), "this")
        raise ExpressionError(f"{syntax} is not allowed here", column, "see the reference")
    if isinstance(node, ast.Tuple) and not listed:
        raise ExpressionError(
            "a list is only allowed after 'in'", column, "write a decimal point, or a function"
        )
    if isinstance(node, ast.Constant):
        _check_constant(node.value, column)
    elif isinstance(node, ast.BinOp) and type(node.op) not in BINARY:
        raise ExpressionError("this operator is not allowed", column, "use + - * / // % **")
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        raise ExpressionError("'~' is not allowed", column, "write 'not'")
    elif isinstance(node, ast.Compare) and any(type(op) not in COMPARISONS for op in node.ops):
        raise ExpressionError("'is' is not allowed", column, "write '=='")
    elif isinstance(node, ast.Call):
        _check_function(node, column)


def _check_constant(value: Any, column: int) -> None:
    if isinstance(value, (bool, str)):
        return
    if not isinstance(value, (int, float)):
        raise ExpressionError(f"'{shorten(str(value))}' is not allowed", column)
    if not -LIMIT < value < LIMIT:
        raise ExpressionError("the number is too large", column)


def _check_function(node: ast.Call, column: int) -> None:
    if not isinstance(node.func, ast.Name):
        raise ExpressionError(
            "only named functions can be called", column, "use a function such as floor(x)"
        )
    if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
        raise ExpressionError(
            f"{shorten(node.func.id)}() does not accept keyword arguments", column
        )
    try:
        check_call(node.func.id, len(node.args))
        unit = node.args[1] if node.func.id == "number" else None
        if isinstance(unit, ast.Constant) and isinstance(unit.value, str):
            units.parse_unit(unit.value)
    except (ExpressionError, units.UnitError) as error:
        raise ExpressionError(error.what, column, error.fix) from None
