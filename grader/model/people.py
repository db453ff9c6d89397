"""A platform's numbers of people, and which platform's they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Numbers(Mapping[str, str]):
    """Numbers with the ids of students."""

    students: Mapping[str, str] = field(default_factory=dict)
    platform: str = ""
    """The one whose table it is, such as `Canvas`; empty for a table of somebody's own."""
    file: str = ""
    """Where the table was read."""

    def __getitem__(self, number: str) -> str:
        return self.students[number]

    def __iter__(self) -> Iterator[str]:
        return iter(self.students)

    def __len__(self) -> int:
        return len(self.students)
