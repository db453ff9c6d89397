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
            before, now = self._signatures, book.answers.signatures()
            if now is before:
                return self._rows
            source = self._read_source(book, now.general)
            if before is None or before.general != now.general:
                self._rows = {row.student.id: row for row in rows_of(book, source)}
            elif before.students != now.students:
                students = before.students.keys() | now.students.keys()
                changed = {s for s in students if before.students.get(s) != now.students.get(s)}
                new_rows = rows_of(book, source, only=changed)
                self._rows = self._rows | {row.student.id: row for row in new_rows}
            self._signatures = now
            return self._rows

    def source(self, book: Gradebook) -> ResultSource:
        """Returns the origin of the results in *book*."""
        with self._lock:
            return self._read_source(book, book.answers.general_signature())

    def _read_source(self, book: Gradebook, general: int) -> ResultSource:
        if self._source is None or self._general != general:
            self._source, self._general = source_of(book), general
        return self._source


T = TypeVar("T")


@dataclass(slots=True)
class StudentCache(Generic[T]):
    """What was read from one gradebook, by student. Any thread may use it."""

    _cache: dict[str, tuple[object, list[T]]] = field(default_factory=dict)
    """What the entries of each student depend on, and the entries."""
    _lock: Lock = field(default_factory=Lock)

    def entries_for(
        self,
        book: Gradebook,
        students: Mapping[str, object],
        read: Callable[[Collection[str]], Iterable[tuple[str, T]]],
    ) -> list[T]:
        """Returns the entries of *students*, in the order of *students*.

        Reads only the entries of students that changed since the last call: those whose results in
        *book* or whose values in *students* differ. *read* takes the ids of these students, and
        yields pairs of an id and an entry.
        """
        with self._lock:
            signatures = book.answers.signatures().students
            states = {id_: (signatures.get(id_, ()), value) for id_, value in students.items()}
            changed = [id_ for id_ in states if self._cache.get(id_, (None,))[0] != states[id_]]
            new_entries: dict[str, list[T]] = {id_: [] for id_ in changed}
            for id_, entry in read(changed) if changed else ():
                new_entries[id_].append(entry)
            self._cache.update({id_: (states[id_], new_entries[id_]) for id_ in changed})
            return [entry for id_ in students for entry in self._cache[id_][1]]
