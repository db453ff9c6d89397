"""Expressions: what they compute, what they refuse, and that they never take long over it."""

from __future__ import annotations

import ast
import math
import pickle
import time
import warnings
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader import units
from grader.expressions import FUNCTIONS, ExpressionError, evaluate, holds, names_in
from grader.expressions.arithmetic import LIMIT
from grader.units.quantity import Quantity, Value, dimension_of

# Generous for a busy machine; what runs away would take minutes.
SOON = 1.0

GB = units.named_units()["GB"]
SCOPE: dict[str, Value] = {
    "billions": 7,
    "gpus": 4,
    "state": units.quantity(112, "GB"),
    "link": "nvlink",
    "sharded": True,
    "zero": 0,
    "x": 2.5,
}
FACTS = {
    "h100-sxm": {"memory_bandwidth": units.quantity(3.35, "TB/s"), "sms": 132, "name": "H100 SXM"}
}


def value(source: str) -> Value:
    return evaluate(source, SCOPE, FACTS)


def refusal(source: str) -> ExpressionError:
    started = time.process_time()
    with pytest.raises(ExpressionError) as caught:
        value(source)
    assert time.process_time() - started < SOON
    error = caught.value
    assert error.what.isprintable()
    assert error.what[-1] != "."
    assert len(error.what) < 200
    return error


class TestValues:
    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            ("billions * 1e9", 7e9),
            ("2 ** 10 - 24", 1000),
            ("2 ** 3 ** 2", 512),
            ("-2 ** 2", -4),
            ("7 // 2 + 7 % 4", 6),
            ("-7 // 2", -4),
            ("1 / 4", 0.25),
            ("2 ** -1", 0.5),
            ("0x10 + 1_000", 1016),
            (".5 + 1. + 2e1", 21.5),
            ("gpus == 4 and not sharded", False),
            ("gpus > 8 or sharded", True),
            ("1 < 2 < 3", True),
            ("1 < 3 < 2", False),
            ("1 < 3 != 4", True),
            ("3 if gpus >= 4 else 1 / zero", 3),
            ("gpus in (2, 4, 8)", True),
            ("link not in ('pcie', 'ethernet')", True),
            ("link == 'nvlink'", True),
            ("gpus == 4.0", True),
            ("state == 0 or 0 * GB != 0 or state != 112 * GB", False),
            ("sharded == True", True),
            ("zero and 1 / zero > 1 if False else True", True),
            ("  1\n  + 2\n", 3),
            ("abs(-3) + abs(3)", 6),
            ("min(3, 1, 2) + max(3, 1, 2) + sum(1, 2, 3)", 10),
            ("round(2.567, 2)", 2.57),
            ("round(2.5) + round(3.5)", 6),
            ("round(1234, -2)", 1200),
            ("floor(2.9) + ceil(2.1)", 5),
            # In binary, 0.3 / 0.1 is 2.9999999999999996, and 1.1 * 3 / 1.1 is 3.0000000000000004.
            ("floor(0.3 / 0.1)", 3),
            ("ceil(1.1 * 3 / 1.1)", 3),
            ("0.3 // 0.1", 3.0),
            ("-(-(1.1 * 3) // 1.1)", 3.0),
            ("0.3 * GB // (0.1 * GB)", 3.0),
            ("floor(0.1 + 0.2 - 0.3 - 1e-17) + ceil(0.1 * 3 - 0.3)", 0),
            ("floor(2.999999) + ceil(3.000001)", 6),
            ("floor(10.0 ** 13 - 0.25) - 10 ** 13", -1),
            ("sqrt(16) + log2(8) + log10(100) + log(8, 2)", 12),
            ("exp(0) + log(exp(1))", 2),
            ("clamp(9, 0, 5) + clamp(-1, 0, 5) + clamp(3, 0, 5)", 8),
            ("gcd(12, 18) + lcm(4, 6)", 18),
            ("comb(5, 2) + factorial(4)", 34),
            ("comb(2, 5)", 0),
            ("significant(123456, 2)", 120000),
            ("significant(0.00123456, 3)", 0.00123),
            ("pick(link, 'pcie', 64, 'nvlink', 900)", 900),
            ("pick(gpus, 4, 'four', 8, 'eight')", "four"),
            ("number(state, 'GB')", 112),
            ("number(3, '')", 3),
            ("fact('h100-sxm', 'sms')", 132),
            ("fact('h100-sxm', 'name')", "H100 SXM"),
            ("number(fact('h100-sxm', 'memory_bandwidth'), 'GB/s')", 3350),
        ],
    )
    def test_an_expression_has_its_value(self, source, expected) -> None:
        found = value(source)
        assert found == (pytest.approx(expected) if isinstance(expected, float) else expected)
        assert isinstance(found, bool) is isinstance(expected, bool)

    @pytest.mark.parametrize(
        ("source", "unit", "expected"),
        [
            ("16 * byte * billions * 1e9", "GB", 112),
            ("state / gpus", "GB", 28),
            ("312 * TFLOP / s", "TFLOP/s", 312),
            ("state / (2 * TB / s)", "ms", 56),
            ("6 * billions * 1e9 * FLOP / token", "FLOP/token", 42e9),
            ("80 * GB - state / 2", "GB", 24),
            ("max(2 * min, 90 * s)", "s", 120),
            ("sum(1 * GB, 24 * GB)", "GB", 25),
            ("clamp(state, 0 * GB, 80 * GB)", "GB", 80),
            ("abs(-state)", "GB", 112),
            ("sqrt(9 * GB * GB)", "GB", 3),
            ("state % (50 * GB)", "GB", 12),
            ("pick(gpus, 4, 28 * GB, 8, 14 * GB)", "GB", 28),
            ("7 * GB // (2 * GB)", "", 3),
        ],
    )
    def test_units_are_kept_through_arithmetic(self, source, unit, expected) -> None:
        assert units.magnitude(value(source), unit) == pytest.approx(expected, rel=1e-12)

    def test_a_number_or_truth_value_is_its_own_value(self) -> None:
        assert evaluate(3, {}) == 3
        assert evaluate(2.5, {}) == 2.5
        assert evaluate(True, {}) is True
        with pytest.raises(ExpressionError, match="too large"):
            evaluate(math.inf, {})
        with pytest.raises(ExpressionError, match="too large"):
            evaluate(10**400, {})

    def test_whole_numbers_stay_exact(self) -> None:
        assert value("2 ** 100 + 1 - 2 ** 100") == 1
        assert type(value("3 * gpus")) is int

    def test_conditions_hold_or_not(self) -> None:
        assert holds("state / gpus + 24 * GB <= 80 * GB", SCOPE) is True
        assert holds("billions / gpus < 1", SCOPE) is False
        assert holds(True, {}) is True
        with pytest.raises(ExpressionError, match="a condition must be true or false"):
            holds("billions", SCOPE)

    def test_names_are_those_that_a_scope_must_bind(self) -> None:
        assert names_in("16 * byte * n + max(a, min) * (b if c else d)") == {*"nabcd"}
        assert names_in("fact('h100-sxm', 'sms') > 'text'") == frozenset()
        assert names_in("3") == frozenset()

    def test_a_scope_never_changes_what_a_unit_means(self) -> None:
        assert evaluate("3 * GB", {"GB": 1}) == 3 * GB

    def test_another_scope_gives_another_value(self) -> None:
        assert [evaluate("n * n", {"n": n}) for n in (1, 2, 3)] == [1, 4, 9]

    def test_a_scope_may_hold_numpy_scalars(self) -> None:
        numpy = pytest.importorskip("numpy")
        found = evaluate("n * 2 * GB", {"n": numpy.float64(1.5)})
        assert found == 3 * GB
        assert type(found.magnitude) is float  # type: ignore[union-attr]
        # A plain float's overflow, not numpy's warning of one.
        with pytest.raises(ExpressionError, match="too large"):
            evaluate("n * n", {"n": numpy.float64(1e200)})


class TestRefusals:
    @pytest.mark.parametrize(
        ("source", "what", "fix"),
        [
            ("", "the expression is empty", "write a number"),
            ("per_gpu_stat + state * gps", "unknown name", None),
            ("stat + 1", "unknown name 'stat'", "did you mean 'state'?"),
            ("gpus * gb", "unknown name 'gb'", "did you mean 'Gb'?"),
            ("3 * TFLOPS", "unknown name 'TFLOPS'", "did you mean 'TFLOP'?"),
            ("sqr(4)", "unknown function 'sqr'", "did you mean 'sqrt'?"),
            ("open('/etc/passwd')", "unknown function 'open'", None),
            ("sqrt", "unknown name 'sqrt'", "write sqrt(x)"),
            ("sqrt()", "sqrt() with 0 arguments", "write sqrt(x)"),
            ("clamp(1)", "clamp() with 1 argument", "write clamp(x, low, high)"),
            ("round(x=3)", "does not accept keyword arguments", None),
            ("max(*gpus)", "does not accept keyword arguments", None),
            ("2 +", "the expression is incomplete", "check operators"),
            ("(2 + 3", "can't read the expression", "check operators"),
            ("a b", "can't read the expression at 'b'", "check operators"),
            ("gpus * 50% / 2", "can't read the expression at '/ 2'", "0.5 for 50%"),
            ("gpus * 50%", "the expression is incomplete", "0.5 for 50%"),
            ("2 byte * gpus", "can't read the expression at 'byte", "write '*' between"),
            ("2 if gpus / else 3", "can't read the expression", "check operators"),
            ("gpus = 4", "can't read the expression at '= 4'", "write '==' to compare"),
            ("2^3", "'^' has no meaning here", "write '**' for a power"),
            ("2 × 3", "'×' has no meaning here", "write '*' to multiply"),
            ("2 # note", "'#' has no meaning here", "comments belong in the YAML"),
            ("'it", "' has no meaning here", "close the quote"),
            ("'a\\n'", "a backslash has no meaning here", "remove it"),
            ("2gpus", "'2gpus' is not a number", "write 2 * x for 2x"),
            ("1if sharded else 2", "'1if' is not a number", "spaces around words"),
            ("0b101", "'0b101' is not a number", None),
            ("1j", "'1j' is not a number", None),
            ("2 @ 3", "this operator is not allowed", "use +"),
            ("1 << 9", "this operator is not allowed", "use +"),
            ("~gpus", "'~' is not allowed", "write 'not'"),
            ("gpus is 4", "'is' is not allowed", "write '=='"),
            ("link.upper", "a '.' after a name", None),
            ("''.__class__.__mro__", "a '.' after a name", None),
            ("link[0]", "an index in brackets", None),
            ("[1, 2]", "a list is not allowed", None),
            ("{1: 2}", "a dictionary is not allowed", None),
            ("lambda: 1", "a lambda is not allowed", None),
            ("[i for i in gpus]", "a comprehension is not allowed", None),
            ("(i for i in gpus)", "a comprehension is not allowed", None),
            ("(n := 3)", "an assignment is not allowed", None),
            ("f'{gpus}'", "an f-string is not allowed", None),
            ("b'ab'", "is not allowed", None),
            ("None", "'None' is not allowed", None),
            ("...", "'Ellipsis' is not allowed", None),
            ("await gpus", "this is not allowed", None),
            ("(1, 2)", "a list is only allowed after 'in'", None),
            ("(1, 2) == (1, 2)", "a list is only allowed after 'in'", None),
            ("gpus in 4", "'in' needs a list such as (1, 2)", None),
            ("abs(1)(2)", "only named functions", None),
            ("'GB' * 3", "can't multiply text", "as numbers and a 'unit:'"),
            ("'%d' % 3", "can't take the remainder of text", None),
            ("link + link", "can't add text", None),
            ("-link", "can't negate text", None),
            ("sharded + 1", "can't add a truth value", "write 'a if condition else b'"),
            ("link < 'z'", "can't order text", None),
            ("link == 3", "can't compare text with a plain number", None),
            ("sharded == 1", "can't compare a truth value with a plain number", None),
            ("state == 3", "can't compare a size with a plain number", None),
            ("state == 3 * s", "can't compare a size with a time", None),
            ("state + gpus", "can't add a size and a plain number", None),
            ("state + 3 * s", "can't add a size and a time", None),
            ("state < 3 * s", "can't compare a size with a time", None),
            ("max(state, 3)", "max() got a size and a plain number", None),
            ("round(state)", "round() needs a plain number, got a size", 'number(..., "GB")'),
            ("state // 2", "can't floor-divide a size by a plain number", None),
            ("2 ** state", "an exponent must be a plain number, got a size", None),
            ("gpus and sharded", "both sides of 'and' must be true or false", "comparison"),
            ("not gpus", "the operand of 'not' must be true or false", "comparison"),
            ("1 if gpus else 2", "the condition after 'if' must be true or false", "comparison"),
            ("1 / zero", "division by zero", None),
            ("1 // zero", "division by zero", None),
            ("1 % zero", "division by zero", None),
            ("zero ** -1", "division by zero", None),
            ("state / (zero * s)", "division by zero", None),
            ("1e308 * 10", "the result is too large", None),
            ("1e308 + 1e308", "the result is too large", None),
            ("-1e308 - 1e308", "the result is too large", None),
            ("1e308 * 10 * GB", "the result is too large", None),
            ("1e300 * GB * 1e9", "the result is too large", None),
            ("1e999", "the number is too large", None),
            ("1" * 400, "the number is too large", None),
            ("exp(1e6)", "the result is too large", None),
            ("floor(10 ** 400.0)", "the result is too large", None),
            ("(-8) ** 0.5", "can't take a root of a negative number", None),
            ("(-8 * GB ** 2) ** 0.5", "can't take a root of a negative", None),
            ("GB ** 13", "an exponent of a unit is larger than", None),
            ("sqrt(-1)", "sqrt() needs a number of at least 0", None),
            ("log(zero)", "log() needs a number above zero, got 0", None),
            ("log(8, 1)", "the base of log() can't be 1", None),
            ("gcd(1.5, 2)", "gcd() needs whole numbers, got 1.5", None),
            ("comb(-1, 2)", "comb() needs numbers of at least 0", None),
            ("factorial(171)", "factorial() supports 0 to 170, got 171", None),
            ("factorial(-1)", "factorial() supports 0 to 170", None),
            ("significant(3, 0)", "significant() supports 1 to 17 digits", None),
            ("round(3, 10 ** 300)", "round() supports at most 300 digits", None),
            ("clamp(1, 5, 0)", "a lower bound above its upper bound", None),
            ("pick(gpus, 1)", "pick() with 2 arguments", None),
            ("pick(gpus, 1, 2, 3)", "pick() has a case without a value", "pick(key"),
            ("pick(link, 'a', 1, 'b', 2)", "pick() has no case for 'nvlink'", "it has a, b"),
            ("pick(link, 1, 1)", "can't compare text with a plain number", None),
            ("number(state, 'ms')", "expected a time in ms, got a size", None),
            ("number(state, 'GBB')", "unknown unit 'GBB'", "did you mean 'GB'?"),
            ("number(state, 3)", "number() needs a unit", None),
            ("fact('h100-sx', 'sms')", "no item 'h100-sx'", "did you mean 'h100-sxm'?"),
            ("fact('h100-sxm', 'sm')", "no field 'sm' of 'h100-sxm'", "did you mean 'sms'?"),
            ("fact(3, 'sms')", "fact() needs names in quotes", None),
            ("sum(sharded, 1)", "can't add a truth value", None),
            ("(1, 2) in (1, 2)", "a list is only allowed after 'in'", None),
            ("min('a', 'b')", "can't use min() on text", None),
        ],
    )
    def test_what_is_wrong_is_said_with_what_to_do(self, source, what, fix) -> None:
        error = refusal(source)
        assert what in error.what
        if fix is not None:
            assert fix in str(error.fix)

    @pytest.mark.parametrize(
        ("source", "column"),
        [
            ("gpus + stat", 8),
            ("  gpus + stat", 10),
            ("gpus +\n stat", 9),
            ("gpus / zero", 8),
            ("gpus * sqr(2)", 8),
            ("'ü' != link and stat", 17),
            ("1 + state + 2", 5),
            ("gpus ^ 2", 6),
            ("gpus +", 7),
        ],
    )
    def test_the_column_is_that_of_the_fault(self, source, column) -> None:
        assert refusal(source).column == column

    def test_a_branch_that_is_not_taken_is_not_evaluated(self) -> None:
        assert value("1 / 0 if gpus > 9 else 5") == 5
        assert value("gpus > 3 or 1 / 0 > 1") is True
        assert refusal("1 / 0 if gpus < 9 else 5").what == "division by zero"

    def test_an_error_survives_a_process_boundary(self) -> None:
        error = pickle.loads(pickle.dumps(refusal("stat + 1")))
        assert (error.what, error.column) == ("unknown name 'stat'", 1)
        assert "did you mean" in str(error)

    def test_a_scope_of_no_value_at_all_is_refused(self) -> None:
        with pytest.raises(ExpressionError, match="can't multiply nothing"):
            evaluate("n * 2", {"n": None})


HOSTILE = {
    "tower": "9**9**9",
    "tower of quantities": "(9 * GB)**9**9",
    "negative tower": "2**-9**9**9",
    "ten megabytes": "1+" * 5_000_000 + "1",
    "ten megabytes of digits": "9" * 10_000_000,
    "brackets": "(" * 990 + "1" + ")" * 990,
    "open brackets": "(" * 5000,
    "open brackets within the length": "(" * 1999,
    "square brackets": "[" * 1999,
    "calls": "abs(" * 400 + "1" + ")" * 400,
    "minuses": "-" * 5000 + "1",
    "minuses within the length": "-" * 1999 + "1",
    "spaced minuses": "- " * 999 + "1",
    "mixed signs": "+-~" * 600 + "1",
    "nots": "not " * 499 + "1",
    "powers": "2**" * 600 + "2",
    "conditions": "1 if 1 else " * 160 + "1",
    "sums": "1+" * 999 + "1",
    "comparisons": "1<" * 999 + "1",
    "many arguments": "max(" + "1," * 900 + "1)",
    "big comb": "comb(10**300, 10**299)",
    "wide comb": "comb(10**6, 5*10**5)",
    "huge factorial": "factorial(10**300)",
    "round digits": "round(2.5, 10**18)",
    "negative round digits": "round(10**300, -10**18)",
    "text times a number": "'ab' * 10**300",
    "number times text": "10**300 * 'ab'",
    "squaring": "(" * 12 + "9**300" + ")**2" * 12,
    "large product": "*".join(["(2**1000)"] * 20),
    "whole division of giants": "2**1023 // 3 ** 600 // 0",
    "remainder of a tiny divisor": "1e308 % 5e-324 / 0",
    "null": "1\x00+1",
    "surrogate": "'\ud800' + 1",
    "bidi": "1 +\u202e 2",
    "walrus": "(x:=" * 100,
    "lambdas": "lambda:" * 280 + "1",
    "strings": "'" * 1999,
    "braces": "{" * 1999,
    "dots": "." * 1999,
    "exponents": "1" + "e9" * 900,
    "f-strings": "f'{f\"{1}\"}'" * 100,
    "starred": "*" * 1999,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_expression_is_refused_at_once(name) -> None:
    refusal(HOSTILE[name])


def test_the_longest_allowed_expressions_are_evaluated_at_once() -> None:
    started = time.process_time()
    assert value("max(" + ",".join(["comb(1000, 500) / 3 ** 99"] * 50) + ") > 1") is True
    assert value("+".join(["factorial(160)"] * 40)) > 1  # type: ignore[operator]
    assert value("+".join(["1"] * 50)) == 50
    assert time.process_time() - started < SOON


def test_a_warning_of_python_never_reaches_the_author() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for source in (
            "1or 2",
            "0xfor 1",
            "1if 1else 2",
            "'\\d'",
            "1 is 1",
            "1()",
            "'a'()",
            "1_000and 2",
        ):
            assert refusal(source).what


PIECES = [
    *("gpus", "state", "link", "x", "zero", "GB", "s", "TFLOP", "n", "'a'", "1", "2.5", "1e300"),
    *("+", "-", "*", "/", "//", "%", "**", "(", ")", ",", "<", "==", " in ", " and ", " not "),
    *(" if ", " else ", " or ", "~", "[", "]", "{", "}", ".", ":", "=", "'", "9" * 40, "\\", "#"),
    *(f"{name}(" for name in FUNCTIONS),
]


def survives(source: str) -> None:
    started = time.process_time()
    try:
        found = value(source)
    except ExpressionError as error:
        said: Value = error.what
    else:
        said = found.magnitude if isinstance(found, Quantity) else found
    assert said.isprintable() if isinstance(said, str) else -LIMIT < said < LIMIT
    assert time.process_time() - started < SOON


@given(st.text(max_size=200))
@example("\ud800")
@example("\x0c1")
@example("０ + 1")
def test_any_text_has_a_value_or_an_error(source) -> None:
    survives(source)


@given(st.binary(max_size=300))
def test_any_bytes_have_a_value_or_an_error(data) -> None:
    survives(data.decode("latin-1"))
    survives(data.decode("utf-8", "surrogateescape"))


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_any_jumble_of_pieces_has_a_value_or_an_error(source) -> None:
    survives(source)


numbers = st.one_of(
    st.integers(0, 10**6).map(str),
    st.floats(0, 1e6, allow_nan=False).map(repr),
    st.sampled_from(["gpus", "x", "billions"]),
)
formulas = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} < {t[2]} else {t[0]})"),
        inner.map(lambda t: f"-{t}"),
        st.tuples(inner, st.integers(0, 4)).map(lambda t: f"{t[0]} ** {t[1]}"),
        st.tuples(inner, inner).map(lambda t: f"max({t[0]}, min({t[1]}, 7))"),
    ),
    max_leaves=12,
)


@given(formulas)
def test_plain_arithmetic_is_pythons_own(source) -> None:
    plain = {"gpus": 4, "x": 2.5, "billions": 7}
    try:
        expected = eval(compile(ast.parse(source, mode="eval"), "", "eval"), dict(plain))
        float(expected)  # an integer that no float can represent is refused
    except (ZeroDivisionError, OverflowError):
        expected = None
    try:
        found = evaluate(source, plain)
    except ExpressionError:
        found = None
    if expected is not None and isinstance(expected, float) and not math.isfinite(expected):
        expected = None
    assert found == expected
    assert type(found) is type(expected)


dimensioned = st.sampled_from(["GB", "MiB", "s", "ms", "TFLOP", "token", "J", "USD"])


@given(st.integers(1, 10**6), st.integers(1, 10**6), dimensioned, dimensioned)
def test_arithmetic_keeps_dimensions(a, b, one, other) -> None:
    scope = {"a": units.quantity(a, one), "b": units.quantity(b, other)}
    product = evaluate("a * b / b", scope)
    assert units.magnitude(product, one) == pytest.approx(a, rel=1e-12)
    if dimension_of(scope["a"]) == dimension_of(scope["b"]):
        total = evaluate("a + b - a", scope)
        assert units.magnitude(total, other) == pytest.approx(b, rel=1e-9)
        assert holds("a < b or b < a or a == b", scope)
    else:
        with pytest.raises(ExpressionError, match="can't add"):
            evaluate("a + b", scope)
        with pytest.raises(ExpressionError, match="can't compare"):
            holds("a < b", scope)


def test_the_reference_has_every_function_and_every_example_of_it_works() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/expressions.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    for name in FUNCTIONS:
        assert any(f"`{name}(" in row for row in rows), name
    for function in FUNCTIONS.values():
        first = function.usage.split(" or ")[0]
        assert names_in(first) <= {
            "x",
            "low",
            "high",
            "n",
            "k",
            "a",
            "b",
            "key",
            "digits",
            "size",
            "layout",
        }


@pytest.mark.parametrize("written", ["x²", "2²", "2.5² + 1", "x²y"])
def test_a_raised_two_says_how_to_write_a_power(written: str) -> None:
    with pytest.raises(ExpressionError, match="'²' has no meaning here") as caught:
        evaluate(written, {"x": 1})
    assert caught.value.fix == "write '**2'"
