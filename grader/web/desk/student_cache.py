"""What was read about each student of a class, of which only what has changed is read again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, TypeVar

from grader.gradebook import Gradebook

T = TypeVar("T")


@dataclass(slots=True)
class StudentCache(Generic[T]):
    """What was read from one gradebook, by student. Any thread may use it."""

    _known: dict[str, tuple[object, list[T]]] = field(default_factory=dict)
    """What the entries depend on, and the entries."""
    _lock: Lock = field(default_factory=Lock)

    def of(
        self,
        book: Gradebook,
        students: Mapping[str, object],
        read: Callable[[Collection[str]], Iterable[tuple[str, T]]],
    ) -> list[T]:
        """Returns the entries about *students*.

        *read* returns students with their entries, which depend on their results and on the
        students' values in *students*.
        """
        with self._lock:
            now = book.answers.signatures().students
            state = {id_: (now.get(id_, ()), value) for id_, value in students.items()}
            changed = [id_ for id_ in state if self._known.get(id_, (None,))[0] != state[id_]]
            new: dict[str, list[T]] = {id_: [] for id_ in changed}
            for id_, entry in read(changed) if changed else ():
                new[id_].append(entry)
            self._known.update({id_: (state[id_], entries) for id_, entries in new.items()})
            return [entry for id_ in students for entry in self._known[id_][1]]
