"""What a search for leaks takes and finds, and how much it may read."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

LATE = "the time was used up"
"""Why something was not searched that more time would have reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much is read at most; what lies beyond is named, and then nothing is said to be clean."""

    file_bytes: int = 48 * 2**20
    """Of one file, object or member of an archive."""
    unpacked_bytes: int = 256 * 2**20
    """Of everything that comes out of archives and compressed streams, together."""
    text_characters: int = 4 * 2**20
    """Of one text whose encodings are undone; of a longer one only the plain text is searched."""
    depth: int = 6
    """Of archives in archives."""
    entries: int = 200_000
    """Files, and members of archives."""
    objects: int = 500_000
    """Of one git repository."""
    seconds: float = 1800.0
    findings: int = 200


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Finding:
    """One thing that a student must not get, and where it is."""

    path: str
    """A file, `commit:file` in a repository's history, with ` > member` for archives."""
    line: int | None
    kind: str
    """Such as `key`, `private key`, `hidden case`, `solution`."""
    detail: str
    """What it is the key of, or a part of; the secret itself is masked."""
    how: tuple[str, ...] = ()
    """The encodings that had to be undone, outermost first."""

    @property
    def place(self) -> str:
        """Where it is, as editors take it."""
        return self.path if self.line is None else f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some bytes that are searched, and where they come from."""

    path: str
    data: bytes
    how: tuple[str, ...] = ()
    line: int | None = None
    """Of all of it, when it came out of a line of something else."""
    depth: int = 0
    is_name: bool = False
    """Whether these are names of files rather than what is in one."""
    sections: tuple[tuple[int, str], ...] = ()
    """The first line of each part that has a name of its own, such as the cells of a notebook."""


@dataclass(kw_only=True)
class Budget:
    """What is left of the bounds, and what could not be read."""

    bounds: Bounds
    unread: list[tuple[str, str]] = field(default_factory=list)
    """Path and reason."""
    entries: int = 0
    bytes: int = 0
    _unpacked: int = 0
    _ends: float = 0.0

    def __post_init__(self) -> None:
        self._ends = time.monotonic() + self.bounds.seconds

    @property
    def late(self) -> bool:
        """Whether the time is used up."""
        return time.monotonic() > self._ends

    @property
    def room(self) -> int:
        """How many bytes may still be unpacked, of one stream."""
        left = self.bounds.unpacked_bytes - self._unpacked
        return max(0, min(left, self.bounds.file_bytes))

    def unpacked(self, size: int) -> None:
        """Counts what came out of an archive."""
        self._unpacked += size

    def entry(self, path: str) -> bool:
        """Counts one more file; False when there are too many."""
        self.entries += 1
        if self.entries == self.bounds.entries + 1:
            self.skip(path, f"there are more than {self.bounds.entries} files")
        return self.entries <= self.bounds.entries

    def skip(self, path: str, why: str) -> None:
        """Remembers what was not searched."""
        if len(self.unread) < 100:
            self.unread.append((path, why))


def masked(secret: str) -> str:
    """Enough of a secret to know it when one sees it."""
    secret = " ".join(secret.split())
    return f"{secret[: len(secret) // 4][:4]}…" if len(secret) >= 4 else "…"
