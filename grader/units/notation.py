"""Patterns for a number with a unit, shared by `read` and the check in a notebook."""

from __future__ import annotations

import re

RAISED = ("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
"""Superscripts and their plain forms after a `^`."""
LOOKALIKES = {
    "−": "-", "–": "-", "×": "x", "·": "*", "⋅": "*", "∗": "*", "\u00a0": " ", "\u202f": " ",
}  # fmt: skip
"""Typographic signs and spaces and their plain forms."""
SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}

_WORDS = "|".join(SCALES)
_DIGITS = r"\d+(?:_\d+)*"

MONEY = (
    rf"^(?:\$|USD)\s?([-+]?[\d.](?:[\d.,_]|[eE][-+]?(?=\d)|\s(?=\d\d\d))*(?:\s?(?:{_WORDS})s?\b)?)"
)
"""Pattern of a currency before its number; use with ASCII and IGNORECASE."""
NUMBER = (
    rf"(?:(?P<minus>[-+]?)(?P<base>10|2)\s?(?:\^|\*\*)\s?(?P<power>[-+]?\d+)|"  # 2^30
    rf"(?P<sign>[-+]?)\s?(?P<mantissa>\d{{1,3}}(?:,\d{{3}})+(?![\d,])(?:\.\d*)?|"  # 1,200.5
    rf"[1-9]\d{{0,2}}(?:[ ]\d{{3}})+(?![\d,])(?:\.\d*)?|"  # 28 000
    rf"{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})"  # 1_200.5  28.  .5
    rf"(?P<exponent>[eE][-+]?\d+)?(?:\s?(?:x|\*)\s?10\s?(?:\^|\*\*)\s?(?P<ten>[-+]?\d+))?"
    rf"(?:\s?/\s?(?P<divisor>{_DIGITS}(?:\.\d+)?)(?![\d.,_^*/eE]))?)"  # 3/4
    rf"(?:\s?(?i:(?P<scale>{_WORDS})s?)\b)?"  # 7 billion
)
"""Pattern of a number at the start of a text, for ASCII. Everything after the mantissa is
optional."""
CALCULATION = r"[*^+(x-]\s*[\d(.]|/\s*[\d(.]|\*\*|.*\s[-+*]\s"
"""Pattern of what follows the number if the text is a calculation."""
SEVERAL = r"\d(?!/)|\d/\d|[._]|['’]\d"
"""Pattern of what follows the number if there are several numbers."""
PER = r"\s+per\s+"
"""Pattern of a division in words; use with IGNORECASE."""
LOOSE_PREFIX = r"\b([kMGT])\s+(?=[^\W\d_])"
"""Pattern of a prefix separated from its unit, as in "2.5k tokens"."""
FLOPS = r"(?i:[kmgtpez]?flops?|(?:kilo|mega|giga|tera|peta|exa|zetta)flops)|[kKMGTPEZ]?(?:OPS|OPs)"
"""Pattern of what may be a count of operations or a speed."""
LONGEST_TEXT = 1_000
"""Maximum number of characters of a number with its unit; has room for hundreds of digits."""
LONGEST_SYMBOL = 4
"""Maximum length of a unit's symbol; longer unit names may start with a capital letter."""


def clean(text: str) -> str:
    """Returns *text* with plain signs, single spaces, and a currency after its number.

    >>> clean("1.2 × 10⁹ B"), clean("$12/h")
    ('1.2 x 10^9 B', '12 USD/h')
    """
    raised = re.sub(f"[{RAISED[0]}]+", lambda m: "^" + m[0].translate(_PLAIN), text)
    joined = " ".join(raised.translate(_ALIKE).split())
    joined = _MONEY.sub(r"\1 USD", joined, count=1)
    # Drops a sentence's period, but keeps "28.".
    ends_sentence = joined.endswith(".") and (joined[-2:-1].isalpha() or joined[-2:-1] == "%")
    return joined[:-1] if ends_sentence else joined


_PLAIN, _ALIKE = str.maketrans(*RAISED), str.maketrans(LOOKALIKES)
_MONEY = re.compile(MONEY, re.ASCII | re.IGNORECASE)
