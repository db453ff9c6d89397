"""Quantiles of the F distribution, without a further dependency."""

from __future__ import annotations

import math

_TINY = 1e-300
_TERMS = 1000
_HALVINGS = 200


def f_quantile(share: float, above: float, below: float) -> float:
    """Returns the number below which *share* of the F distribution lies.

    *above* and *below* are the degrees of freedom of the numerator and of the denominator.

    >>> round(f_quantile(0.95, 5, 10), 2)
    3.33
    """
    # The incomplete beta function grows with its argument, so that halving finds the quantile.
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if incomplete_beta(above / 2, below / 2, middle) < share:
            low = middle
        else:
            high = middle
    return below * high / (above * max(1 - high, _TINY))


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Returns the regularized incomplete beta function, by equation 8.17.22 of the DLMF."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    # On this side of the mean, the fraction converges fast.
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    log = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    log += a * math.log(x) + b * math.log1p(-x)
    return math.exp(log) / (a * _evaluate_fraction(a, b, x))


def _evaluate_fraction(a: float, b: float, x: float) -> float:
    """Returns the continued fraction 1 + d1/(1 + d2/(1 + ...)), by the modified Lentz method."""
    value, numerator, denominator = 1.0, 1.0, 0.0
    for term in range(1, _TERMS):
        m = term // 2
        if term % 2:
            d = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            d = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        denominator = 1 / ((1 + d * denominator) or _TINY)
        numerator = (1 + d / numerator) or _TINY
        value *= numerator * denominator
        if abs(numerator * denominator - 1) < 1e-15:
            break
    return value
