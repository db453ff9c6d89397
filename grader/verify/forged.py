"""The check of properties: if they alone decide, they must refuse forged results."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from grader.kinds.attempts import CodeKey
from grader.kinds.hidden.compare import as_scalar
from grader.kinds.hidden.kept_cases import HiddenCase
from grader.model.grouping import group_by_key
from grader.verify.case import Case, Finding
from grader.verify.code import right_calls, runnable_parts
from grader.wire import encoding
from grader.wire.values import decode_result

MOST_CASES = 8
"""Cases of a part that are examined, spread over all groups."""
MOST_PLACES = 12
"""Limit on the arrays, numbers, and lists replaced in one result."""
_HUGE = 10**12
"""Larger than any count in a result."""

Raw = Mapping[str, Any]
"""A result as encoded by `grader.wire.calls`."""
Step = tuple[int, str]
"""The index of an item in a list or dict, and its key in a dict."""
Place = tuple[Step, ...]


class Forgery(NamedTuple):
    """What was replaced and by what, in words."""

    where: str
    how: str
    always: bool
    """Whether it is wrong in every case; otherwise it is wrong in at least one."""


def check_properties(case: Case) -> Iterator[Finding]:
    """Yields a finding for each forged result that passes a part where properties alone decide."""
    for part_id, key, kind in runnable_parts(case):
        try:
            cases = _choose_cases(_cases_of_properties(key)) if key.solution_functions.get() else ()
            calls = right_calls(kind, key, case)[len(key.examples) :] if cases else ()
        except (Exception, SystemExit):  # noqa: BLE001, S112 - reported by the check of implementations
            continue
        results = dict(zip((one.call for one in key.cases), calls, strict=False))
        for what, fix in _passing_forgeries(key, [(one, results[one.call]) for one in cases]):
            yield case.part_finding("properties", part_id, what, fix)


def _passing_forgeries(
    key: CodeKey, results: Sequence[tuple[HiddenCase, Mapping[str, Any]]]
) -> Iterator[tuple[str, str]]:
    """Yields a description of each forged result that passes but should not, with a fix."""
    passing: dict[Forgery, list[str]] = {}
    refused: set[Forgery] = set()
    expected = dict(zip(key.cases, key.expected_results, strict=True))
    for case, result in results:
        if result["is"] != "returned":
            raised = result.get("type")
            yield (
                f"the reference raises {raised} where properties alone decide ({case.group} cases)",
                "declare that exception as the expected result of the case, or fix the reference",
            )
            return
        for forgery, raw in _iter_forgeries(result["v"]):
            groups = passing.setdefault(forgery, [])
            if _passes(key, case, raw, expected[case]):
                groups.append(case.group)
            else:
                refused.add(forgery)
    holds = f"{key.part.id}_holds"
    for forgery, groups in sorted(passing.items(), key=lambda one: not one[0].always):
        where, how, always = forgery
        if not groups:
            continue
        if always:
            yield (
                f"a result in which {where} is {how} passes ({groups[0]} cases)",
                f"make '{holds}', or '{key.part.id}_form' if defined, refuse it in every case",
            )
        elif forgery not in refused:
            yield (
                f"a result in which {where} is {how} passes in every case",
                f"make '{holds}' compare it with the right value, or leave it out of the result",
            )


def _passes(key: CodeKey, case: HiddenCase, raw: Raw, want: Mapping[str, object]) -> bool:
    """Returns whether a student's result *raw* would pass, by properties alone."""
    try:
        decode_result(raw)
    except ValueError:
        return False
    return key.find_broken_property(case, raw, want) is None


def _cases_of_properties(key: CodeKey) -> Sequence[HiddenCase]:
    """Returns the cases that only properties judge, without repetitions."""
    cases = zip(key.cases, key.expected_results, strict=True)
    return [c for c, want in cases if "form" in want and not c.again]


def _choose_cases(cases: Sequence[HiddenCase]) -> Sequence[HiddenCase]:
    """Returns a few cases: the last of each group, which is seldom an edge case, then earlier
    ones."""
    groups = group_by_key((case.group, case) for case in cases)
    rounds = range(max(map(len, groups.values()), default=0))
    turns = (g[-1 - turn] for turn in rounds for g in groups.values() if turn < len(g))
    return list(islice(turns, MOST_CASES))


def _iter_forgeries(raw: Raw) -> Iterator[tuple[Forgery, Raw]]:
    """Yields each copy of the result *raw* with one replaced item, and what was replaced."""
    for place, item in islice(_iter_places((), raw), MOST_PLACES):
        in_dicts = all(key for _, key in place)
        for how, replacement, always in _iter_replacements(item, alone=in_dicts):
            if replacement != item:
                forgery = Forgery(_describe_place(place), how, always)
                yield forgery, _replace_item(raw, place, replacement)


def _iter_places(place: Place, raw: Raw) -> Iterator[tuple[Place, Raw]]:
    """Yields all replaceable items of an encoded result; of lists, the first and the last item."""
    values = raw.get("v", ())
    if raw["t"] == "dict":
        for index, (key, one) in enumerate(values):
            yield from _iter_places((*place, (index, f"{key.get('v')!r}")), one)
    elif raw["t"] in ("list", "tuple"):
        yield place, raw
        for index in sorted({0, len(values) - 1} if values else ()):
            yield from _iter_places((*place, (index, "")), values[index])
    elif raw["t"] in ("array", "tensor", "int", "float"):
        yield place, raw


def _iter_replacements(raw: Raw, *, alone: bool) -> Iterator[tuple[str, Raw, bool]]:
    """Yields replacements for *raw*: a description, the value, and whether it is wrong in every
    case."""
    if raw["t"] in ("list", "tuple"):
        yield "empty", {**raw, "v": []}, False
        return
    if raw.get("shape"):
        yield from _iter_array_replacements(raw)
        return
    number = as_scalar(decode_result(raw))
    if isinstance(number, (int, float)) and not isinstance(number, bool):
        sort = float if raw["t"] == "float" else int
        yield "NaN", encoding.encode_result(math.nan), True
        yield "infinite", encoding.encode_result(math.inf), True
        yield "-1", encoding.encode_result(sort(-1)), alone and number >= 0
        # Each may be a valid count, but a check that looks at the count refuses one of the two.
        yield f"0 or {_HUGE:.0e}", encoding.encode_result(sort(0)), False
        yield f"0 or {_HUGE:.0e}", encoding.encode_result(sort(_HUGE)), False


def _iter_array_replacements(raw: Raw) -> Iterator[tuple[str, Raw, bool]]:
    """Yields replacements for an array, as `_iter_replacements` does."""
    import numpy as np

    shape, data = raw["shape"], base64.b64decode(raw["v"])
    size = math.prod(shape)
    yield "an empty array", {**raw, "shape": [0, *shape], "v": ""}, True
    yield "a column of its numbers", {**raw, "shape": [size, 1]}, True
    yield "a row of its numbers", {**raw, "shape": [1, size]}, True
    dtype = raw["dtype"] if raw["dtype"] in ("float16", "float32") else "float64"
    if size:
        nothing = base64.b64encode(np.full(size, np.nan, dtype).tobytes()).decode()
        yield "full of NaN", {**raw, "dtype": dtype, "v": nothing}, True
    yield "full of zeros", {**raw, "v": base64.b64encode(bytes(len(data))).decode()}, False


def _replace_item(raw: Raw, place: Place, another: Raw) -> Raw:
    """Returns a copy of *raw* with *another* at *place*."""
    if not place:
        return another
    (index, key), *rest = place
    values = list(raw["v"])
    if key:
        values[index] = [values[index][0], _replace_item(values[index][1], tuple(rest), another)]
    else:
        values[index] = _replace_item(values[index], tuple(rest), another)
    return {**raw, "v": values}


def _describe_place(place: Place) -> str:
    """Returns a description of a place, which is the same for all items of a list."""
    name = "the result"
    for _, key in place:
        name = f"{key} of {name}" if key else f"an item of {name}"
    return name
