"""Values from the kernel as a number or a text, with a sentence for anything else."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

from grader import units
from grader.kinds.base import BeyondLimit, Unreadable
from grader.model import Raw

MAX_DIGITS = 300
"""Maximum number of digits of a whole number, so that a float can hold it."""
_LONG_NUMBER = re.compile(r"[-+]?[\d.,_ ]{100}")
"""Pattern of the start of a text that may be a number too long to be read."""


def read_number(raw: Raw, unit: str, wanted: str) -> int | float:
    """Returns the number in *raw*, converted to *unit*; a text may have its own unit.

    Raises Unreadable, which says what was found and that *wanted* is expected.
    """
    tag = raw.get("t")
    if tag == "str":
        return _read_number_text(raw, unit, wanted)
    digits = raw.get("v")
    try:
        value = float(digits) if tag == "float" else math.nan  # type: ignore[arg-type]
        if math.isfinite(value):
            return value
        if tag == "int" and isinstance(digits, str) and len(digits.lstrip("-")) <= MAX_DIGITS:
            return int(digits)
    except (TypeError, ValueError, OverflowError):
        raise refusal({}, wanted) from None
    raise refusal(raw, wanted)


def number_in_words(unit: str) -> str:
    """Returns the words for a number in *unit*."""
    if unit == "%":
        return "a percentage"
    return f"a number in {units.asked_unit(unit)}" if unit else "a plain number"


def _read_number_text(raw: Raw, unit: str, wanted: str) -> int | float:
    """Returns the number in a text, converted to *unit*. Raises Unreadable."""
    written = read_line(raw, wanted)
    if raw.get("cut") or len(written) > units.MAX_LENGTH:
        if _LONG_NUMBER.match(written):
            raise too_long_error(written, units.MAX_LENGTH, wanted)
        raise Unreadable(f"The text is too long ({len(written):,} characters); give {wanted}.")
    try:
        return units.read(written, unit)
    except units.ReadError as error:
        raise Unreadable(f"{error.sentence[:1].upper()}{error.sentence[1:]}.") from None


def read_line(raw: Raw, wanted: str) -> str:
    """Returns the text in *raw* with single spaces, as far as it was sent. Raises Unreadable."""
    return " ".join(read_text({**raw, "cut": False}, wanted).split())


def too_long_error(written: str, most: int, wanted: str) -> BeyondLimit:
    """Returns why a text of more than *most* characters waits for manual grading."""
    what = f"The text has {len(written):,} characters or more, and at most {most:,} are read"
    return BeyondLimit(f"{what}; give {wanted}.")


def read_text(raw: Raw, wanted: str) -> str:
    """Returns the text in *raw*, stripped. Raises Unreadable, as blank for an empty text."""
    written = raw.get("v")
    if raw.get("t") != "str" or not isinstance(written, str):
        raise refusal(raw, wanted)
    if not written.strip():
        raise Unreadable("The answer is an empty text.", blank=True)
    if raw.get("cut"):
        raise Unreadable(f"The text is too long; give {wanted}.")
    return written.strip()


def refusal(raw: Raw, wanted: str) -> Unreadable:
    """Returns why *raw* is not *wanted*, in a sentence for the student."""
    tag = raw.get("t")
    if tag == "ellipsis":
        return Unreadable("The answer is still `...`.", blank=True)
    if raw.get("crowded"):
        return BeyondLimit("The other answers are so large that this one was not read.")
    describe = _DESCRIBERS.get(tag) if isinstance(tag, str) else None
    description = describe(raw) if describe else "The answer has a form that can't be read"
    return Unreadable(f"{description}; give {wanted}.")


def quote(written: object, limit: int = 40) -> str:
    """Returns the student's text on one line, shortened, in quotes."""
    line = " ".join(str(written)[: 4 * limit].split())
    return f'"{line}"' if len(line) <= limit else f'"{line[: limit - 1]}…"'


def _describe_int(raw: Raw) -> str:
    digits = len(str(raw.get("v", "")).lstrip("-"))
    if raw.get("digits") is None and digits <= MAX_DIGITS:
        return f"The answer is the number {_short_text(raw)}"
    count = digits if raw.get("digits") is None else _format_count(raw["digits"])
    return f"The answer is a whole number with {count} digits, which is too large"


def _describe_float(raw: Raw) -> str:
    value = str(raw.get("v", "")).casefold()
    if value == "nan":
        return "The answer is NaN, the result of operations such as inf - inf"
    if value in ("inf", "-inf"):
        return f"The answer is {'minus ' if value == '-inf' else ''}infinity"
    return f"The answer is the number {_short_text(raw)}"


def _describe_array(raw: Raw) -> str:
    shape = raw.get("shape")
    sizes = [_format_count(n) for n in shape[:8]] if isinstance(shape, list) else []
    comma = "," if len(sizes) == 1 else ""
    description = f"The answer is an array of shape ({', '.join(sizes)}{comma})"
    if sizes and all(size == "1" for size in sizes):
        description += ": use .item() to get its only element"
    return description


def _describe_object(raw: Raw) -> str:
    kind = str(raw.get("type", "object"))
    if raw.get("large"):
        return "The answer is too large to be read"
    name = quote(kind.removeprefix("builtins."))
    if "function" in kind or "method" in kind:
        return "The answer is a function, not its result: call it"
    return f"The answer is an object of type {name}"


def _describe_items(raw: Raw) -> str:
    items = raw.get("v")
    count = len(items) if isinstance(items, list) else 0
    return f"The answer is a {raw['t']} with {count} {'item' if count == 1 else 'items'}"


def _short_text(raw: Raw) -> str:
    return quote(raw.get("v", ""))[1:-1]


def _format_count(n: object) -> str:
    return str(n) if isinstance(n, int) else "?"


_DESCRIBERS: Mapping[str, Callable[[Raw], str]] = {
    "int": _describe_int,
    "float": _describe_float,
    "bool": lambda raw: f"The answer is the truth value {raw.get('v') is True}",
    "none": lambda _: "The answer is None, which print() and functions without return give",
    "complex": lambda raw: f"The answer is the complex number {_short_text(raw)}",
    "str": lambda raw: f"The answer is the text {quote(raw.get('v', ''))}",
    **dict.fromkeys(("list", "set", "dict"), _describe_items),
    "array": _describe_array,
    "object": _describe_object,
}
