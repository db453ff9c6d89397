"""Products of the numbers of a problem, as candidates for wrong ideas."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from grader.analysis.arrays import Numbers
from grader.units.quantity import ONE, Dimension, base_unit

MOST_BASES = 600
"""Most quantities of the answer's dimension that are combined with factors."""
# Factors that people forget or misplace.
CONSTANTS = {
    "2": 2.0, "3": 3.0, "4": 4.0, "6": 6.0, "8": 8.0, "12": 12.0, "16": 16.0, "32": 32.0,
    "60": 60.0, "100": 100.0, "3600": 3600.0, "1e3": 1e3, "1e6": 1e6, "1e9": 1e9, "1e12": 1e12,
    "1024": 1024.0, "1.5": 1.5,
}  # fmt: skip
# Those that convert units, and 2: after another error, few people make one with another constant.
CONVERSIONS = {
    text: CONSTANTS[text]
    for text in ("2", "8", "60", "100", "3600", "1e3", "1e6", "1e9", "1e12", "1024")
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedQuantity:
    """A quantity that candidates are made of, for each student."""

    text: str
    """How it is written in expressions."""
    values: Numbers
    """In base units."""
    dimension: Dimension


@dataclass(frozen=True, slots=True)
class CandidateProduct:
    """An expression that may explain wrong answers, with its value for each variant."""

    text: str
    values: Numbers
    cost: int
    """How complex it is: 1 for a single quantity."""


def iter_products(
    answer: NamedQuantity, others: Sequence[NamedQuantity]
) -> Iterator[CandidateProduct]:
    """Yields candidates with the dimension of *answer*: a quantity, or the sum, difference,
    product, or quotient of two or three, and each of these times a factor without a dimension."""
    bases = list(itertools.islice(_bases(answer, others), MOST_BASES))
    factors = list(_factors(others))
    yield from bases
    for base, factor in itertools.product(bases, factors):
        yield _multiply(base, factor)
    for base in bases[: 1 + len(others)]:
        if base.cost == 1:
            simple = [factor for factor in factors if factor.cost <= 3]
            for product, other in itertools.combinations(simple, 2):
                yield _multiply(_multiply(base, product), other)


def _bases(answer: NamedQuantity, others: Sequence[NamedQuantity]) -> Iterator[CandidateProduct]:
    """Yields sums, differences, and quotients of quantities that have the dimension of *answer*.

    They are what `_factors` can multiply.
    """
    unit = base_unit(answer.dimension).replace("*", " * ").replace("/", " / ").replace("^", "**")
    every = [answer, *others]
    alike = [
        CandidateProduct(quantity.text, quantity.values, 1)
        for quantity in every
        if quantity.dimension == answer.dimension
    ]
    yield from alike
    if unit:
        for plain in others:
            if plain.dimension == ONE:
                yield CandidateProduct(f"{plain.text} * ({unit})", plain.values, 2)
    for product, other in itertools.combinations(alike, 2):
        yield CandidateProduct(f"({product.text} + {other.text})", product.values + other.values, 3)
        yield CandidateProduct(f"({product.text} - {other.text})", product.values - other.values, 3)
        yield CandidateProduct(f"({other.text} - {product.text})", other.values - product.values, 3)
    if answer.dimension != ONE:
        yield from _combine_dimensions(answer, others)
    else:
        with_one = [quantity for quantity in every if quantity.dimension != ONE]
        for over, under in itertools.permutations(with_one, 2):
            if over.dimension == under.dimension:
                yield CandidateProduct(f"{over.text} / {under.text}", over.values / under.values, 2)


def _combine_dimensions(
    answer: NamedQuantity, others: Sequence[NamedQuantity]
) -> Iterator[CandidateProduct]:
    """Yields products and quotients of quantities whose dimensions give that of the answer."""
    measured = [quantity for quantity in others if quantity.dimension != ONE]
    for one, other in itertools.permutations(measured, 2):
        if _sum(one.dimension, other.dimension, -1) == answer.dimension:
            yield CandidateProduct(f"{one.text} / {other.text}", one.values / other.values, 2)
        if one.text < other.text and _sum(one.dimension, other.dimension, 1) == answer.dimension:
            yield CandidateProduct(f"{one.text} * {other.text}", one.values * other.values, 2)


def _sum(one: Dimension, other: Dimension, sign: int) -> tuple[int, ...]:
    return tuple(a + sign * b for a, b in zip(one, other, strict=True))


def _factors(others: Sequence[NamedQuantity]) -> Iterator[CandidateProduct]:
    """Yields the factors without a dimension that *others* offer, such as ` * (n - 1)`."""
    for quantity in others:
        if quantity.dimension != ONE:
            continue
        text, values = quantity.text, quantity.values
        bases = [(text, values, 2)]
        if np.all(values == np.round(values)):
            bases += [(f"({text} - 1)", values - 1, 3), (f"({text} + 1)", values + 1, 3)]
        bases += [(f"sqrt({text})", np.sqrt(values), 4), (f"{text}**2", values**2, 4)]
        for base, base_values, cost in bases:
            yield CandidateProduct(f" * {base}", base_values, cost)
            yield CandidateProduct(f" / {base}", 1 / base_values, cost)


def _multiply(product: CandidateProduct, other: CandidateProduct) -> CandidateProduct:
    return CandidateProduct(
        product.text + other.text, product.values * other.values, product.cost + other.cost
    )
