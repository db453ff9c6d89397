"""Reading a student's text, such as "1.2e9 B", as a number in the expected unit."""

from __future__ import annotations

import math
import re
import unicodedata

from grader.registry import nearest
from grader.units import notation
from grader.units.convert import format_with_unit, rescale
from grader.units.notation import clean
from grader.units.parse import Unit, UnitError, parse_unit, shorten
from grader.units.quantity import ONE, PARAMETERS, describe_dimension
from grader.units.table import FITTING, SUGGESTED, SYMBOLS

MAX_LENGTH = notation.LONGEST_TEXT


class ReadError(ValueError):
    """The text is not a number that can be read; says why and how to write it, on one line."""

    def __init__(self, sentence: str):
        super().__init__(sentence)
        self.sentence = sentence


def read(text: str, unit_text: str) -> int | float:
    """Returns the number in *text*, in the unit *unit_text*; a bare number is in that unit already.

    Never evaluates anything, and takes no longer for hostile text. Raises ReadError.

    >>> read("512 MiB", "GiB"), read("28 000", "GB")
    (0.5, 28000)
    """
    asked = parse_unit(unit_text)
    example = f"'{format_with_unit(12.5, unit_text)}'"
    if len(text) > MAX_LENGTH:
        raise ReadError(f"the text is {len(text)} characters long; write a number like {example}")
    written = clean(text)
    if not written:
        raise ReadError(f"the text is empty; write a number like {example}")
    number, rest = _split_number(written, example)
    if not rest and unit_text in PARAMETERS and written[-1].isalpha():
        rest = "parameters"  # "7 billion" is not a number of billions
    if not rest:
        return number
    if asked.dimension == ONE:
        return _read_plain(number, rest, asked)
    try:
        written_unit = parse_unit(f"1{rest}" if rest.startswith("/") else rest, asked.dimension)
    except UnitError as error:
        raise ReadError(_unknown_unit_message(error, rest, asked, example)) from None
    if written_unit.dimension != asked.dimension:
        hint = f"; {_BILLIONS}" if _means_billions(rest) else ""
        raise ReadError(
            f"expected {describe_dimension(asked.dimension)} such as {example}, got "
            f"'{shorten(written)}', which is {describe_dimension(written_unit.dimension)}{hint}"
        )
    return _convert(number, written_unit, asked, written)


def _read_plain(number: float, rest: str, asked: Unit) -> int | float:
    """Returns a percentage, a factor such as "3.2x", or a plain number. Raises ReadError."""
    word = rest.casefold()
    if word in {"x", "times"} and asked.text != "%":
        return number
    if word not in {"%", "percent"}:
        expected = "a percentage" if asked.text == "%" else "a plain number"
        hint = f"remove '{shorten(rest)}'"
        if _means_billions(rest):
            hint = _BILLIONS
        elif _find_exponent(rest):
            hint = f"write it with an exponent, as in '1.5e{_find_exponent(rest)}'"
        raise ReadError(f"expected {expected}, got a number followed by '{shorten(rest)}'; {hint}")
    return number if asked.text == "%" else rescale(number, 1, 100)


_EXPONENTS = {"k": 3, "K": 3, "M": 6, "mn": 6, "G": 9, "bn": 9, "T": 12}
"""Suffixes that people write for a thousand, a million, and so on; some are prefixes of units."""
_BILLIONS = "'B' means bytes; write billions as '7e9'"


def _find_exponent(rest: str) -> int | None:
    """Returns the exponent of the suffix of a number, as in "1.5k", or of an amount, as in "$2M"
    or "$2k/month"; None if *rest* begins with anything else."""
    found = re.match(r"(?:USD ?)?([A-Za-z]+)", rest)
    return _EXPONENTS.get(found[1]) if found else None


def _means_billions(rest: str) -> bool:
    return rest.split(" ", maxsplit=1)[0] == "B"


_NUMBER = re.compile(notation.NUMBER, re.ASCII)
_CALCULATION = re.compile(notation.CALCULATION)
_SEVERAL = re.compile(notation.SEVERAL)


def _split_number(text: str, example: str) -> tuple[int | float, str]:
    """Returns the number at the start of *text*, and the unit after it. Raises ReadError."""
    match = _NUMBER.match(text)
    if not match:
        raise ReadError(_no_number_message(text, example))
    number = _parse_number(match, text)
    if match["scale"]:
        number *= notation.SCALES[match["scale"].lower()]
    _require_unit_only(text, match.end(), example)
    return _require_finite(number, text), text[match.end() :].strip()


def _parse_number(match: re.Match[str], text: str) -> int | float:
    """Returns the number that a match of `notation.NUMBER` stands for, without its scale."""
    if match["base"]:
        number = _parse_power(int(match["base"]), _parse_exponent(match["power"], text))
        return -number if match["minus"] == "-" else number
    mantissa = match["mantissa"]
    if mantissa.startswith("0,"):
        raise ReadError(_decimal_comma_message(text))
    plain = match["sign"] + re.sub("[,_ ]", "", mantissa)
    exponent = match["exponent"] or ""
    if match["ten"]:
        exponent = f"e{int(exponent[1:] or '0') + _parse_exponent(match['ten'], text)}"
    # Converted from its text, so rounded once, never slow, and infinite if too large.
    number = float(plain + exponent) if exponent or "." in plain else int(plain)
    divisor = float((match["divisor"] or "1").replace("_", ""))
    if divisor == 0:
        raise ReadError(f"'{shorten(text)}' divides by zero")
    return number / divisor if match["divisor"] else number


def _parse_power(base: int, power: int) -> int | float:
    """Returns a power of 10 or 2, exact if possible: 2^30 is an int, 10^-3 the nearest float."""
    if power >= 0:
        return int(base**power)
    return float(f"1e{power}") if base == 10 else 2.0**power


def _parse_exponent(written: str, text: str) -> int:
    if len(written) > 5 or abs(int(written)) > 1000:
        raise ReadError(f"the number '{shorten(text)}' is too large or too small")
    return int(written)


def _require_finite(found: float, text: str) -> int | float:
    # An int too large for a float would overflow in comparisons.
    if not -1.7e308 < found < 1.7e308:
        raise ReadError(f"the number '{shorten(text)}' is too large")
    return found


def _decimal_comma_message(text: str) -> str:
    return (
        f"'{shorten(text)}' has a comma that is not a thousands separator; "
        "use a decimal point, as in '1.5'"
    )


def _require_unit_only(text: str, end: int, example: str) -> None:
    """Raises ReadError if more than a unit follows the number."""
    rest = text[end:].strip()
    if any(c.isdigit() and not c.isascii() for c in rest):
        raise ReadError(f"'{shorten(text)}' has digits other than 0 to 9")
    if rest.startswith(",") or (text[:end][-1:].isdigit() and re.match(r",\s?\d", rest)):
        raise ReadError(_decimal_comma_message(text))
    if _CALCULATION.match(rest):
        raise ReadError(
            f"'{shorten(text)}' is a calculation; write its result as a number like {example}"
        )
    if rest and unicodedata.category(rest[0]) == "No":
        raise ReadError(f"'{shorten(text)}' has a fraction; write a decimal number like {example}")
    if _SEVERAL.match(rest):
        raise ReadError(
            f"'{shorten(text)}' is not one number; write it without separators, like {example}"
        )


_NOT_A_NUMBER = {"nan", "inf", "infinity", "+inf", "-inf", "-infinity", "none", "null", "∞", "n/a"}


def _no_number_message(text: str, example: str) -> str:
    """Returns why *text* does not start with a number that can be read."""
    shown = shorten(text)
    first = text.split(maxsplit=1)[0].casefold().rstrip(".,")
    if first in _NOT_A_NUMBER:
        return f"'{shown}' is not a finite number; write one like {example}"
    if any(c.isdigit() and not c.isascii() for c in text):
        return f"'{shown}' has digits other than 0 to 9; write a number like {example}"
    if re.search(r"[0-9]", text) and re.match(r"[^\W\d_]|[~≈<>≤≥±=]", text):
        return f"'{shown}' doesn't start with a number; write one number like {example}"
    return f"'{shown}' is not a number; write one like {example}"


def _unknown_unit_message(error: UnitError, rest: str, asked: Unit, example: str) -> str:
    """Returns what is wrong with the unit in *rest*, and the closest unit of the right kind."""
    exponent = _find_exponent(rest)
    if exponent and rest.startswith("USD"):
        return f"can't read an amount with a letter; write it as in '1.5e{exponent} USD'"
    if len(rest) > 16 or " " in rest:
        return f"can't read '{shorten(rest)}' as a unit; write the answer like {example}"
    if error.fix is not None and error.fix.startswith("write '"):
        return f"{error.what}; {error.fix}"
    # The closest known unit may have another dimension; suggest one with the expected dimension.
    named = (n for n in SUGGESTED if SYMBOLS[n].dimension == asked.dimension)
    near = nearest(rest, (*FITTING.get(asked.dimension, ()), *named, asked.text))
    fix = f"did you mean '{near}'? Or write the answer" if near else "write the answer"
    return f"{error.what}; {fix} like {example}"


def _convert(number: float, given: Unit, asked: Unit, text: str) -> int | float:
    """Returns *number* of the unit *given* in the unit *asked*, rounded at most once."""
    top, bottom = number.as_integer_ratio()
    top *= given.numerator * asked.denominator
    bottom *= given.denominator * asked.numerator
    whole, rest = divmod(top, bottom)
    if not rest and isinstance(number, int):
        return _require_finite(whole, text)
    try:
        value = top / bottom
    except OverflowError:
        value = math.inf
    return _require_finite(value, text)
