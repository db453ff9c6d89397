"""All spellings of all units, with their values in base units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from grader.units.quantity import ONE, Dimension

INFORMATION: Dimension = (1, 0, 0, 0, 0, 0, 0, 0)
COMPUTATION: Dimension = (0, 1, 0, 0, 0, 0, 0, 0)
TOKEN: Dimension = (0, 0, 1, 0, 0, 0, 0, 0)
PARAM: Dimension = (0, 0, 0, 1, 0, 0, 0, 0)
SAMPLE: Dimension = (0, 0, 0, 0, 1, 0, 0, 0)
TIME: Dimension = (0, 0, 0, 0, 0, 1, 0, 0)
FREQUENCY: Dimension = (0, 0, 0, 0, 0, -1, 0, 0)
ENERGY: Dimension = (0, 0, 0, 0, 0, 0, 1, 0)
POWER: Dimension = (0, 0, 0, 0, 0, -1, 1, 0)
CURRENCY: Dimension = (0, 0, 0, 0, 0, 0, 0, 1)
BANDWIDTH: Dimension = (1, 0, 0, 0, 0, -1, 0, 0)
SPEED: Dimension = (0, 1, 0, 0, 0, -1, 0, 0)


class Measure(NamedTuple):
    """One unit: numerator / denominator base units of a dimension; integers, so exact."""

    numerator: int
    denominator: int
    dimension: Dimension


class _UnitFamily(NamedTuple):
    """A unit with its prefixes; the first spelling is used for printing."""

    spellings: str
    measure: Measure
    prefixes: str = ""
    words: str = ""
    """Spellings that take full prefixes, such as "gigabytes"."""


DECIMAL = {"k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18, "Z": 21}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
SMALL = {"m": 3, "u": 6, "µ": 6, "μ": 6, "n": 9, "p": 12}
_PREFIX_WORDS = """
kilo=k mega=M giga=G tera=T peta=P exa=E zetta=Z kibi=Ki mebi=Mi gibi=Gi tebi=Ti pebi=Pi exbi=Ei
milli=m micro=u nano=n pico=p
"""
_WORDS = dict(pair.split("=") for pair in _PREFIX_WORDS.split())

_BIG = "k M G T P E Z"
_SIZES = "k K M G T P E Ki Mi Gi Ti Pi Ei"

_FAMILIES = (
    _UnitFamily("B byte bytes Byte Bytes", Measure(8, 1, INFORMATION), _SIZES, "byte bytes"),
    _UnitFamily("bit bits b", Measure(1, 1, INFORMATION), _SIZES, "bit bits"),
    _UnitFamily("FLOP flop Flop", Measure(1, 1, COMPUTATION), _BIG, "flop"),
    _UnitFamily("OP op", Measure(1, 1, COMPUTATION), _BIG),
    _UnitFamily("token tokens tok toks", Measure(1, 1, TOKEN), "k M G T", "token tokens"),
    _UnitFamily("param params parameter parameters", Measure(1, 1, PARAM), "k M G T"),
    _UnitFamily("sample samples example examples", Measure(1, 1, SAMPLE), "k M"),
    _UnitFamily("image images sequence sequences request requests", Measure(1, 1, SAMPLE)),
    _UnitFamily("s sec secs second seconds", Measure(1, 1, TIME), "m u µ μ n p", "second seconds"),
    _UnitFamily("min mins minute minutes", Measure(60, 1, TIME)),
    _UnitFamily("h hr hrs hour hours GPU-h GPU-hour GPU-hours", Measure(3600, 1, TIME)),
    _UnitFamily("day days GPU-day GPU-days", Measure(86400, 1, TIME)),
    _UnitFamily("Hz hertz", Measure(1, 1, FREQUENCY), "k M G T", "hertz"),
    _UnitFamily("J joule joules", Measure(1, 1, ENERGY), "k M G T m u µ μ n p", "joule joules"),
    _UnitFamily("W watt watts", Measure(1, 1, POWER), "k M G m u µ μ n", "watt watts"),
    _UnitFamily(
        "Wh watt-hour watt-hours", Measure(3600, 1, ENERGY), "k M G", "watt-hour watt-hours"
    ),
    _UnitFamily("USD $ dollar dollars", Measure(1, 1, CURRENCY), "k M"),
    _UnitFamily("1", Measure(1, 1, ONE)),
    _UnitFamily("% percent", Measure(1, 100, ONE)),
)


def _apply_prefix(measure: Measure, prefix: str) -> Measure:
    """Returns the measure of a unit with a prefix, such as "k" or "Gi"."""
    top, bottom, dimension = measure
    if prefix in BINARY:
        return Measure(top << BINARY[prefix], bottom, dimension)
    if prefix in SMALL:
        return Measure(top, bottom * 10 ** SMALL[prefix], dimension)
    # "KB" is as common as "kB" and means 1000 bytes here, like "GB".
    return Measure(top * 10 ** DECIMAL[prefix.replace("K", "k")], bottom, dimension)


def _iter_spellings() -> Iterator[tuple[str, Measure, tuple[str, str]]]:
    """Yields each spelling, what it measures, and its prefix and base unit."""
    for family in _FAMILIES:
        for spelling in family.spellings.split():
            yield spelling, family.measure, ("", spelling)
            for prefix in family.prefixes.split():
                measure = _apply_prefix(family.measure, prefix)
                yield prefix + spelling, measure, (prefix, spelling)
        for word, prefix in _WORDS.items():
            if prefix in family.prefixes.split():
                measure = _apply_prefix(family.measure, prefix)
                for spelling in family.words.split():
                    yield word + spelling, measure, (prefix, spelling)


SYMBOLS: dict[str, Measure] = {}
PREFIXED: dict[str, tuple[str, str]] = {}
"""Each spelling's prefix as a letter, possibly empty, and its base unit."""
for _spelling, _measure, _parts in _iter_spellings():
    # The first meaning wins: "min" is a minute, never a milli-inch of a later family.
    SYMBOLS.setdefault(_spelling, _measure)
    PREFIXED.setdefault(_spelling, _parts)

# Spellings that expressions may use as names. Only a few, because authors can't use them as their
# own names: lower-case b for a batch or T for a sequence length stay free.
_NAMES = """
byte B kB MB GB TB PB EB KiB MiB GiB TiB PiB
bit kbit Mbit Gbit Tbit kb Mb Gb Tb Kibit Mibit Gibit
FLOP kFLOP MFLOP GFLOP TFLOP PFLOP EFLOP ZFLOP
token ktoken Mtoken Gtoken Ttoken param Mparam Gparam sample
s ms us ns ps min h day Hz kHz MHz GHz
J mJ uJ nJ pJ kJ MJ GJ W mW kW MW Wh kWh MWh USD
"""
NAMES = tuple(_NAMES.split())
# Candidates for suggestions; if two differ only in case, the later one is suggested.
SUGGESTED = ("bits", "bytes", "tokens", "params", "samples", "%", *reversed(NAMES))

# Default units for printing: the largest that leaves at least one digit before the decimal point.
FITTING: Mapping[Dimension, tuple[str, ...]] = {
    INFORMATION: ("bit", "B", "kB", "MB", "GB", "TB", "PB", "EB"),
    COMPUTATION: ("FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP", "ZFLOP"),
    TIME: ("ps", "ns", "us", "ms", "s", "h"),
    FREQUENCY: ("Hz", "kHz", "MHz", "GHz"),
    ENERGY: ("pJ", "nJ", "uJ", "mJ", "J", "kJ", "MJ", "GJ"),
    POWER: ("mW", "W", "kW", "MW"),
    TOKEN: ("token",),
    PARAM: ("param",),
    SAMPLE: ("sample",),
    CURRENCY: ("USD",),
    BANDWIDTH: ("bit/s", "B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"),
    SPEED: (*("FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s", "EFLOP/s"),),
    (-1, 1, 0, 0, 0, 0, 0, 0): ("FLOP/B",),
    (1, -1, 0, 0, 0, 0, 0, 0): ("B/FLOP",),
    (0, 0, 1, 0, 0, -1, 0, 0): ("token/s",),
    (0, 0, 0, 0, 1, -1, 0, 0): ("sample/s",),
    (1, 0, -1, 0, 0, 0, 0, 0): ("bit/token", "B/token", "kB/token", "MB/token", "GB/token"),
    (1, 0, 0, -1, 0, 0, 0, 0): ("bit/param", "B/param"),
    (1, 0, 0, 0, -1, 0, 0, 0): ("B/sample", "kB/sample", "MB/sample", "GB/sample"),
    (0, 1, -1, 0, 0, 0, 0, 0): ("FLOP/token", "MFLOP/token", "GFLOP/token", "TFLOP/token"),
    (0, 0, -1, 0, 0, 0, 1, 0): ("mJ/token", "J/token", "kJ/token"),
    (0, 0, 0, 0, 0, -1, 0, 1): ("USD/h",),
    (0, 0, -1, 0, 0, 0, 0, 1): ("USD/Mtoken",),
    (0, 1, 0, 0, 0, 0, -1, 0): ("FLOP/J", "MFLOP/J", "GFLOP/J", "TFLOP/J"),
    (1, 0, 0, 0, 0, 0, -1, 0): ("B/J", "kB/J", "MB/J", "GB/J"),
}
