"""Parsing the text of a unit, such as "TFLOP/s"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from grader.registry import nearest
from grader.units import notation
from grader.units.quantity import ONE, Dimension
from grader.units.table import INFORMATION, SUGGESTED, SYMBOLS, TIME, Measure

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


class Flops(StrEnum):
    """The meaning of the ambiguous FLOPS; an error unless the expected unit settles it."""

    REFUSED = "refused"
    COUNT = "count"
    RATE = "rate"


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


def quote(text: str) -> str:
    """Returns *text* shortened and without control characters, for error messages."""
    safe = "".join(c if c.isprintable() else "?" for c in text[:32])
    return f"{safe}..." if len(text) > 32 else safe


@lru_cache(maxsize=4096)
def parse_unit(text: str, flops: Flops = Flops.REFUSED) -> Unit:
    """The unit that *text* names; "" and "1" are the unit of a plain number.

    Raises UnitError with a suggestion.

    >>> parse_unit("GB/s").scale
    8000000000.0
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
        raise UnitError(f"'{quote(written)}' has exponents that are too large for a unit")
    return Unit("" if written == "1" else written, top, bottom, tuple(dimension))  # type: ignore[arg-type]


_PER = re.compile(notation.PER, re.IGNORECASE)
_SEPARATOR = re.compile(r"\s*([*·⋅/])\s*")
_FACTOR = re.compile(r"([^\d^*/]+|1)(?:\^([+-]?\d))?")


def _split_unit(written: str) -> list[tuple[int, str, int]]:
    """Yields each factor's sign, symbol, and power, from left to right."""
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
                raise UnitError(f"unknown unit '{quote(written)}'", "write it like 'GB/s'")
            power = int(match[2] or 1)
            if abs(power) > _MAX_POWER:
                raise UnitError(f"'{quote(written)}' has exponents that are too large for a unit")
            factors.append((sign, match[1].strip(), power))
    return factors


_LOOSE_PREFIX = re.compile(notation.LOOSE_PREFIX)


def _split_factors(piece: str) -> list[str]:
    """Yields factors that are separated only by spaces: "GB s^-1" or "kW h", but not "GPU
    hours"."""
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


def _find_measure(symbol: str, flops: Flops) -> Measure:
    joined = "-".join(symbol.split())
    # Words may start a sentence; the case of symbols matters (Gb and GB).
    known = SYMBOLS.get(symbol) or SYMBOLS.get(joined) or _find_word(joined)
    if known:
        return known
    if _FLOPS.fullmatch(symbol):
        return _read_flops(symbol, flops)
    if symbol.endswith("ps") and SYMBOLS.get(symbol[:-2], Measure(1, 1, ONE))[2] == INFORMATION:
        top, bottom, _ = SYMBOLS[symbol[:-2]]
        return Measure(top, bottom, (1, 0, 0, 0, 0, -1, 0, 0))
    raise UnitError(f"unknown unit '{quote(symbol)}'", _suggest_unit(symbol))


def _find_word(symbol: str) -> Measure | None:
    lower = symbol.lower()
    is_word = len(lower) > notation.LONGEST_SYMBOL and symbol[1:] == lower[1:]
    return SYMBOLS.get(lower) if is_word else None


def _read_flops(symbol: str, flops: Flops) -> Measure:
    lower = symbol.lower()
    word = _FLOPS_WORD.fullmatch(lower)
    letter = word[1][0] if word else lower[0] if lower[0] not in "fo" else ""
    prefix = "k" if letter == "k" else letter.upper()
    if flops is Flops.REFUSED and not lower.endswith("flop"):
        fix = f"write '{prefix}FLOP' for a count or '{prefix}FLOP/s' for a speed"
        raise UnitError(f"'{symbol}' is ambiguous: a count or a speed", fix)
    top, bottom, dimension = SYMBOLS[f"{prefix}FLOP"]
    if flops is Flops.RATE and not lower.endswith("flop"):
        dimension = tuple(d - t for d, t in zip(dimension, TIME, strict=True))  # type: ignore[assignment]
    return Measure(top, bottom, dimension)


def _suggest_unit(symbol: str) -> str | None:
    alike = [n for n in SUGGESTED if n.casefold() == symbol.casefold() and n != symbol]
    if alike:
        return "write " + " or ".join(_quote_unit(n) for n in sorted(alike))
    close = nearest(symbol, SUGGESTED) if len(symbol) > 1 else None
    return f"did you mean '{close}'?" if close else None


def _quote_unit(name: str) -> str:
    """Returns a unit's name for a suggestion, with "bytes" or "bits" because these differ only in
    case."""
    if SYMBOLS[name].dimension != INFORMATION:
        return f"'{name}'"
    return f"'{name}' ({'bytes' if name[-1] == 'B' else 'bits'})"
