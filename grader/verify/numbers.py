"""Checks of the numbers: trivial guesses, readability, and rounding in print."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations

from grader import expressions, units
from grader.expressions import ExpressionError, TextError
from grader.kinds import kinds
from grader.kinds.numeric import NumericKey
from grader.kinds.prediction import MeasuredPrediction
from grader.kinds.table import TableKey
from grader.kinds.texts import fill, scope_with
from grader.kinds.tolerance import AcceptedInterval, is_within, scale_interval
from grader.model import Key
from grader.notebook.render import given_values
from grader.units.quantity import Quantity, Value
from grader.verify.case import Case, Finding

# Numbers that a student can read and type without counting zeros.
SMALLEST, LARGEST = 1e-4, 1e7


_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")


def check_trivial_guesses(case: Case) -> Iterator[Finding]:
    """Yields a finding for each part that accepts 0, 1, or a number that the problem prints."""
    drawn = case.variant.draw
    printed = fill(case.problem.prompt, drawn)
    printed += " " + " ".join(value for _, value in given_values(case.variant))
    for part_id, key in case.variant.keys.items():
        if not isinstance(key, NumericKey):
            continue
        ask = fill(key.part.ask, drawn)
        guesses = {0.0, 1.0, *printed_numbers(printed), *printed_numbers(ask)}
        for guess in sorted(guesses):
            if key.low <= guess <= key.high:
                of = "" if guess in (0.0, 1.0) else ", a number that the question prints,"
                what = (
                    f"the guess {units.format_number(guess)}{of} is accepted "
                    f"({units.format_number(key.low)} to {units.format_number(key.high)})"
                )
                fix = (
                    "narrow the tolerance, exclude such variants with 'where:', or ask in another "
                    "unit"
                )
                yield case.part_finding("trivial-guess", part_id, what, fix)


def printed_numbers(text: str) -> set[float]:
    """Returns the numbers that a text contains."""
    return {float(n.replace(",", "")) for n in _NUMBER.findall(text)}


def cells_of(key: Key) -> tuple[NumericKey, ...]:
    """Returns the numeric keys in a key: itself, those of a table's cells, or none."""
    if isinstance(key, NumericKey):
        return (key,)
    return tuple(c for row in key.cells for c in row) if isinstance(key, TableKey) else ()


def _all_numbers(case: Case) -> Iterator[tuple[str, NumericKey]]:
    for part_id, key in case.variant.keys.items():
        yield from ((part_id, cell) for cell in cells_of(key))


def check_readable_numbers(case: Case) -> Iterator[Finding]:
    """Yields a finding for each key that is hard to read and type, or whose accepted range has no
    width."""
    for part_id, key in _all_numbers(case):
        size = abs(key.value)
        if size and not SMALLEST <= size <= LARGEST:
            what = f"the key {units.format_number(key.value)} is hard to read and type"
            fix = "choose a larger or smaller unit, or other parameters"
            yield case.part_finding("readable-numbers", part_id, what, fix)
        if not isinstance(key.value, int) and not key.low < key.high:
            what = f"only exactly {units.format_number(key.value)} is accepted"
            fix = "widen the tolerance, since answers are rounded"
            if not key.value:
                what += "; a relative tolerance has no width at zero"
                fix = "give an absolute tolerance, or exclude zero with 'where:'"
            yield case.part_finding("tolerance", part_id, what, fix)


def check_distinct_mistakes(case: Case) -> Iterator[Finding]:
    """Yields a finding for each two mistakes that are closer to each other than the tolerance."""
    for part_id, key in case.variant.keys.items():
        if not isinstance(key, NumericKey):
            continue
        for (first, value), (second, near) in combinations(_iter_mistakes(case, part_id, key), 2):
            accepted = AcceptedInterval(key.low, key.high, "")
            if is_within(value, *scale_interval(accepted, key.value, near)):
                what = (
                    f"part '{part_id}': the mistakes '{first}' ({units.format_number(value)}) and "
                    f"'{second}' ({units.format_number(near)}) are closer than the tolerance"
                )
                fix = "separate them with 'where:', or with 'when:' of one of them"
                yield case.finding("mistakes", case.mistake_path(part_id, second), what, fix)


def _iter_mistakes(case: Case, part_id: str, key: NumericKey) -> Iterator[tuple[str, float]]:
    """Yields the id and the value of each mistake that applies to the variant."""
    kind = kinds.find(key.part.kind)
    try:
        samples = case.examples(part_id)
    except (ExpressionError, TextError, ValueError):
        return  # another check reports this
    for sample in samples:
        if sample.mistake is not None:
            value = kind.read(sample.raw, key)
            yield sample.mistake, value.value if isinstance(value, MeasuredPrediction) else value


_SHOWN = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*(\|[^{}]*)?\}\}")


def check_printed_rounding(case: Case) -> Iterator[Finding]:
    """Yields a finding for each answer that is not accepted if it is computed from a number as
    printed."""
    for name, value in _printed_values(case):
        scope = _recompute_scope(case, name, value)
        if scope is None:
            continue
        for part_id, key in case.variant.keys.items():
            again = _recompute_key(scope, key)
            for cell, moved in zip(cells_of(key), cells_of(again) if again else (), strict=False):
                if not cell.low <= moved.value <= cell.high:
                    what = (
                        f"with {name} as printed "
                        f"({units.format_quantity(value)}) the answer is "
                        f"{units.format_number(moved.value)}, outside "
                        f"{units.format_number(cell.low)} to {units.format_number(cell.high)}"
                    )
                    fix = "print more digits, round the value itself, or widen the tolerance"
                    yield case.part_finding("printed-rounding", part_id, what, fix)


def _printed_values(case: Case) -> Iterator[tuple[str, Value]]:
    """Yields every parameter or value that a text prints with reduced precision, as printed."""
    problem, scope = case.problem, case.variant.draw.scope
    texts = [problem.prompt, *problem.assumptions, *(p.ask for p in problem.parts)]
    snippets = {m.group(0): m.group(1) for text in texts for m in _SHOWN.finditer(text)}
    for name, parameter in problem.parameters.items():
        for shown in parameter.rows[0] if parameter.rows else (name,):
            snippets.setdefault(f"{{{{ {shown} }}}}", shown)
    own = {p.id for p in problem.parts}
    for snippet, name in snippets.items():
        exact = scope.get(name)
        if name in own or exact is None or isinstance(exact, (str, bool)):
            continue
        printed = _read_printed(expressions.fill(snippet, scope, case.facts), exact)
        if printed is not None and not _are_close(printed, exact):
            yield name, printed


def _read_printed(text: str, like: Value) -> Value | None:
    """Returns the value that *text* shows, in the unit of *like*; None for a number in words."""
    unit = (like.unit or "") if isinstance(like, Quantity) else ""
    if isinstance(like, Quantity) and not unit:
        unit = text.split(maxsplit=1)[1] if " " in text else ""
    try:
        return units.quantity(units.read(text, unit), unit)
    except ValueError:
        return None  # a text that prints the number in words


def _are_close(a: Value, b: Value) -> bool:
    x = a.magnitude if isinstance(a, Quantity) else a
    y = b.magnitude if isinstance(b, Quantity) else b
    return math.isclose(float(x), float(y), rel_tol=1e-12)


def _recompute_scope(case: Case, name: str, value: Value) -> dict[str, Value] | None:
    """Returns the scope with *value* for *name*; None if it can't be computed."""
    try:
        return scope_with(case.variant.draw, {name: value})
    except ExpressionError:
        return None


def _recompute_key(scope: Mapping[str, Value], key: Key) -> Key | None:
    """Returns *key* as computed in *scope*; None without numbers, or if it can't be computed."""
    if not cells_of(key):
        return None
    try:
        again: Key = kinds.find(key.part.kind).key(key.part, replace(key.draw, scope=scope))
    except (ExpressionError, ValueError):
        return None
    return again
