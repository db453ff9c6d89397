"""Short cuts: each gives exactly what the long way gives, and loads no more than it needs."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grader import units
from grader.bank.folders import Bank
from grader.errors import SpecError
from grader.expressions import ExpressionError, evaluate, syntax
from grader.expressions.arithmetic import (
    BINARY,
    COMPARISONS,
    check_size,
    negate,
    require_truth,
    unary_plus,
)
from grader.expressions.functions import FUNCTIONS, call_function
from grader.kinds.slips import WIDEST, find_slip, slips_of_unit
from grader.units.quantity import Quantity, Value
from tests.helpers.banks import a_bank, a_roster
from tests.helpers.commands import ok

SCOPE: Mapping[str, Value] = {
    "a": 3,
    "b": 4.5,
    "zero": 0,
    "nought": -0.0,
    "big": 1e300,
    "huge": 1 << 1020,
    "size": units.quantity(3, "GB"),
    "rate": units.quantity(2.5, "GB/s"),
    "word": "ring",
    "yes": True,
}

_COMPARED = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
_OF_ONE = st.sampled_from(["abs", "ceil", "floor", "sqrt", "exp", "log2", "log10"])
_OF_TWO = st.sampled_from(["min", "max", "log", "round"])

names = st.sampled_from([*SCOPE, "GB", "s", "2", "0.5", "1e9", "7", "1", "0"])
sources = st.recursive(
    names,
    lambda inner: st.one_of(
        st.builds(
            "({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/", "%", "//"]), inner
        ),
        st.builds("({} {} {})".format, inner, _COMPARED, inner),
        st.builds("({} ** {})".format, inner, st.sampled_from(["2", "0.5", "-1", "b"])),
        st.builds("-{}".format, inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("({} and {})".format, inner, inner),
        st.builds("{}({})".format, _OF_ONE, inner),
        st.builds("{}({}, {})".format, _OF_TWO, inner, inner),
    ),
    max_leaves=8,
)


def slowly(node: ast.expr) -> Value:
    """What an expression is by the definition of its operators alone."""
    match node:
        case ast.Constant(value=value):
            return value  # type: ignore[return-value]
        case ast.Name(id=name):
            return units.named_units()[name] if name in units.named_units() else SCOPE[name]
        case ast.BinOp(left=left, op=op, right=right):
            return BINARY[syntax.BINARY[type(op)]](slowly(left), slowly(right))
        case ast.UnaryOp(op=op, operand=operand):
            return (negate if isinstance(op, ast.USub) else unary_plus)(slowly(operand))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return COMPARISONS[syntax.COMPARISONS[type(op)]](slowly(left), slowly(right))
        case ast.BoolOp(values=values):
            return all(require_truth(slowly(value), "both sides of 'and'") for value in values)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return slowly(
                body if require_truth(slowly(test), "the condition after 'if'") else orelse
            )
        case ast.Call(func=ast.Name(id=name), args=args):
            return check_size(call_function(FUNCTIONS[name], {}, [slowly(each) for each in args]))
    raise AssertionError(ast.dump(node))


def outcome(source: str, how: object) -> str:
    """A value with its type and unit, or what is said instead."""
    try:
        return repr(how(source))  # type: ignore[operator]
    except ExpressionError as error:
        return f"{error.what} / {error.fix}"


@pytest.mark.thorough
@settings(max_examples=400)
@given(sources)
@example("huge * huge")
@example("huge + huge")
@example("big * big")
@example("abs(nought)")
@example("min(nought, zero)")
@example("a // zero")
@example("size % zero")
@example("size * size / size")
@example("size + zero")
@example("zero == size")
@example("sqrt(-a)")
@example("log(a, 1)")
@example("max(a, word)")
@example("round(b, 400)")
@example("yes + yes")
@example("min(size, rate)")
@example("exp(big)")
def test_an_expression_is_what_its_operators_say(source: str) -> None:
    quick = outcome(source, lambda text: evaluate(text, SCOPE))
    assert quick == outcome(source, lambda text: slowly(syntax.parse(text)))


@given(
    st.sampled_from(["GB", "GiB", "ms", "s", "h", "", "%", "TFLOP/s", "B/s", "token/s", "USD"]),
    st.floats(1e-13, 1e13),
    st.sampled_from([0.0, 0.001, 0.004, 0.01]),
)
def test_the_slip_found_is_the_first_that_fits(unit: str, ratio: float, width: float) -> None:
    for observed in (ratio, *(slip.ratio * (1 + WIDEST / 2) for slip in slips_of_unit(unit))):
        fitting = (
            slip
            for slip in slips_of_unit(unit)
            if abs(observed * 7.0 / 7.0 - slip.ratio)
            <= (min(width, slip.window) + 1e-9) * slip.ratio
        )
        assert find_slip(observed * 7.0, 7.0, unit=unit, scope={}, width=width) == next(
            fitting, None
        )


def test_quantities_are_alike_however_they_are_made() -> None:
    made = units.quantity(3, "GB")
    assert isinstance(made, Quantity)
    assert made == Quantity(made.magnitude, made.dimension, made.unit)
    assert hash(made * 2) == hash(Quantity(made.magnitude * 2, made.dimension))
    with pytest.raises(AttributeError):
        made.magnitude = 4  # type: ignore[misc]


HEAVY = ("sqlalchemy", "nbclient", "jupyter_client", "IPython", "numpy", "markdown_it", "rich")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "call",
    [
        "preview(Bank.open(), 'kv-cache-size', 0)",
        "key_data(load_release(Path('release')), 'ada')",
    ],
)
def test_what_shows_a_problem_loads_neither_the_store_nor_a_kernel(
    call: str, tmp_path: Path
) -> None:
    bank = a_bank(tmp_path / "bank")
    ok("render", "quiz", "--roster", a_roster(tmp_path), "--out", tmp_path / "release",
       "--bank", bank)  # fmt: skip
    code = (
        "import sys\nfrom pathlib import Path\nfrom grader.bank.folders import Bank\n"
        "from grader.release.file import load_release\n"
        f"from grader.release.rendering import key_data, preview\n{call}\n"
        f"sys.exit(','.join(sorted(set({HEAVY}) & set(sys.modules))) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_template_that_names_what_is_not_there_is_an_error_in_words(tmp_path: Path) -> None:
    bank = a_bank(tmp_path)
    (bank / "templates" / "notebook").mkdir(parents=True)
    (bank / "templates" / "notebook" / "answer.py.j2").write_text("{{ nonsense }} = ...")
    from grader.release.rendering import preview

    with pytest.raises(SpecError, match="'nonsense' is undefined") as caught:
        preview(Bank.open([bank]), "sample", 0)
    assert "answer.py.j2" in str(caught.value)
