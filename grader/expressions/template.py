"""A restricted Jinja2 whose templates always terminate: checked and compiled once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from traceback import walk_tb
from typing import Any, NamedTuple

import jinja2
from jinja2 import meta, nodes
from jinja2.compiler import operators
from jinja2.runtime import Context
from jinja2.sandbox import SandboxedEnvironment

from grader import units
from grader.expressions import structure
from grader.expressions.arithmetic import BINARY, COMPARISONS, negate, unary_plus
from grader.expressions.fault import ExpressionError, TextError
from grader.expressions.filters import FILTERS, format_placeholder
from grader.expressions.functions import FUNCTIONS, Facts, call_function, describe_unknown_name
from grader.units.parse import shorten
from grader.units.quantity import DimensionError, Value

MAX_OUTPUT = 200_000


class _Environment(SandboxedEnvironment):
    """Jinja2's sandbox with the arithmetic of our expressions."""

    intercepted_binops = frozenset(BINARY)
    intercepted_unops = frozenset("-+")

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:  # noqa: ARG002
        """Returns the operator's result for two values."""
        return BINARY[operator](left, right)

    def call_unop(self, context: Context, operator: str, arg: Any) -> Any:  # noqa: ARG002
        """Returns *arg* with the sign *operator*."""
        return negate(arg) if operator == "-" else unary_plus(arg)


@lru_cache(maxsize=1)
def _make_environment() -> _Environment:
    """Returns the environment of all texts, which knows only the filters and tests of our own."""
    environment = _Environment(
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        finalize=format_placeholder,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        optimized=False,
        cache_size=0,
    )
    environment.globals.clear()
    environment.filters = {name: function.call for name, function in FILTERS.items()}
    environment.tests = {
        "even": lambda x: _is_divisible(x, 2),
        "odd": lambda x: not _is_divisible(x, 2),
        "divisibleby": _is_divisible,
    }
    return environment


def _is_divisible(x: Value, divisor: Value) -> bool:
    return COMPARISONS["=="](BINARY["%"](x, divisor), 0)


def _limited_range(*bounds: Value) -> range:
    """Returns range(*bounds); raises ExpressionError if it is too long or not of whole numbers."""
    if not all(isinstance(b, int) and not isinstance(b, bool) for b in bounds):
        raise ExpressionError("range() needs whole numbers", fix="write range(x | int)")
    if len(bounds) == 3 and bounds[2] == 0:
        raise ExpressionError("the step of range() can't be zero", fix="omit or change the step")
    rounds = range(*bounds)  # type: ignore[arg-type]
    if rounds[structure.MAX_LOOP :]:  # len() fails for a very long range
        raise ExpressionError(f"a loop can have at most {structure.MAX_LOOP} iterations")
    return rounds


class CompiledText(NamedTuple):
    """A text with expressions, compiled by Jinja2."""

    template: jinja2.Template
    declared: frozenset[str]
    """The names that it uses, of functions and comparisons as `structure.rewrite` calls them."""
    lines: Mapping[str, int]
    """The line of each name's first use."""

    @property
    def names(self) -> frozenset[str]:
        """The names that a scope must bind."""
        own = (structure.CALLED, structure.COMPARED)
        known = units.named_units()
        return frozenset(n for n in self.declared if n not in known and not n.startswith(own))

    def _value_of(self, name: str, scope: Mapping[str, Value], facts: Facts) -> object:
        """Returns the unit, the comparison, the function, or the value called *name*."""
        if name in units.named_units():
            return units.named_units()[name]
        if name.startswith(structure.COMPARED):
            return COMPARISONS[operators[name.removeprefix(structure.COMPARED)]]
        if name == f"{structure.CALLED}range":
            return _limited_range
        if name.startswith(structure.CALLED):
            return partial(call_function, FUNCTIONS[name.removeprefix(structure.CALLED)], facts)
        if name not in scope:
            what, fix = describe_unknown_name(name, scope)
            raise TextError(what, self.lines.get(name), fix)
        return scope[name]

    def fill(self, scope: Mapping[str, Value], facts: Facts) -> str:
        """Returns the text with values from *scope*. Raises TextError."""
        variables = {name: self._value_of(name, scope, facts) for name in self.declared}
        context = self.template.new_context(variables, shared=True)
        try:
            return "".join(_limit_output(self.template.root_render_func(context)))
        except TextError:
            raise
        except (ExpressionError, units.UnitError) as error:
            raise TextError(error.what, self._find_line(error), error.fix) from None
        except (DimensionError, jinja2.TemplateError) as error:
            raise TextError(str(error), self._find_line(error)) from None
        except (ArithmeticError, TypeError, ValueError) as error:
            # What remains is a value of the wrong type, such as "even" for a text.
            what = f"a placeholder can't be filled in: {error}"
            raise TextError(what, self._find_line(error), "check the types of its values") from None

    def _find_line(self, error: Exception) -> int | None:
        """Returns the template's line that raised *error*; None if no line of it did."""
        frames = walk_tb(error.__traceback__)
        lines = [line for frame, line in frames if frame.f_code.co_filename == "<template>"]
        return self.template.get_corresponding_lineno(lines[-1]) if lines else None


def _limit_output(pieces: Iterator[str]) -> Iterator[str]:
    """Yields *pieces*. Raises TextError if they are too long together."""
    length = 0
    for piece in pieces:
        length += len(piece)
        if length > MAX_OUTPUT:
            raise TextError(f"the text is longer than {MAX_OUTPUT} characters", fix="shorten it")
        yield piece


@lru_cache(maxsize=8192)
def compile_text(text: str) -> CompiledText:
    """Returns *text*, checked and compiled. Raises TextError."""
    environment = _make_environment()
    try:
        tree = environment.parse(text)
        structure.check(tree)
        lines = {n.name: n.lineno for n in reversed(list(tree.find_all(nodes.Name)))}
        tree = structure.rewrite(tree)
        declared = frozenset(meta.find_undeclared_variables(tree))
        code = environment.compile(tree)
    except jinja2.TemplateSyntaxError as error:
        raise _syntax_error(error) from None
    except (RecursionError, MemoryError, SyntaxError, ValueError, OverflowError) as error:
        if isinstance(error, TextError):
            raise
        raise TextError("the text can't be read", fix="simplify its placeholders") from None
    template = jinja2.Template.from_code(environment, code, {})
    return CompiledText(template, declared, lines)


def _syntax_error(error: jinja2.TemplateSyntaxError) -> TextError:
    full = (error.message or "bad syntax").replace("token 'end of print statement'", "'}}'")
    message = shorten(full.split(". ")[0], 80).rstrip(".")
    what = f"can't read a placeholder: {message[:1].lower()}{message[1:]}"
    return TextError(what, error.lineno, "write {{ name }}, with a space before a brace of LaTeX")
