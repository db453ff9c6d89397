"""Who has which page of the desk open now. Kept in memory, and gone soon after a page is closed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from grader.model.desk import PartId

EVERY = 15
"""Seconds between two reports of a page that is open."""
_GONE = 40.0
"""Seconds after which somebody who does not report is gone."""


@dataclass(frozen=True, slots=True)
class OpenPage:
    """The page of an answer or of a student that somebody has open."""

    part: PartId | None = None
    """The part; None for the page of a student."""
    key: str = ""
    """What stands for the answer or for the student; names nobody."""


@dataclass(slots=True)
class Presence:
    """The places of the people who use a running desk; the newest of each."""

    clock: Callable[[], float] = time.monotonic
    _places: dict[str, tuple[OpenPage, float]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def report(self, person: str, place: OpenPage | None) -> None:
        """Stores where *person* is now; nowhere if None."""
        with self._lock:
            self._places.pop(person, None)
            if place is not None:
                self._places[person] = place, self.clock()

    def texts(self, person: str, here: OpenPage | None) -> dict[str, str]:
        """Returns what the page of *person* says about the others.

        `here` is about the same answer, part, or student, and each `PROBLEM/PART` about that part.
        """
        with self._lock:
            earliest = self.clock() - _GONE
            self._places = {p: one for p, one in self._places.items() if one[1] >= earliest}
            others = {p: place for p, (place, _) in sorted(self._places.items()) if p != person}
        texts: dict[str, str] = {}
        for part in {place.part for place in others.values() if place.part}:
            texts[str(part)] = ", ".join(p for p, seen in others.items() if seen.part == part)
        if here is not None:
            same = [p for p, seen in others.items() if seen == here]
            near = [p for p, seen in others.items() if seen.part == here.part and p not in same]
            texts["here"] = " ".join(_presence_sentences(same, near if here.part else [], here))
        return texts


def _presence_sentences(same: list[str], near: list[str], here: OpenPage) -> list[str]:
    subject = "this answer" if here.part else "this student's page"
    sentences = [f"{_join_names(same)} {subject} open."] if same else []
    return sentences + ([f"{_join_names(near)} another answer to this part open."] if near else [])


def _join_names(people: list[str]) -> str:
    text = " and ".join(filter(None, (", ".join(people[:-1]), people[-1])))
    return f"{text} {'has' if len(people) == 1 else 'have'}"
