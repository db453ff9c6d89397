"""Secrets that are bytes, looked for all at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np


class Needles:
    """Stretches of eight bytes, each of which stands for a secret."""

    def __init__(self, table: Mapping[bytes, tuple[str, str]]):
        self._what = dict(table)
        # A handful of zeros is in every file.
        told = [one for one in self._what if len(set(one)) >= 4]
        self._table = np.sort(np.frombuffer(b"".join(told), dtype="<u8"))

    def find(self, data: bytes) -> Iterator[tuple[tuple[str, str], int]]:
        """What is in *data* and where, each once."""
        seen = set()
        for shift in range(8 if len(self._table) else 0):
            count = (len(data) - shift) // 8
            if count <= 0:
                return
            values = np.frombuffer(data, dtype="<u8", count=count, offset=shift)
            places = np.searchsorted(self._table, values).clip(max=len(self._table) - 1)
            for index in np.flatnonzero(self._table[places] == values).tolist():
                what = self._what[int(values[index]).to_bytes(8, "little")]
                if what not in seen:
                    seen.add(what)
                    yield what, shift + 8 * index
