"""Shares of a whole, given as a number or as a percentage."""

from __future__ import annotations

import math
from functools import lru_cache


@lru_cache(maxsize=256)
def share(written: str | float) -> float:
    """The share that an author wrote, from 0 to 1.

    Raises ValueError for anything else.

    >>> share("25%"), share(0.25), share("2.5 %")
    (0.25, 0.25, 0.025)
    """
    if isinstance(written, str):
        text = written.strip()
        percent = text.endswith("%")
        try:
            value = float(text[:-1]) / 100 if percent else float(text)
        except ValueError:
            raise ValueError(f"'{written}' is not a share such as 25% or 0.25") from None
    else:
        value = float(written)
    if not (math.isfinite(value) and 0 <= value <= 1):
        raise ValueError(f"{written} is not a share between 0 and 1; 25 percent is 25% or 0.25")
    return value
