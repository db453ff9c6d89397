"""Reads the answers of a class: of one part, those that wait for a person, and what has changed."""

from __future__ import annotations

from collections.abc import Collection

from grader.gradebook import parts
from grader.gradebook.signatures import (
    Signatures,
    read_general,
    read_grades_signature,
    read_signatures,
)
from grader.gradebook.store import Store
from grader.model.desk import PartAnswer, PartCount, PartId


class Answers:
    """The answers of a gradebook, each with the grader's own mark."""

    def __init__(self, store: Store):
        self._engine = store.engine
        self._signatures: Signatures | None = None
        """The last ones read, which count for as long as nothing has changed."""

    def counts(self, students: Collection[str] | None = None) -> tuple[PartCount, ...]:
        """Returns how far each part is graded, in the order of the first paper; only answers of
        *students* if given."""
        with self._engine.begin() as connection:
            return tuple(parts.count_parts(connection, students))

    def of_part(self, part: PartId) -> tuple[PartAnswer, ...]:
        """Returns every answer to *part*, by student, with the grader's own mark."""
        with self._engine.begin() as connection:
            return tuple(parts.read_part(connection, part))

    def waiting(self, students: Collection[str]) -> tuple[tuple[str, PartId, str, str], ...]:
        """Returns student, part, variable, and text of the answers of *students* without points."""
        with self._engine.begin() as connection:
            return tuple(parts.read_waiting(connection, students))

    def unreadable_students(self) -> frozenset[str]:
        """Returns the students whose notebook can't be read, and about whom nobody has decided."""
        with self._engine.begin() as connection:
            return frozenset(parts.read_refused(connection))

    def signatures(self) -> Signatures:
        """Returns what tells whether results have changed: the same object if they have not."""
        with self._engine.begin() as connection:
            current = read_signatures(connection, self._signatures)
        self._signatures = current
        return current

    def grades_signature(self) -> str:
        """Returns a digest that changes with the automatic grades, and not with decisions."""
        with self._engine.begin() as connection:
            return read_grades_signature(connection)

    def general_signature(self) -> int:
        """Returns the part of the signatures that all students share."""
        with self._engine.begin() as connection:
            return read_general(connection)
