"""Collects notices about files, limited so that one student's can't crowd out another's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from grader.collect.names import Notice, display_name
from grader.words import counted

EACH = 20
"""Maximum notices about the files of one student, warnings first."""
MOST = 1_000
"""Maximum notices in total, except that the first warning about every student is kept."""
_NAMED = 5
"""Maximum students named in the notice about omitted notices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoredNotice:
    turn: int
    """Number of earlier notices of the same level about the same student's files."""
    number: int
    """Number of all earlier notices."""
    owner: str | None
    notice: Notice

    @property
    def rank(self) -> tuple[bool, int, int]:
        """The sort key: warnings first, and every student's first before anyone's second."""
        return self.notice.level != "warning", self.turn, self.number


class Notices:
    """Notices by student; beyond the limits, they are only counted."""

    def __init__(self) -> None:
        self._said: dict[str | None, dict[str, list[_StoredNotice]]] = {}
        self._counts: Counter[str | None] = Counter()
        self._number = 0
        self._warnings = 0

    def add(self, owner: str | None, one: Notice) -> None:
        """Adds a notice about a file of the student *owner*, or of an unknown one if None."""
        one = replace(one, student=owner or "")
        mine = self._said.setdefault(owner, {}).setdefault(one.level, [])
        if len(mine) < _limit_for(owner):
            mine.append(_StoredNotice(turn=len(mine), number=self._number, owner=owner, notice=one))
        self._counts[owner] += 1
        self._number += 1
        self._warnings += one.level == "warning"

    def all(self) -> tuple[Notice, ...]:
        """Returns the notices in order. If there are too many, warnings come first, and the last
        notice counts those omitted."""
        kept = list(self._candidates())
        if len(kept) < self._number or self._number > MOST:
            kept.sort(key=lambda one: one.rank)
            first = sum(one.rank[:2] == (False, 0) for one in kept)
            kept = kept[: max(first, MOST - 1)]
            kept.sort(key=lambda one: (one.rank[0], one.number))
            return (*(one.notice for one in kept), self._omitted_notice(kept))
        return tuple(one.notice for one in sorted(kept, key=lambda one: one.number))

    def _candidates(self) -> Iterator[_StoredNotice]:
        for owner, levels in self._said.items():
            both = [*levels.get("warning", ()), *levels.get("info", ())]
            yield from both[: _limit_for(owner)]

    def _omitted_notice(self, kept: Iterable[_StoredNotice]) -> Notice:
        """Returns the notice that counts those not in *kept*."""
        left = self._counts - Counter(one.owner for one in kept)
        text = f"and {counted(left.total(), 'more notice')}"
        named = [
            f"{n} about '{display_name(owner)}'" for owner, n in left.most_common(_NAMED) if owner
        ]
        if named:
            text += f", of these {', '.join(named)}"
        shown = sum(one.notice.level == "warning" for one in kept)
        return Notice(level="warning" if shown < self._warnings else "info", path="…", text=text)


def _limit_for(owner: str | None) -> int:
    return MOST if owner is None else EACH
