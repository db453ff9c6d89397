"""How a number with a unit may be written, as data: for `read`, and for the check in a notebook."""

from __future__ import annotations

import re

RAISED = ("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
"""Superscripts, and what they stand for behind a `^`."""
LOOKALIKES = {
    "−": "-", "–": "-", "×": "x", "·": "*", "⋅": "*", "∗": "*", "\u00a0": " ", "\u202f": " ",
}  # fmt: skip
"""Typeset signs and spaces, and the plain ones that they stand for."""
SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}

_WORDS = "|".join(SCALES)
_DIGITS = r"\d+(?:_\d+)*"

MONEY = (
    rf"^(?:\$|USD)\s?([-+]?[\d.](?:[\d.,_]|[eE][-+]?(?=\d)|\s(?=\d\d\d))*(?:\s?(?:{_WORDS})s?\b)?)"
)
"""A currency in front of its number; ASCII and IGNORECASE."""
NUMBER = (
    rf"(?:(?P<minus>[-+]?)(?P<base>10|2)\s?(?:\^|\*\*)\s?(?P<power>[-+]?\d+)|"  # 2^30
    rf"(?P<sign>[-+]?)\s?(?P<mantissa>\d{{1,3}}(?:,\d{{3}})+(?![\d,])(?:\.\d*)?|"  # 1,200.5
    rf"[1-9]\d{{0,2}}(?:[ ]\d{{3}})+(?![\d,])(?:\.\d*)?|"  # 28 000
    rf"{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})"  # 1_200.5  28.  .5
    rf"(?P<exponent>[eE][-+]?\d+)?(?:\s?(?:x|\*)\s?10\s?(?:\^|\*\*)\s?(?P<ten>[-+]?\d+))?"
    rf"(?:\s?/\s?(?P<divisor>{_DIGITS}(?:\.\d+)?)(?![\d.,_^*/eE]))?)"  # 3/4
    rf"(?:\s?(?i:(?P<scale>{_WORDS})s?)\b)?"  # 7 billion
)
"""One number at the start of a text; ASCII. All behind its mantissa is optional."""
CALCULATION = r"[*^+(x-]\s*[\d(.]|/\s*[\d(.]|\*\*|.*\s[-+*]\s"
"""What follows the number when the text is a calculation."""
SEVERAL = r"\d(?!/)|\d/\d|[._]|['’]\d"
"""What follows the number when there is more than one."""
PER = r"\s+per\s+"
"""A division in words; IGNORECASE."""
LOOSE_PREFIX = r"\b([kMGT])\s+(?=[^\W\d_])"
"""A prefix that stands apart from its unit, as in "2.5k tokens"."""
FLOPS = r"(?i:[kmgtpez]?flops?|(?:kilo|mega|giga|tera|peta|exa|zetta)flops)|[kKMGTPEZ]?(?:OPS|OPs)"
"""What may be a count of operations or a speed."""
LONGEST_TEXT = 1_000
"""Characters of a number with its unit, which leaves room for hundreds of digits."""
LONGEST_SYMBOL = 4
"""Characters; a longer name of a unit may begin with a capital letter."""


def cleaned(text: str) -> str:
    """*text* with plain signs, single spaces, and a currency behind its number.

    >>> cleaned("1.2 × 10⁹ B"), cleaned("$12/h")
    ('1.2 x 10^9 B', '12 USD/h')
    """
    raised = re.sub(f"[{RAISED[0]}]+", lambda m: "^" + m[0].translate(_PLAIN), text)
    joined = " ".join(raised.translate(_ALIKE).split())
    joined = _MONEY.sub(r"\1 USD", joined, count=1)
    # A sentence's full stop, but not "28."
    return joined[:-1] if joined.endswith(".") and joined[-2:-1].isalpha() else joined


_PLAIN, _ALIKE = str.maketrans(*RAISED), str.maketrans(LOOKALIKES)
_MONEY = re.compile(MONEY, re.ASCII | re.IGNORECASE)
