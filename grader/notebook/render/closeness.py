"""What a notebook says about how close to the key a number must be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from grader import units
from grader.expressions import ExpressionError, evaluate
from grader.kinds.numeric import Integer, NumberPart
from grader.kinds.table import Column, Table
from grader.kinds.tolerance import DEFAULT, EXACT, format_distance
from grader.model import Expr, Part, Tolerance
from grader.text.words import count_of
from grader.units.quantity import Quantity


def common_tolerance(parts: Collection[Part]) -> Tolerance | None:
    """Returns the relative tolerance that most numbers of *parts* have; None if there is none."""
    rules = Counter(rule for part in parts for rule, _ in _rules(part))
    relative = (rule for rule, _ in rules.most_common() if rule.relative is not None)
    return next((rule for rule in relative if rule == Tolerance(relative=rule.relative)), None)


def tolerance_sentence(parts: Collection[Part]) -> str:
    """Returns what the first cell says about the tolerances of *parts*; empty without numbers."""
    common = common_tolerance(parts)
    rules = []
    if common is not None:
        rules.append(f"a number is accepted {_describe(common)} of the key")
    if any(isinstance(part, Integer) for part in parts):
        rules.append("a whole number must be exact")
    if not rules:
        return ""
    differs = any(_differs_from(part, common) for part in parts)
    end = " unless its question says otherwise" if differs else ""
    text = "; ".join(rules) + (f",{end}" if len(rules) > 1 and end else end)
    return text[0].upper() + text[1:] + "."


def tolerance_note(part: Part, common: Tolerance | None, titles: Sequence[str] = ()) -> str:
    """Returns how close the numbers of *part* must be if that is not what the first cell says.

    *titles* are those of the columns of a table.
    """
    if not _differs_from(part, common):
        return ""
    described = [_describe(rule, unit) for rule, unit in _rules(part, with_integers=True)]
    if len(set(described)) == 1:
        return f"accepted {described[0]}"
    return "; ".join(f"{t}: {words}" for t, words in zip(titles, described, strict=False))


def _differs_from(part: Part, common: Tolerance | None) -> bool:
    expected = EXACT if isinstance(part, Integer) else common
    return any(rule != expected for rule, _ in _rules(part, with_integers=True))


def _rules(part: Part, *, with_integers: bool = False) -> tuple[tuple[Tolerance, str], ...]:
    """Returns the tolerance, without its reason, and the unit of each column of a table, or of the
    number."""
    records: tuple[NumberPart | Column, ...] = ()
    if isinstance(part, Table):
        records = part.columns
    elif isinstance(part, NumberPart) and (with_integers or not isinstance(part, Integer)):
        records = (part,)
    return tuple((_rule_of(record.tolerance), record.unit) for record in records)


def _rule_of(tolerance: Tolerance) -> Tolerance:
    """Returns *tolerance* without its reason; the default if it has no rule."""
    rule = replace(tolerance, because=None)
    return DEFAULT if rule == Tolerance() else rule


def _describe(rule: Tolerance, unit: str = "") -> str:
    """Returns the tolerance of a number in *unit* in words, such as "within 1%"."""
    if rule == EXACT:
        return "exactly"
    limits = []
    if rule.relative is not None:
        limits.append(f"within {units.format_number(100 * rule.relative, 3)}%")
    if rule.absolute is not None:
        limits.append(f"within {_describe_distance(rule.absolute, unit)}")
    if rule.significant_figures is not None:
        figures = count_of(rule.significant_figures, "significant figure")
        limits.append(f"to {figures}")
    if rule.factor is not None:
        limits.append(f"within a factor of {units.format_number(rule.factor)}")
    if rule.input_rounding is not None:
        limits.append("as exactly as the given numbers allow")
    return " or ".join(limits)


def _describe_distance(written: Expr, unit: str) -> str:
    """Returns an absolute tolerance in words, without its number if that depends on the variant.

    A formula could give away that of the key.
    """
    try:
        value = evaluate(written, {})
    except ExpressionError:
        return "an absolute distance"
    return format_distance(
        units.magnitude(value, unit if isinstance(value, Quantity) else ""), unit
    )
