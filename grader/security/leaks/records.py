"""The records of a search for leaks: findings, and bounds on what it reads."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

LATE = "the time limit was reached"
"""The reason why a file was not searched for lack of time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchLimits:
    """Bounds on what is read. What exceeds them is listed, and the result is not clean."""

    file_bytes: int = 48 * 2**20
    """Bytes read of one file, git object, or archive member."""
    unpacked_bytes: int = 256 * 2**20
    """Total bytes unpacked from archives."""
    depth: int = 6
    """Levels of archives in archives."""
    entries: int = 200_000
    """Files and archive members."""
    seconds: float = 1800.0
    findings: int = 200


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Leak:
    """A secret in the files that students would get, and its place."""

    path: str
    """A file, or `commit:file` in a repository's history, with ` > member` for archives."""
    line: int | None
    kind: str
    """Such as `key`, `private key`, `hidden case`, `solution`."""
    detail: str
    """The answer or problem that it belongs to; the secret itself is masked."""
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
    """The first line and the name of each section, such as a cell of a notebook."""


@dataclass(kw_only=True)
class SearchBudget:
    """The remaining budget of a search, and what was not searched."""

    bounds: SearchLimits
    unread: list[tuple[str, str]] = field(default_factory=list)
    """Path and reason for each."""
    _entries: int = 0
    _unpacked_bytes: int = 0
    _end: float = 0.0

    def __post_init__(self) -> None:
        self._end = time.monotonic() + self.bounds.seconds

    @property
    def is_late(self) -> bool:
        """Whether the time limit was reached."""
        return time.monotonic() > self._end

    @property
    def room(self) -> int:
        """How many bytes may still be unpacked from one archive member."""
        left = self.bounds.unpacked_bytes - self._unpacked_bytes
        return max(0, min(left, self.bounds.file_bytes))

    def count_unpacked(self, size: int) -> None:
        """Counts bytes unpacked from an archive."""
        self._unpacked_bytes += size

    def count_entry(self, path: str) -> bool:
        """Counts one more file. Returns False if there are too many."""
        self._entries += 1
        if self._entries == self.bounds.entries + 1:
            self.skip(path, f"there are more than {self.bounds.entries} files")
        return self._entries <= self.bounds.entries

    def skip(self, path: str, why: str) -> None:
        """Records that *path* was not searched."""
        if len(self.unread) < 100:
            self.unread.append((path, why))


def mask(secret: str) -> str:
    """Returns the first characters of a secret, enough to recognize it."""
    secret = " ".join(secret.split())
    return f"{secret[: len(secret) // 4][:4]}…" if len(secret) >= 4 else "…"
