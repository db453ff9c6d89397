"""Unit slips that are recognised without an author listing them, such as GiB for GB."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from grader import units
from grader.model import Share
from grader.model.spec import STRICT
from grader.quantity import NAMES, Value

WIDEST = 0.005
"""Relative; wide enough for an answer rounded to three digits."""
NARROW = 0.002
"""For ratios near 1, of which there are so many that a wider window would only guess."""

MOST = 10**9
"""Of devices; what is larger counts nothing that a total is shared over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slips:
    """What an answer keeps whose only fault is a known unit slip."""

    __pydantic_config__: ClassVar[dict[str, object]] = STRICT

    credit: Share = 0.0
    """The share of the part's points that a slip keeps."""


@dataclass(frozen=True, slots=True)
class Slip:
    """A slip that explains how a value relates to the key."""

    ratio: float
    """What the slip multiplies the key with."""
    id: str
    sentence: str
    window: float = WIDEST
    """How far from the ratio, relatively, it is still recognised."""


def find(
    value: float, key: float, *, unit: str, scope: Mapping[str, Value], width: float
) -> Slip | None:
    """The slip that turns *key* into *value*, or None when none does.

    *width* is the relative half-width of the accepted interval. When two slips explain the same
    ratio, such as 8 GPUs and 8 bits, the sentence names both.
    """
    if key == 0 or value == 0:
        return None
    observed = value / key
    if not math.isfinite(observed):
        return None

    def fits(slip: Slip) -> bool:
        return abs(observed - slip.ratio) <= (min(width, slip.window) + 1e-9) * slip.ratio

    per_device = next(filter(fits, _counts(scope)), None)
    of_units = next(filter(fits, of_unit(unit)), None)
    if per_device and of_units:
        both = f"{per_device.sentence} Or: {of_units.sentence}"
        return Slip(observed, per_device.id, both)
    return per_device or of_units


# Names of counts over which a total is shared: n_gpus, gpus, world_size, tp_degree ...
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


def _counts(scope: Mapping[str, Value]) -> Iterator[Slip]:
    for name, count in scope.items():
        if isinstance(count, bool) or not isinstance(count, (int, float)):
            continue
        noun = _noun(name)
        if noun is None or not 2 <= count <= MOST or count % 1 != 0:
            continue
        yield Slip(
            count,
            "slip-per-gpu-total",
            f"This looks like the value for all {int(count)} {noun} together; "
            "the value for one was asked.",
        )
        yield Slip(
            1 / count,
            "slip-per-gpu-total",
            f"This looks like the value for one of the {int(count)} {noun}; "
            "the value for all together was asked.",
        )


def _noun(name: str) -> str | None:
    if name == "world_size":
        return "ranks"
    for word in name.casefold().split("_"):
        if word in _COUNTED:
            return _COUNTED[word]
    return None


@lru_cache(maxsize=256)
def of_unit(unit: str) -> tuple[Slip, ...]:
    """Every slip that the asked unit alone allows, the most telling first."""
    found = [*_alternatives(unit), *_clock(unit), *_percent(unit), *_generic(unit)]
    unlike: list[Slip] = []
    for slip in found:
        if not any(math.isclose(slip.ratio, other.ratio, rel_tol=1e-6) for other in unlike):
            unlike.append(slip)
    return tuple(unlike)


_PREFIXES = {
    "bits": (",k,M,G,T,P", ",Ki,Mi,Gi,Ti,Pi"),
    "time": ("n,u,m,",),
    "other": (",k,M,G,T,P",),
}
_BINARY = {"k": "Ki", "M": "Mi", "G": "Gi", "T": "Ti", "P": "Pi"}
_TWINS = {**_BINARY, **{binary: decimal for decimal, binary in _BINARY.items()}}
_BASES = {"B": "bits", "b": "bits", "bit": "bits", "s": "time"}
_LEADING = re.compile(r"(Ki|Mi|Gi|Ti|Pi|k|M|G|T|P|m|u|µ|n)??(B|bit|b|FLOP|s|Hz|W|J)(?![A-Za-z])")


def _alternatives(unit: str) -> Iterator[Slip]:
    """The value in another unit of the same dimension: GiB for GB, Gb for GB, MB for GB."""
    match = _LEADING.match(unit)
    if match is None:
        return
    prefix, base, rest = (match[1] or "").replace("µ", "u"), match[2], unit[match.end() :]
    twin = _TWINS.get(prefix)
    if _BASES.get(base) == "bits":
        if twin:
            yield from _exchanged(unit, twin + base + rest, "slip-gib-gb")
        swapped = "b" if base == "B" else "B"
        yield from _exchanged(unit, prefix + swapped + rest, "slip-bits-bytes")
    for other in _neighbours(prefix, twin, _PREFIXES[_BASES.get(base, "other")]):
        yield from _given_in(unit, other + base + rest, "slip-prefix")


def _neighbours(prefix: str, twin: str | None, ladders: Sequence[str]) -> Iterator[str]:
    """The prefixes a step above and below on each ladder, and none at all."""
    for ladder in ladders:
        steps = ladder.split(",")
        at = next((steps.index(p) for p in (prefix, twin) if p in steps), None)
        if at is not None:
            yield from steps[max(0, at - 1) : at]
            yield from steps[at + 1 : at + 2]
    if prefix:
        yield ""


def _exchanged(asked: str, other: str, name: str) -> Iterator[Slip]:
    for slip in _given_in(asked, other, name):
        yield slip
        yield Slip(1 / slip.ratio, name, f"{asked} and {other} are exchanged.")


def _given_in(asked: str, other: str, name: str) -> Iterator[Slip]:
    try:
        ratio = units.unit(asked).scale / units.unit(other).scale
    except units.UnitError:
        return  # not every prefix goes with every unit
    if ratio != 1:
        yield Slip(ratio, name, f"This is the value in {other}; {asked} was asked.")


def _clock(unit: str) -> Iterator[Slip]:
    match = re.match(r"(s|min|h)(?![A-Za-z])", unit)
    for other in ("s", "min", "h") if match else ():
        if match and other != match[1]:
            yield from _given_in(unit, other + unit[match.end() :], "slip-time-unit")


def _percent(unit: str) -> Iterator[Slip]:
    if unit == "%":
        yield Slip(0.01, "slip-percent", "This is the plain fraction; a percentage was asked.")
    elif unit in ("", "1"):
        yield Slip(100, "slip-percent", "This is the percentage; a plain number was asked.")


def _generic(unit: str) -> Iterator[Slip]:
    """Slips in what the answer was computed from, which show only as a ratio."""
    measured = dict(zip(NAMES, units.unit(unit).dimension, strict=True))
    if measured["information"] or (measured["time"] and not measured["computation"]):
        for ratio in (8.0, 1 / 8):
            yield Slip(ratio, "slip-bits-bytes", "Bits and bytes seem to be exchanged on the way.")
    for power in (1, 2, 3, 4):
        for ratio in (1.024**power, 1.024**-power):
            sentence = (
                "1000 and 1024 seem to be exchanged on the way: kB, MB, GB count by 1000, "
                "KiB, MiB, GiB by 1024."
            )
            yield Slip(ratio, "slip-1000-1024", sentence, NARROW)
    for ratio in (1000.0, 1 / 1000, 1024.0, 1 / 1024):
        sentence = "A prefix such as kilo, mega or giga seems to be lost or added on the way."
        yield Slip(ratio, "slip-prefix", sentence)
