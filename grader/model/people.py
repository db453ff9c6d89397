"""Maps a platform's user numbers to student ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UserNumbers(Mapping[str, str]):
    """Student ids by user number."""

    students: Mapping[str, str] = field(default_factory=dict)
    platform: str = ""
    """The platform of the table, such as `Canvas`; empty for a table written by hand."""
    file: str = ""
    """The file that the table was read from."""

    def __getitem__(self, number: str) -> str:
        return self.students[number]

    def __iter__(self) -> Iterator[str]:
        return iter(self.students)

    def __len__(self) -> int:
        return len(self.students)
