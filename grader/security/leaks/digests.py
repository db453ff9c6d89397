"""Digests of answers: a hash of an easily guessed key reveals the key."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from grader.kinds import kinds
from grader.security.leaks.secrets import Named, Wanted

if TYPE_CHECKING:
    import numpy as np

SALTED_STUDENTS = 40
"""For more students, only unsalted digests are searched."""
_HEX = re.compile(r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{16,128}(?![0-9A-Fa-f])")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{22,88}={0,2}(?![A-Za-z0-9+/_=-])")
_SIZES = {16, 20, 28, 32, 48, 64}

_Algorithm = Callable[[bytes], Any]
_FAST: tuple[_Algorithm, ...] = (hashlib.sha256, hashlib.md5, hashlib.sha1, hashlib.blake2b)
_OTHERS: tuple[_Algorithm, ...] = (
    *(hashlib.sha512, hashlib.sha224, hashlib.sha384, hashlib.blake2s),
    *(hashlib.sha3_256, lambda data: hashlib.blake2b(data, digest_size=32)),
    *(lambda data: hashlib.blake2b(data, digest_size=16),),
)


class Digests:
    """Digests of every form in which a key may be hashed; computed when first needed."""

    def __init__(self, wanted: Wanted, salts: tuple[str, ...]):
        self._wanted = wanted
        self._salts = salts
        self._named = [one for named in wanted.named.values() for one in named]

    def find(self, text: str) -> Iterator[tuple[int, str, str]]:
        """Position, answer's name and first digits of every digest of a key in *text*."""
        seen = [(bytes.fromhex(f[0][:16]), f.start()) for f in _HEX.finditer(text)]
        for found in _BASE64.finditer(text):
            data = _unbase64(found[0])
            if len(data) in _SIZES:
                seen.append((data[:8], found.start()))
        if not seen:
            return
        import numpy as np

        table, which = self._table
        values = np.frombuffer(b"".join(one for one, _ in seen), dtype=">u8").astype("u8")
        places = np.searchsorted(table, values).clip(max=max(len(table) - 1, 0))
        for index in np.flatnonzero(table[places] == values) if len(table) else ():
            name = self._named[int(which[places[index]])].name
            yield seen[index][1], name, seen[index][0].hex()[:4]

    @cached_property
    def _table(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        import numpy as np

        made: dict[bytes, int] = {}
        for number, one in enumerate(self._named):
            for data, algorithms in self._guesses(one):
                for algorithm in algorithms:
                    made.setdefault(algorithm(data).digest()[:8], number)
        table = np.frombuffer(b"".join(made), dtype=">u8").astype("u8")
        which = np.fromiter(made.values(), dtype="u4", count=len(made))
        order = np.argsort(table)
        return table[order], which[order]

    def _guesses(self, one: Named) -> Iterator[tuple[bytes, tuple[_Algorithm, ...]]]:
        forms = list(dict.fromkeys(_forms(one)))
        for form in forms:
            yield form.encode(), (*_FAST, *_OTHERS)
        for form in forms:
            for around in (f"{form}\n", f'"{form}"', f"{one.name}={form}", f"{one.name}:{form}"):
                yield around.encode(), _FAST
        if len(self._wanted.students) <= SALTED_STUDENTS:
            for salt in (one.name, *self._salts, *sorted(one.students)[:3]):
                for form in forms:
                    for joint in ("", ":", "-", "|", "_", "/"):
                        yield f"{salt}{joint}{form}".encode(), _FAST[:3]
                        yield f"{form}{joint}{salt}".encode(), _FAST[:3]


def _forms(one: Named) -> Iterator[str]:
    """The texts of a key that may have been hashed."""
    kind = kinds.find(one.key.part.kind)
    if kind.needs_solution:
        return
    answer = kind.answer(one.key)
    unit = str(getattr(one.key.part, "unit", "") or "")
    yield one.literal
    if isinstance(answer, bool):
        yield from (str(answer), str(answer).lower(), str(int(answer)))
    elif isinstance(answer, int | float):
        for number in _written(float(answer)):
            yield from (number, f"{number} {unit}", f"{number}{unit}") if unit else (number,)
    elif isinstance(answer, str):
        yield from (answer, answer.lower(), answer.upper(), answer.strip())
    elif isinstance(answer, list | tuple):
        texts = [str(one) for one in answer]
        for joint in ("", ",", ", ", " ", ";"):
            yield joint.join(texts)
    yield str(answer)


def _written(value: float) -> Iterator[str]:
    yield repr(value)
    yield f"{value:g}"
    if value == int(value):
        yield str(int(value))
    for digits in range(5):
        yield f"{value:.{digits}f}"
    for digits in (3, 4, 5, 8, 10, 12):
        yield f"{value:.{digits}g}"
    for digits in (1, 2, 3):
        yield f"{value:.{digits}e}"


def _unbase64(text: str) -> bytes:
    bare = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4))
    except binascii.Error:
        return b""
