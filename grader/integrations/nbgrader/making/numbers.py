"""Numbers with units, for notebooks that can't import this package."""

from __future__ import annotations

from grader import units
from grader.model.item import NumberItem

_PREFIXED = {
    "B": "B kB MB GB TB PB KiB MiB GiB TiB bytes",
    "bit": "bit kbit Mbit Gbit Tbit",
    "s": "s ms us µs μs ns min h",
    "FLOP": "FLOP MFLOP GFLOP TFLOP PFLOP EFLOP ZFLOP",
    "token": "token tokens",
    "W": "W kW MW mW",
    "J": "J kJ MJ mJ",
    "Wh": "Wh kWh MWh",
    "Hz": "Hz kHz MHz GHz",
    "USD": "USD",
}


def units_of(unit: str) -> dict[str, int | float]:
    """Accepted unit suffixes of a number, with the factor that converts each to *unit*."""
    found: dict[str, int | float] = {"": 1}
    if unit == "%":
        return {**found, "%": 1}
    if not unit:
        return {**found, "%": 0.01}
    asked = units.parse_unit(unit)
    below = unit.partition("/")[2]
    for name in " ".join(_PREFIXED.values()).split():
        for text in (name, f"{name}/{below}") if below else (name,):
            factor = _unit_factor(text, asked)
            if factor is not None:
                found[text] = factor
    return {**found, unit: 1}


def _unit_factor(text: str, asked: units.Unit) -> int | float | None:
    try:
        one = units.parse_unit(text)
    except units.UnitError:
        return None
    if one.dimension != asked.dimension:
        return None
    top, bottom = one.numerator * asked.denominator, one.denominator * asked.numerator
    return top // bottom if top % bottom == 0 else top / bottom


def number_instructions(item: NumberItem) -> str:
    """How to write the number, in words."""
    what = "a whole number" if item.whole else "a number"
    if not item.unit:
        return what
    unit = units.printed_unit(item.unit)
    return (
        f'{what} in {unit}, or text with a unit such as "{units.format_with_unit(12.5, item.unit)}"'
    )
