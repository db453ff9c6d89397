"""Parsing the text of a unit, such as "TFLOP/s"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from grader.registry import nearest
from grader.units import notation
from grader.units.quantity import ONE, Dimension
from grader.units.table import BANDWIDTH, INFORMATION, SPEED, SUGGESTED, SYMBOLS, Measure

MAX_LENGTH = 40
_MAX_SCALE = 10**60
_MAX_POWER = 4


class UnitError(ValueError):
    """A text is not a known unit. `fix` says what to write instead."""

    def __init__(self, what: str, fix: str | None = None):
        super().__init__(what, fix)
        self.what = what
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.what} ({self.fix})" if self.fix else self.what


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit as written: numerator / denominator base units of a dimension."""

    text: str
    numerator: int
    denominator: int
    dimension: Dimension

    @property
    def scale(self) -> float:
        """How many base units one of this unit is."""
        return self.numerator / self.denominator


def shorten(text: str, length: int = 32) -> str:
    """Returns *text* shortened and without control characters, for error messages."""
    safe = "".join(c if c.isprintable() else "?" for c in text[:length])
    return f"{safe}..." if len(text) > length else safe


@lru_cache(maxsize=4096)
def parse_unit(text: str, expected: Dimension | None = None) -> Unit:
    """Returns the unit that *text* names; "" and "1" are the unit of a plain number.

    FLOPS may be a count or a speed: it is a speed if the unit then has the *expected* dimension,
    else a count, and without *expected* an error. Raises UnitError with a suggestion.

    >>> parse_unit("GB/s").scale
    8000000000.0
    """
    count = _parse_factors(text, None if expected is None else 0)
    if expected in (None, count.dimension):
        return count
    speed = _parse_factors(text, -1)
    return speed if speed.dimension == expected else count


def _parse_factors(text: str, flops: int | None) -> Unit:
    """Returns the unit in *text*.

    *flops* is the power of time in FLOPS: 0 for a count, -1 for a speed; if None, FLOPS raises
    UnitError.
    """
    if len(text) > MAX_LENGTH:
        raise UnitError("the unit is too long", "write it like 'GB/s'")
    written = text.strip()
    top, bottom, dimension = 1, 1, list(ONE)
    for sign, symbol, power in _split_unit(written):
        measure = _find_measure(symbol, flops)
        exponent = sign * power
        up, down = (measure[0], measure[1]) if exponent > 0 else (measure[1], measure[0])
        top *= up ** abs(exponent)
        bottom *= down ** abs(exponent)
        dimension = [d + exponent * m for d, m in zip(dimension, measure.dimension, strict=True)]
    if max(top, bottom) > _MAX_SCALE:
        raise UnitError(f"'{shorten(written)}' has exponents that are too large for a unit")
    return Unit("" if written == "1" else written, top, bottom, tuple(dimension))  # type: ignore[arg-type]


_PER = re.compile(notation.PER, re.IGNORECASE)
_SEPARATOR = re.compile(r"\s*([*·⋅/])\s*")
_FACTOR = re.compile(r"([^\d^*/]+|1)(?:\^([+-]?\d))?")


def _split_unit(written: str) -> list[tuple[int, str, int]]:
    """Returns each factor's sign, symbol, and power, from left to right."""
    if not written:
        return []
    pieces = _SEPARATOR.split(_PER.sub("/", written))
    factors = []
    for index in range(0, len(pieces), 2):
        sign = -1 if index and pieces[index - 1] == "/" else 1
        # "J/GB s" is ambiguous, so it stays one piece, which is unknown.
        for piece in _split_factors(pieces[index]) if sign > 0 else [pieces[index]]:
            match = _FACTOR.fullmatch(piece)
            if not match:
                raise UnitError(f"unknown unit '{shorten(written)}'", "write it like 'GB/s'")
            power = int(match[2] or 1)
            if abs(power) > _MAX_POWER:
                raise UnitError(f"'{shorten(written)}' has exponents that are too large for a unit")
            factors.append((sign, match[1].strip(), power))
    return factors


_LOOSE_PREFIX = re.compile(notation.LOOSE_PREFIX)


def _split_factors(piece: str) -> list[str]:
    """Returns the factors of *piece* between spaces, as in "kW h", but one for "GPU hours"."""
    if " " not in piece or _is_known("-".join(piece.split())):
        return [piece]
    # "2.5k tokens": the prefix belongs to the unit, if there is such a unit.
    joined = _LOOSE_PREFIX.sub(r"\1", piece)
    words = joined.split()
    return words if all(_is_known(w.split("^")[0]) for w in words) else [piece]


def _is_known(symbol: str) -> bool:
    return symbol in SYMBOLS or _find_word(symbol) is not None


_FLOPS = re.compile(notation.FLOPS)
_FLOPS_WORD = re.compile(r"(kilo|mega|giga|tera|peta|exa|zetta)flops", re.IGNORECASE)


def _find_measure(symbol: str, flops: int | None) -> Measure:
    """Returns what *symbol* measures, with *flops* as in `_parse_factors`. Raises UnitError."""
    joined = "-".join(symbol.split())
    # Words may start a sentence; the case of symbols matters (Gb and GB).
    measure = SYMBOLS.get(symbol) or SYMBOLS.get(joined) or _find_word(joined)
    if measure:
        return measure
    if _FLOPS.fullmatch(symbol):
        return _read_flops(symbol, flops)
    if symbol.endswith("ps") and symbol[:-2] in SYMBOLS and _is_size(symbol[:-2]):
        top, bottom, _ = SYMBOLS[symbol[:-2]]
        return Measure(top, bottom, BANDWIDTH)
    raise UnitError(f"unknown unit '{shorten(symbol)}'", _suggest_unit(symbol))


def _find_word(symbol: str) -> Measure | None:
    """Returns what a unit written as a word measures, capitalized or not; None if unknown."""
    lower = symbol.lower()
    is_word = len(lower) > notation.LONGEST_SYMBOL and symbol[1:] == lower[1:]
    return SYMBOLS.get(lower) if is_word else None


def _read_flops(symbol: str, flops: int | None) -> Measure:
    """Returns what a spelling of FLOPS measures, with *flops* as in `_parse_factors`."""
    lower = symbol.lower()
    word = _FLOPS_WORD.fullmatch(lower)
    first = lower[0] if word is None else word[1][0]
    prefix = first.upper().replace("K", "k") if first not in "fo" else ""  # "fo": FLOPS, OPS
    top, bottom, dimension = SYMBOLS[f"{prefix}FLOP"]
    if lower.endswith("flop") or flops == 0:
        return Measure(top, bottom, dimension)
    if flops is None:
        fix = f"write '{prefix}FLOP' for a count or '{prefix}FLOP/s' for a speed"
        raise UnitError(f"'{symbol}' is ambiguous: a count or a speed", fix)
    return Measure(top, bottom, SPEED)


def _suggest_unit(symbol: str) -> str | None:
    """Returns which unit may be meant by an unknown *symbol*; None if no unit is close."""
    alike = [n for n in SUGGESTED if n.casefold() == symbol.casefold() and n != symbol]
    if alike:
        # Bytes and bits differ only in case.
        sizes = {n: " (bytes)" if n[-1] == "B" else " (bits)" for n in alike if _is_size(n)}
        return "write " + " or ".join(f"'{n}'{sizes.get(n, '')}" for n in sorted(alike))
    closest = nearest(symbol, SUGGESTED) if len(symbol) > 1 else None
    return f"did you mean '{closest}'?" if closest else None


def _is_size(name: str) -> bool:
    return SYMBOLS[name].dimension == INFORMATION
