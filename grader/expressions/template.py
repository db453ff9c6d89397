"""A restricted Jinja2 whose templates always terminate: checked and compiled once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, NamedTuple

import jinja2
from jinja2 import meta, nodes
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


def _accept_sequences(
    compare: Callable[[object, object], bool],
) -> Callable[[object, object], bool]:
    return lambda a, b: compare(a, tuple(b) if isinstance(b, (list, range)) else b)


_OPERATORS = {
    "eq": COMPARISONS["=="],
    "ne": COMPARISONS["!="],
    "lt": COMPARISONS["<"],
    "lteq": COMPARISONS["<="],
    "gt": COMPARISONS[">"],
    "gteq": COMPARISONS[">="],
    "in": _accept_sequences(COMPARISONS["in"]),
    "notin": _accept_sequences(COMPARISONS["not in"]),
}


def _call_by_name(name: str, *arguments: Value, facts: Facts) -> Value:
    return call_function(FUNCTIONS[name], facts, list(arguments))


def _constants(names: frozenset[str]) -> dict[str, object]:
    """Returns those of *names* that mean the same in every scope: units, comparisons, `range`."""
    constants: dict[str, object] = {
        n: units.named_units()[n] for n in names & units.named_units().keys()
    }
    for name in names:
        if name.startswith(structure.COMPARED):
            constants[name] = _OPERATORS[name.removeprefix(structure.COMPARED)]
    if structure.CALLED + "range" in names:
        constants[structure.CALLED + "range"] = _limited_range
    return constants


class CompiledText(NamedTuple):
    """A text with expressions, compiled by Jinja2."""

    template: jinja2.Template
    names: frozenset[str]
    """The names that a scope must bind."""
    constants: Mapping[str, object]
    functions: tuple[str, ...]
    """The functions that it calls."""
    lines: Mapping[str, int]
    """The line of each name's first use."""

    def fill(self, scope: Mapping[str, Value], facts: Facts) -> str:
        """Returns the text with values from *scope*. Raises TextError."""
        variables = dict(self.constants)
        for name in self.names:
            if name not in scope:
                what, fix = describe_unknown_name(name, scope)
                raise TextError(what, self.lines.get(name), fix)
            variables[name] = scope[name]
        for name in self.functions:
            variables[structure.CALLED + name] = partial(_call_by_name, name, facts=facts)
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
        line = None
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == "<template>":
                line = self.template.get_corresponding_lineno(trace.tb_lineno)
            trace = trace.tb_next
        return line


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
    constants = _constants(declared)
    called = (n.removeprefix(structure.CALLED) for n in declared if n.startswith(structure.CALLED))
    return CompiledText(
        template=template,
        names=frozenset(
            n for n in declared - constants.keys() if not n.startswith(structure.CALLED)
        ),
        constants=MappingProxyType(constants),
        functions=tuple(sorted(set(called) - {"range"})),
        lines=MappingProxyType(lines),
    )


def _syntax_error(error: jinja2.TemplateSyntaxError) -> TextError:
    full = (error.message or "bad syntax").replace("token 'end of print statement'", "'}}'")
    message = shorten(full.split(". ")[0], 80).rstrip(".")
    what = f"can't read a placeholder: {message[:1].lower()}{message[1:]}"
    return TextError(what, error.lineno, "write {{ name }}, with a space before a brace of LaTeX")
