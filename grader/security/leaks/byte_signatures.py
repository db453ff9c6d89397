"""Searches for all binary secrets at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np


class Needles:
    """Sequences of eight bytes, each of which identifies a secret."""

    def __init__(self, table: Mapping[bytes, tuple[str, str]]):
        self._what = dict(table)
        # Runs of zeros are in every file.
        told = [one for one in self._what if len(set(one)) >= 4]
        self._table = np.sort(np.frombuffer(b"".join(told), dtype="<u8"))

    def find(self, data: bytes) -> Iterator[tuple[tuple[str, str], int]]:
        """Each secret found in *data* once, with its position."""
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
