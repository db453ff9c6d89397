"""The decisions about answers whose automatic grade has changed since; reads only what changed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from threading import Lock

from grader.gradebook import Gradebook
from grader.model.desk import Decision


@dataclass(slots=True)
class OutdatedDecisions:
    """The outdated decisions of one gradebook. Any thread may read them."""

    _signatures: dict[str, tuple[object, ...]] = field(default_factory=dict)
    _decisions: dict[str, tuple[Decision, ...]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def of(self, book: Gradebook, students: Collection[str]) -> tuple[Decision, ...]:
        """Returns those about answers of *students*, oldest first."""
        with self._lock:
            now = book.answers.signatures().students
            changed = [id_ for id_ in students if self._signatures.get(id_) != now.get(id_, ())]
            if changed:
                read: dict[str, list[Decision]] = {}
                for one in book.decisions.list_outdated(changed):
                    read.setdefault(one.student, []).append(one)
                for id_ in changed:
                    self._decisions[id_] = tuple(read.get(id_, ()))
                    self._signatures[id_] = now.get(id_, ())
            found = [decision for id_ in students for decision in self._decisions[id_]]
        return tuple(sorted(found, key=lambda decision: decision.number))
