"""Values grouped by a key that several of them share."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def group_by_key(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Returns the values with each key. Keys and values keep the order in which they appear.

    >>> group_by_key([(1, "q1"), (2, "q2_a"), (2, "q2_b")])
    {1: ['q1'], 2: ['q2_a', 'q2_b']}
    """
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups
