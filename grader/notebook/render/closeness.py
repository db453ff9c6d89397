"""What a notebook says about how close to the key a number must be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from grader import units
from grader.kinds.numeric import Integer, NumberPart
from grader.kinds.table import Table
from grader.kinds.tolerance import EXACT
from grader.model import Part, Tolerance


def common_tolerance(parts: Collection[Part]) -> Tolerance | None:
    """Returns the relative tolerance that most numbers of *parts* have; None if there is none."""
    rules = Counter(rule for part in parts for rule in _rules(part))
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
    rules = _rules(part, with_integers=True)
    if not _differs_from(part, common):
        return ""
    if len(set(rules)) == 1:
        return f"accepted {_describe(rules[0])}"
    return "; ".join(f"{t}: {_describe(rule)}" for t, rule in zip(titles, rules, strict=False))


def _differs_from(part: Part, common: Tolerance | None) -> bool:
    expected = EXACT if isinstance(part, Integer) else common
    return any(rule != expected for rule in _rules(part, with_integers=True))


def _rules(part: Part, *, with_integers: bool = False) -> tuple[Tolerance, ...]:
    """Returns the tolerance of each column of a table, or of the number, without its reason."""
    if isinstance(part, Table):
        return tuple(replace(column.tolerance, because=None) for column in part.columns)
    if isinstance(part, NumberPart) and (with_integers or not isinstance(part, Integer)):
        return (replace(part.tolerance, because=None),)
    return ()


def _describe(rule: Tolerance) -> str:
    """Returns a tolerance in words, such as "within 1%"."""
    if rule == EXACT:
        return "exactly"
    limits = []
    if rule.relative is not None:
        limits.append(f"within {units.format_number(100 * rule.relative, 3)}%")
    if rule.absolute is not None:
        width = rule.absolute
        shown = units.format_number(width) if isinstance(width, (int, float)) else width
        limits.append(f"within {shown}")
    if rule.significant_figures is not None:
        limits.append(f"to {rule.significant_figures} significant figures")
    if rule.factor is not None:
        limits.append(f"within a factor of {units.format_number(rule.factor)}")
    if rule.input_rounding is not None:
        limits.append("as exactly as the given numbers allow")
    return " or ".join(limits)
