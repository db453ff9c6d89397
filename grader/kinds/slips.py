"""Unit slips that are recognized automatically, such as GiB for GB."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from grader import units
from grader.model import Share
from grader.model.spec import Strict
from grader.units.quantity import NAMES, Value
from grader.units.table import BINARY, DECIMAL, INFORMATION, PREFIXED, SMALL, SYMBOLS, TIME

WIDEST = 0.005
"""Relative window, wide enough for an answer rounded to three digits."""
NARROW = 0.002
"""Window for ratios near 1: there are so many that a wider window would only guess."""

MOST = 10**9
"""Maximum number of devices that a total is divided among."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slips(Strict):
    """The credit for an answer whose only error is a known unit slip."""

    credit: Share = 0.0
    """The share of the part's points for an answer with a unit slip."""


@dataclass(frozen=True, slots=True)
class Slip:
    """A unit slip that explains the ratio of a value to the key."""

    ratio: float
    """The factor by which the slip multiplies the key."""
    id: str
    sentence: str
    window: float = WIDEST
    """The relative deviation from the ratio up to which the slip is recognized."""


def find_slip(
    value: float, key: float, *, unit: str, scope: Mapping[str, Value], width: float
) -> Slip | None:
    """Returns the slip that turns *key* into *value*; None if there is none.

    *width* is the relative half-width of the accepted interval. If two slips explain the same
    ratio, such as 8 GPUs and 8 bits, the sentence names both.
    """
    observed = value / key if key else 0.0
    if observed == 0 or not math.isfinite(observed):
        return None
    per_device = _find_device_count_slip(observed, scope, width)
    fitting = (s for s in slips_of_unit(unit) if _fits(observed, s.ratio, min(width, s.window)))
    of_units = next(fitting, None)
    if per_device and of_units:
        both = f"{per_device.sentence} Or: {of_units.sentence}"
        return Slip(observed, per_device.id, both)
    return per_device or of_units


def _fits(observed: float, ratio: float, width: float) -> bool:
    return abs(observed - ratio) <= (width + 1e-9) * ratio


# Names of counts that a total is divided among: n_gpus, gpus, world_size, tp_degree ...
_COUNTED = {
    "gpus": "GPUs",
    "devices": "devices",
    "ranks": "ranks",
    "workers": "workers",
    "nodes": "nodes",
    "replicas": "replicas",
    "stages": "stages",
    "shards": "shards",
    "tp": "tensor-parallel ranks",
    "dp": "data-parallel ranks",
    "pp": "pipeline stages",
}


def _find_device_count_slip(
    observed: float, scope: Mapping[str, Value], width: float
) -> Slip | None:
    """Returns the first slip between one device and all of them; None if none fits."""
    width = min(width, WIDEST)
    for name, count in scope.items():
        noun = _noun_of_count(name)
        if noun is None or isinstance(count, bool) or not isinstance(count, (int, float)):
            continue
        if not 2 <= count <= MOST or count % 1 != 0:
            continue
        total, single = f"all {int(count)} {noun} together", f"one of the {int(count)} {noun}"
        for ratio, answered, asked in (
            (count, total, "one"),
            (1 / count, single, "all of them together"),
        ):
            if _fits(observed, ratio, width):
                sentence = (
                    f"This looks like the value for {answered}, but the question asks for {asked}."
                )
                return Slip(ratio, "slip-per-gpu-total", sentence)
    return None


@lru_cache(maxsize=4096)
def _noun_of_count(name: str) -> str | None:
    """Returns what a parameter such as `n_gpus` counts; None if it is no count of devices."""
    words = ["ranks"] if name == "world_size" else name.casefold().split("_")
    return next((_COUNTED[word] for word in words if word in _COUNTED), None)


@lru_cache(maxsize=256)
def slips_of_unit(unit: str) -> tuple[Slip, ...]:
    """Returns the slips with different ratios that the unit allows, the most specific first."""
    slips: list[Slip] = []
    for slip in (*_iter_other_unit_slips(unit), *_iter_calculation_slips(unit)):
        if not any(math.isclose(slip.ratio, other.ratio, rel_tol=1e-6) for other in slips):
            slips.append(slip)
    return tuple(slips)


_TWINS = {"k": "Ki", "K": "Ki", "M": "Mi", "G": "Gi", "T": "Ti", "P": "Pi", "E": "Ei"}
_TWINS |= {binary: decimal for decimal, binary in _TWINS.items() if decimal != "K"}
_FIRST = re.compile(r"[^\s*·⋅/^]+")


def _split_unit(unit: str) -> tuple[str, str, str]:
    """Returns the prefix and the name of the first unit in *unit*, and the rest of it."""
    first = _FIRST.match(unit)
    prefix, base = PREFIXED.get(first[0], ("", "")) if first else ("", "")
    return prefix, base, unit[first.end() :] if first else ""


def _iter_other_unit_slips(unit: str) -> Iterator[Slip]:
    """Yields slips to another unit of the same dimension: GiB for GB, Gb for GB, MB for GB."""
    prefix, base, rest = _split_unit(unit)
    if not base:
        return
    twin = _TWINS.get(prefix)
    if SYMBOLS[base].dimension == INFORMATION:
        if twin and twin + base in SYMBOLS:
            yield from _iter_mixed_up_slips(unit, twin + base + rest, "slip-gib-gb")
        swapped = "B" if SYMBOLS[base].numerator == 1 else "b"
        yield from _iter_mixed_up_slips(unit, prefix + swapped + rest, "slip-bits-bytes")
    for other in ("", *DECIMAL, *SMALL, *BINARY):
        if other + base not in SYMBOLS:
            continue
        ratio = _ratio_of_units(unit, other + base + rest)
        if ratio != 1:
            yield from _factor_slips(ratio, "slip-prefix", _PREFIX)
    if SYMBOLS[base].dimension == TIME:
        for ratio in (60.0, 3600.0):
            yield from _factor_slips(ratio, "slip-time-unit", "check seconds, minutes, and hours")


def _ratio_of_units(asked: str, other: str) -> float:
    """Returns how many of the unit *other* make one *asked*; 1 if *other* is not a unit."""
    try:
        return units.parse_unit(asked).scale / units.parse_unit(other).scale
    except units.UnitError:  # too long, or too many powers
        return 1.0


def _iter_mixed_up_slips(asked: str, other: str, name: str) -> Iterator[Slip]:
    ratio = _ratio_of_units(asked, other)
    # Not "this is the value in": the answer may have had its own unit.
    sentence = f"{other} and {asked} seem to be mixed up; the question asks for {asked}."
    if ratio != 1:
        yield from (Slip(either, name, sentence) for either in (ratio, 1 / ratio))


_PREFIX = "check the prefix (kilo, mega, giga) of each unit"


def _factor_slips(ratio: float, name: str, hint: str) -> Iterator[Slip]:
    """Yields the slips of an answer that is *ratio* or 1 / *ratio* times the key."""
    for either in (ratio, 1 / ratio):
        yield Slip(either, name, f"This is {_factor_in_words(either)}: {hint}.")


def _factor_in_words(ratio: float) -> str:
    """Returns *ratio* in words, such as "1000 times too small" or "10^9 times too large"."""
    factor = round(max(ratio, 1 / ratio))
    text = f"10^{len(str(factor)) - 1}"
    if factor < 10**4 or factor != 10 ** (len(str(factor)) - 1):
        text = units.format_number(float(factor), 3)
    return f"{text} times too {'large' if ratio > 1 else 'small'}"


def _iter_calculation_slips(unit: str) -> Iterator[Slip]:
    """Yields slips with percentages and in intermediate values, which show only as a ratio."""
    if unit in ("%", "", "1"):
        ratio, wanted = (0.01, "a percentage") if unit == "%" else (100, "a plain number")
        yield next(_factor_slips(ratio, "slip-percent", f"the question asks for {wanted}"))
    measured = dict(zip(NAMES, units.parse_unit(unit).dimension, strict=True))
    if measured["information"] or (measured["time"] and not measured["computation"]):
        sentence = "Bits and bytes seem to be mixed up in the calculation."
        yield from (Slip(ratio, "slip-bits-bytes", sentence) for ratio in (8.0, 1 / 8))
    sentence = (
        "1000 and 1024 seem to be mixed up in the calculation: kB, MB, GB use 1000, "
        "KiB, MiB, GiB use 1024."
    )
    # A plain number or a percentage need not come from bytes at all.
    for power in (1, 2, 3, 4) if unit not in ("%", "", "1") else ():
        for ratio in (1.024**power, 1.024**-power):
            yield Slip(ratio, "slip-1000-1024", sentence, NARROW)
    for ratio in (1000.0, 1024.0):
        yield from _factor_slips(ratio, "slip-prefix", _PREFIX)
