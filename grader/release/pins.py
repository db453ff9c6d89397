"""Keeps hidden cases and expected results in the gradebook, sealed if the release is."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.release import sealed

if TYPE_CHECKING:
    from grader.gradebook import Gradebook


@dataclass(frozen=True, slots=True)
class Pins:
    """What the author's code made for the variants of one release. **Secret.**"""

    book: Gradebook
    release: str
    """The release's ID."""
    key: sealed.PackKey | None = None
    """The key of the release's pack, if it is sealed."""

    def __call__(self, digest: str, make: Callable[[], object]) -> object:
        """Returns the JSON data kept under *digest*, or else the data from *make*, which it
        keeps."""
        name = f"{digest}/sealed" if self.key else digest
        stored = self.book.derived.find([name]).get(name)
        if stored is None:
            data = json.dumps(make(), separators=(",", ":")).encode()
            packed = sealed.seal(data, self.release, self.key) if self.key else zlib.compress(data)
            self.book.derived.keep({name: packed})
        else:
            data = sealed.unseal(stored, self.key) if self.key else zlib.decompress(stored)
        return json.loads(data)
