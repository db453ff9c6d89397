"""Unit slips that are recognized automatically, such as GiB for GB."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from grader import units
from grader.model import Share
from grader.model.spec import STRICT
from grader.units.quantity import NAMES, Value
from grader.units.table import BINARY, DECIMAL, INFORMATION, PREFIXED, SMALL, SYMBOLS, TIME

WIDEST = 0.005
"""Relative window, wide enough for an answer rounded to three digits."""
NARROW = 0.002
"""Window for ratios near 1: there are so many that a wider window would only guess."""

MOST = 10**9
"""Maximum number of devices that a total is divided among."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slips:
    """The credit for an answer whose only error is a known unit slip."""

    __pydantic_config__: ClassVar[dict[str, object]] = STRICT

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
    if key == 0 or value == 0:
        return None
    observed = value / key
    if not math.isfinite(observed):
        return None
    per_device = _device_count_slip(observed, scope, width)
    of_units = _unit_slip(observed, unit, width)
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


def _device_count_slip(observed: float, scope: Mapping[str, Value], width: float) -> Slip | None:
    """Returns the first slip that takes one device for all of them, or all for one."""
    width = min(width, WIDEST)
    for name, count in scope.items():
        noun = _noun_of_count(name)
        if noun is None or isinstance(count, bool) or not isinstance(count, (int, float)):
            continue
        if not 2 <= count <= MOST or count % 1 != 0:
            continue
        if _fits(observed, count, width):
            return Slip(
                count,
                "slip-per-gpu-total",
                f"This looks like the value for all {int(count)} {noun} together, "
                "but the question asks for one.",
            )
        if _fits(observed, 1 / count, width):
            return Slip(
                1 / count,
                "slip-per-gpu-total",
                f"This looks like the value for one of the {int(count)} {noun}, "
                "but the question asks for all of them together.",
            )
    return None


@lru_cache(maxsize=4096)
def _noun_of_count(name: str) -> str | None:
    if name == "world_size":
        return "ranks"
    for word in name.casefold().split("_"):
        if word in _COUNTED:
            return _COUNTED[word]
    return None


def _unit_slip(observed: float, unit: str, width: float) -> Slip | None:
    """Returns the most specific matching slip of the unit."""
    fitting = (s for s in slips_of_unit(unit) if _fits(observed, s.ratio, min(width, s.window)))
    return next(fitting, None)


@lru_cache(maxsize=256)
def slips_of_unit(unit: str) -> tuple[Slip, ...]:
    """Returns all slips that the unit alone allows, the most specific first."""
    found = [
        *_other_unit_slips(unit),
        *_time_slips(unit),
        *_percent_slips(unit),
        *_intermediate_slips(unit),
    ]
    unlike: list[Slip] = []
    for slip in found:
        if not any(math.isclose(slip.ratio, other.ratio, rel_tol=1e-6) for other in unlike):
            unlike.append(slip)
    return tuple(unlike)


_TWINS = {"k": "Ki", "K": "Ki", "M": "Mi", "G": "Gi", "T": "Ti", "P": "Pi", "E": "Ei"}
_TWINS |= {binary: decimal for decimal, binary in _TWINS.items() if decimal != "K"}
_FIRST = re.compile(r"[^\s*·⋅/^]+")


def _split_unit(unit: str) -> tuple[str, str, str]:
    """Returns the prefix and the name of the first unit in *unit*, and the rest of it."""
    first = _FIRST.match(unit)
    prefix, base = PREFIXED.get(first[0], ("", "")) if first else ("", "")
    return prefix, base, unit[first.end() :] if first else ""


def _other_unit_slips(unit: str) -> Iterator[Slip]:
    """Yields slips to another unit of the same dimension: GiB for GB, Gb for GB, MB for GB."""
    prefix, base, rest = _split_unit(unit)
    if not base:
        return
    twin = _TWINS.get(prefix)
    if SYMBOLS[base].dimension == INFORMATION:
        if twin and twin + base in SYMBOLS:
            yield from _mixed_up_slips(unit, twin + base + rest, "slip-gib-gb")
        swapped = "B" if SYMBOLS[base].numerator == 1 else "b"
        yield from _mixed_up_slips(unit, prefix + swapped + rest, "slip-bits-bytes")
    for other in ("", *DECIMAL, *SMALL, *BINARY):
        if other + base not in SYMBOLS:
            continue
        ratio = _ratio_of_units(unit, other + base + rest)
        if ratio != 1:
            yield _prefix_slip(ratio)
            yield _prefix_slip(1 / ratio)


def _ratio_of_units(asked: str, other: str) -> float:
    """Returns how many of *other* one *asked* is; 1 if *other* can't be written."""
    try:
        return units.parse_unit(asked).scale / units.parse_unit(other).scale
    except units.UnitError:  # too long, or too many powers
        return 1.0


def _mixed_up_slips(asked: str, other: str, name: str) -> Iterator[Slip]:
    ratio = _ratio_of_units(asked, other)
    if ratio == 1:
        return
    # Not "this is the value in": the answer may have had its own unit.
    sentence = f"{other} and {asked} seem to be mixed up; the question asks for {asked}."
    yield Slip(ratio, name, sentence)
    yield Slip(1 / ratio, name, sentence)


def _prefix_slip(ratio: float) -> Slip:
    sentence = (
        f"This is {_factor_in_words(ratio)}: check the prefix (kilo, mega, giga) of each unit."
    )
    return Slip(ratio, "slip-prefix", sentence)


def _factor_in_words(ratio: float) -> str:
    """Returns how far off that is, such as "1000 times too small" or "10^9 times too large"."""
    factor = round(max(ratio, 1 / ratio))
    text = f"10^{len(str(factor)) - 1}"
    if factor < 10**4 or factor != 10 ** (len(str(factor)) - 1):
        text = units.format_number(float(factor), 3)
    return f"{text} times too {'large' if ratio > 1 else 'small'}"


def _time_slips(unit: str) -> Iterator[Slip]:
    _, base, _ = _split_unit(unit)
    if base and SYMBOLS[base].dimension == TIME:
        for ratio in (60.0, 1 / 60, 3600.0, 1 / 3600):
            sentence = f"This is {_factor_in_words(ratio)}: check seconds, minutes, and hours."
            yield Slip(ratio, "slip-time-unit", sentence)


def _percent_slips(unit: str) -> Iterator[Slip]:
    if unit == "%":
        yield Slip(
            0.01,
            "slip-percent",
            f"This is {_factor_in_words(0.01)}: the question asks for a percentage.",
        )
    elif unit in ("", "1"):
        yield Slip(
            100,
            "slip-percent",
            f"This is {_factor_in_words(100)}: the question asks for a plain number.",
        )


def _intermediate_slips(unit: str) -> Iterator[Slip]:
    """Yields slips in intermediate values, which show only as a ratio."""
    measured = dict(zip(NAMES, units.parse_unit(unit).dimension, strict=True))
    if measured["information"] or (measured["time"] and not measured["computation"]):
        for ratio in (8.0, 1 / 8):
            yield Slip(
                ratio, "slip-bits-bytes", "Bits and bytes seem to be mixed up in the calculation."
            )
    for power in (1, 2, 3, 4):
        for ratio in (1.024**power, 1.024**-power):
            sentence = (
                "1000 and 1024 seem to be mixed up in the calculation: kB, MB, GB use 1000, "
                "KiB, MiB, GiB use 1024."
            )
            yield Slip(ratio, "slip-1000-1024", sentence, NARROW)
    for ratio in (1000.0, 1 / 1000, 1024.0, 1 / 1024):
        yield _prefix_slip(ratio)
