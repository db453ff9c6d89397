"""Turns seeds into numbers. Changing these functions would change every student's numbers."""

from __future__ import annotations

import hashlib
import hmac

_RANGE = 1 << 64


def seed_for(private_key: bytes, seat: str, problem: str) -> bytes:
    """Returns the seed of a student's or version's variant: stable, and unguessable without the
    key.

    *seat* is the student's id, or the name of a shared version.
    """
    # Lengths keep ("ab", "c") and ("a", "bc") apart.
    message = b"".join(len(t.encode()).to_bytes(4, "big") + t.encode() for t in (seat, problem))
    return hmac.digest(private_key, message, "sha256")


def sample_seed(problem_id: str, number: int) -> bytes:
    """Returns the seed of variant *number* outside any release, for `grader verify` and `grader
    show`."""
    return hashlib.sha256(f"gate/{problem_id}/{number}".encode()).digest()


def draw_below(seed: bytes, label: str | bytes, n: int) -> int:
    """Returns a uniform number from 0 to n - 1 that depends only on *seed* and *label*.

    It uses SHA-256 because the draws of `random` may change between versions of Python.
    """
    if isinstance(label, str):
        label = label.encode()
    # Below the largest multiple of n up to 2^64, every remainder is equally likely.
    limit = _RANGE - _RANGE % n
    counter = 0
    while True:
        value = hash_to_int(b"%s|%d|%s" % (seed, counter, label))
        if value < limit:
            return value % n
        counter += 1


def hash_to_int(data: bytes) -> int:
    """Returns a number below 2^64 that depends only on *data*."""
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "big")


def draw_permutation(seed: bytes, label: str, n: int) -> tuple[int, ...]:
    """Returns a permutation of range(n) that depends only on *seed* and *label*."""
    items = list(range(n))
    start = b"%s/" % label.encode()
    for last in range(n - 1, 0, -1):
        other = draw_below(seed, start + b"%d" % last, last + 1)
        items[last], items[other] = items[other], items[last]
    return tuple(items)
