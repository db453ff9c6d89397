"""Every spelling of every unit, and what it stands for in base units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
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


class Measure(NamedTuple):
    """One unit: numerator / denominator base units of a dimension; integers, so exact."""

    numerator: int
    denominator: int
    dimension: Dimension


class _Family(NamedTuple):
    """A unit with the prefixes it takes; the first spelling is the one we print."""

    spellings: str
    measure: Measure
    prefixes: str = ""
    words: str = ""
    """Spellings that take a prefix in full, such as "gigabytes"."""


DECIMAL = {"k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18, "Z": 21}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
SMALL = {"m": 3, "u": 6, "µ": 6, "μ": 6, "n": 9, "p": 12}
_WORDS = {
    "kilo": "k",
    "mega": "M",
    "giga": "G",
    "tera": "T",
    "peta": "P",
    "exa": "E",
    "zetta": "Z",
    "kibi": "Ki",
    "mebi": "Mi",
    "gibi": "Gi",
    "tebi": "Ti",
    "pebi": "Pi",
    "exbi": "Ei",
    "milli": "m",
    "micro": "u",
    "nano": "n",
    "pico": "p",
}

_BIG = "k M G T P E Z"
_SIZES = "k K M G T P E Ki Mi Gi Ti Pi Ei"

_FAMILIES = (
    _Family("B byte bytes Byte Bytes", Measure(8, 1, INFORMATION), _SIZES, "byte bytes"),
    _Family("bit bits b", Measure(1, 1, INFORMATION), _SIZES, "bit bits"),
    _Family("FLOP flop Flop", Measure(1, 1, COMPUTATION), _BIG, "flop"),
    _Family("OP op", Measure(1, 1, COMPUTATION), _BIG),
    _Family("token tokens tok toks", Measure(1, 1, TOKEN), "k M G T", "token tokens"),
    _Family("param params parameter parameters", Measure(1, 1, PARAM), "k M G T"),
    _Family("sample samples example examples", Measure(1, 1, SAMPLE), "k M"),
    _Family("image images sequence sequences request requests", Measure(1, 1, SAMPLE)),
    _Family("s sec secs second seconds", Measure(1, 1, TIME), "m u µ μ n p", "second seconds"),
    _Family("min mins minute minutes", Measure(60, 1, TIME)),
    _Family("h hr hrs hour hours GPU-h GPU-hour GPU-hours", Measure(3600, 1, TIME)),
    _Family("day days GPU-day GPU-days", Measure(86400, 1, TIME)),
    _Family("Hz hertz", Measure(1, 1, FREQUENCY), "k M G T", "hertz"),
    _Family("J joule joules", Measure(1, 1, ENERGY), "k M G T m u µ μ n p", "joule joules"),
    _Family("W watt watts", Measure(1, 1, POWER), "k M G m u µ μ n", "watt watts"),
    _Family(
        "Wh watt-hour watt-hours",
        Measure(3600, 1, ENERGY),
        "k M G",
        "watt-hour watt-hours",
    ),
    _Family("USD $ dollar dollars", Measure(1, 1, CURRENCY), "k M"),
    _Family("1", Measure(1, 1, ONE)),
    _Family("% percent", Measure(1, 100, ONE)),
)


def _scaled(measure: Measure, prefix: str) -> Measure:
    top, bottom, dimension = measure
    if prefix in BINARY:
        return Measure(top << BINARY[prefix], bottom, dimension)
    if prefix in SMALL:
        return Measure(top, bottom * 10 ** SMALL[prefix], dimension)
    # "KB" is written as often as "kB" and, like "GB", counts in thousands here.
    return Measure(top * 10 ** DECIMAL[prefix.replace("K", "k")], bottom, dimension)


class _Spelled(NamedTuple):
    measure: Measure
    prefix: str
    base: str


def _spelled() -> Iterator[tuple[str, _Spelled]]:
    for family in _FAMILIES:
        prefixes = family.prefixes.split()
        for spelling in family.spellings.split():
            yield spelling, _Spelled(family.measure, "", spelling)
            for prefix in prefixes:
                measure = _scaled(family.measure, prefix)
                yield prefix + spelling, _Spelled(measure, prefix, spelling)
        for word, prefix in _WORDS.items():
            if prefix in prefixes:
                for spelling in family.words.split():
                    measure = _scaled(family.measure, prefix)
                    yield word + spelling, _Spelled(measure, prefix, spelling)


def _without_repeats() -> dict[str, _Spelled]:
    symbols: dict[str, _Spelled] = {}
    for spelling, spelled in _spelled():
        # The first meaning holds: "min" is a minute, never a milli-inch of a later family.
        symbols.setdefault(spelling, spelled)
    return symbols


_ALL = _without_repeats()
SYMBOLS: Mapping[str, Measure] = MappingProxyType({text: s.measure for text, s in _ALL.items()})
PREFIXED: Mapping[str, tuple[str, str]] = MappingProxyType(
    {text: (s.prefix, s.base) for text, s in _ALL.items()}
)
"""Every spelling's prefix as a letter, which may be empty, and what it stands before."""

# The spellings that expressions may use as names. Few, because each is taken from the authors:
# lower-case b for a batch, or T for a sequence length, stay theirs.
_NAMES = """
byte B kB MB GB TB PB EB KiB MiB GiB TiB PiB
bit kbit Mbit Gbit Tbit kb Mb Gb Tb Kibit Mibit Gibit
FLOP kFLOP MFLOP GFLOP TFLOP PFLOP EFLOP ZFLOP
token ktoken Mtoken Gtoken Ttoken param Mparam Gparam sample
s ms us ns ps min h day Hz kHz MHz GHz
J mJ uJ nJ pJ kJ MJ GJ W mW kW MW Wh kWh MWh USD
"""
NAMES = tuple(_NAMES.split())
# What suggestions are made from; of two that differ in case only, the later one is suggested.
SUGGESTED = ("bits", "bytes", "tokens", "params", "samples", "%", *reversed(NAMES))

# What a quantity is printed in when nobody says: the largest that leaves one digit or more.
FITTING: Mapping[Dimension, tuple[str, ...]] = MappingProxyType(
    {
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
        (1, 0, 0, 0, 0, -1, 0, 0): ("bit/s", "B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"),
        (0, 1, 0, 0, 0, -1, 0, 0): (
            *("FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s", "EFLOP/s"),
        ),
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
)
