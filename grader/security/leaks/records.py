"""The records of a search for leaks: findings, and bounds on what it reads."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

LATE = "the time limit was reached"
"""The reason why a file was not searched for lack of time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Bounds on what is read. What exceeds them is listed, and the result is not clean."""

    file_bytes: int = 48 * 2**20
    """Bytes read of one file, object or archive member."""
    unpacked_bytes: int = 256 * 2**20
    """Total bytes unpacked from archives and compressed streams."""
    text_characters: int = 4 * 2**20
    """Characters of a text in which encodings are undone; a longer one is only searched plain."""
    depth: int = 6
    """Levels of archives in archives."""
    entries: int = 200_000
    """Files and archive members."""
    objects: int = 500_000
    """Objects of one git repository."""
    seconds: float = 1800.0
    findings: int = 200


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Finding:
    """A secret in the files that students would get, and its place."""

    path: str
    """A file, `commit:file` in a repository's history, with ` > member` for archives."""
    line: int | None
    kind: str
    """Such as `key`, `private key`, `hidden case`, `solution`."""
    detail: str
    """Which answer or problem it belongs to; the secret itself is masked."""
    how: tuple[str, ...] = ()
    """The encodings that had to be undone, outermost first."""

    @property
    def place(self) -> str:
        """The place in the form that editors accept."""
        return self.path if self.line is None else f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Bytes to search, and where they come from."""

    path: str
    data: bytes
    how: tuple[str, ...] = ()
    line: int | None = None
    """The line of all its contents, if they came from one line of another file."""
    depth: int = 0
    is_name: bool = False
    """Whether these bytes are file names instead of file contents."""
    sections: tuple[tuple[int, str], ...] = ()
    """The first line of each named section, such as a cell of a notebook."""


@dataclass(kw_only=True)
class Budget:
    """The remaining budget of a search, and what was not searched."""

    bounds: Bounds
    unread: list[tuple[str, str]] = field(default_factory=list)
    """Path and reason for each."""
    entries: int = 0
    bytes: int = 0
    _unpacked: int = 0
    _ends: float = 0.0

    def __post_init__(self) -> None:
        self._ends = time.monotonic() + self.bounds.seconds

    @property
    def late(self) -> bool:
        """Whether the time limit was reached."""
        return time.monotonic() > self._ends

    @property
    def room(self) -> int:
        """How many bytes may still be unpacked from one stream."""
        left = self.bounds.unpacked_bytes - self._unpacked
        return max(0, min(left, self.bounds.file_bytes))

    def unpacked(self, size: int) -> None:
        """Counts bytes unpacked from an archive."""
        self._unpacked += size

    def entry(self, path: str) -> bool:
        """Counts one more file; False when there are too many."""
        self.entries += 1
        if self.entries == self.bounds.entries + 1:
            self.skip(path, f"there are more than {self.bounds.entries} files")
        return self.entries <= self.bounds.entries

    def skip(self, path: str, why: str) -> None:
        """Records that *path* was not searched."""
        if len(self.unread) < 100:
            self.unread.append((path, why))


def masked(secret: str) -> str:
    """The first characters of a secret, enough to recognize it."""
    secret = " ".join(secret.split())
    return f"{secret[: len(secret) // 4][:4]}…" if len(secret) >= 4 else "…"
