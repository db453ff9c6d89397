"""Collects notices about files, limited so that one student's can't crowd out another's."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from grader.collect.entries import Notice, display_name
from grader.text.words import count_of

EACH = 20
"""Maximum notices about the files of one student, warnings first."""
MOST = 1_000
"""Maximum notices in total, except that the first warning about every student is kept."""
_NAMED = 5


class Notices:
    """Notices by student; beyond the limits, they are only counted."""

    def __init__(self) -> None:
        self._notices: list[Notice] = []

    def add(self, owner: str | None, notice: Notice) -> None:
        """Adds a notice about a file of the student *owner*, or of an unknown one if None."""
        self._notices.append(replace(notice, student=owner or ""))

    def all(self) -> tuple[Notice, ...]:
        """Returns the notices in order. If there are too many, the last one counts the rest."""
        # Sorted, warnings come first, and every student's first one before anyone's second.
        ranked: list[tuple[bool, int, int, Notice]] = []
        turns: Counter[tuple[str, bool]] = Counter()
        for number, notice in enumerate(self._notices):
            minor = notice.level != "warning"
            ranked.append((minor, turns[notice.student, minor], number, notice))
            turns[notice.student, minor] += 1
        kept = [
            (minor, turn, number, notice)
            for minor, turn, number, notice in ranked
            if turn + minor * turns[notice.student, False] < (EACH if notice.student else MOST)
        ]
        if len(kept) == len(ranked) <= MOST:
            return tuple(self._notices)
        kept.sort()
        first = sum(rank[:2] == (False, 0) for rank in kept)
        kept = sorted(kept[: max(first, MOST - 1)], key=lambda rank: (rank[0], rank[2]))
        shown = [notice for *_, notice in kept]
        return (*shown, self._omitted_notice(shown))

    def _omitted_notice(self, shown: list[Notice]) -> Notice:
        """Returns the notice that counts those that are not *shown*."""
        omitted = Counter(notice.student for notice in self._notices)
        omitted -= Counter(notice.student for notice in shown)
        text = f"and {count_of(omitted.total(), 'more notice')}"
        named = [
            f"{n} about '{display_name(owner)}'"
            for owner, n in omitted.most_common(_NAMED)
            if owner
        ]
        if named:
            text += f", of these {', '.join(named)}"
        lost = Counter(notice.level for notice in self._notices) - Counter(
            notice.level for notice in shown
        )
        return Notice(level="warning" if lost["warning"] else "info", path="…", text=text)
