"""What was read about a class, of which only what has changed is read again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, TypeVar

from grader.gradebook import Gradebook
from grader.gradebook.signatures import Signatures
from grader.grading.sources import ResultSource, rows_of, source_of
from grader.model.result import Row


@dataclass(slots=True)
class ClassRows:
    """The rows of one gradebook. Any thread may read them."""

    _signatures: Signatures | None = None
    _source: ResultSource | None = None
    _general: int = 0
    """The general signature at the time when *_source* was read."""
    _rows: dict[str, Row] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def read(self, book: Gradebook) -> Mapping[str, Row]:
        """Returns the current row of every student, by ID."""
        with self._lock:
            return self._update(book)

    def source(self, book: Gradebook) -> ResultSource:
        """Returns the origin of the results in *book*."""
        with self._lock:
            now = book.answers.general_signature()
            if self._source is None or self._general != now:
                self._source, self._general = source_of(book), now
            return self._source

    def _update(self, book: Gradebook) -> Mapping[str, Row]:
        before = self._signatures
        now = book.answers.signatures()
        if now is before:
            return self._rows
        if before is None or self._source is None or before.general != now.general:
            self._source, self._general = source_of(book), now.general
            self._rows = {row.student.id: row for row in rows_of(book, self._source)}
        elif before.students != now.students:
            both = before.students.keys() | now.students.keys()
            changed = {s for s in both if before.students.get(s) != now.students.get(s)}
            found = rows_of(book, self._source, only=changed)
            self._rows = self._rows | {row.student.id: row for row in found}
        self._signatures = now
        return self._rows


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
