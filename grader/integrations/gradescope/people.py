"""Who handed in, by what Gradescope says of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from grader.model import Student


class SubmitterFinder:
    """Finds a release's students by what Gradescope knows about its users."""

    def __init__(self, students: Mapping[str, Student]):
        self._by_email = _unique_ids((s.email, s.id) for s in students.values() if s.email)
        self._by_id = _unique_ids((name, name) for name in students)
        # If the roster has an e-mail, only it counts: another domain is another person.
        self._bare = {s.id for s in students.values() if not s.email}

    def of(self, metadata: Mapping[str, Any]) -> tuple[str, ...]:
        """The ids of all submitters that the release has, without duplicates."""
        found = (self._find_student(user) for user in users_of(metadata))
        return tuple(dict.fromkeys(name for name in found if name is not None))

    def _find_student(self, user: Mapping[str, Any]) -> str | None:
        email, number = _fold_text(user.get("email")), _fold_text(user.get("id"))
        local = self._by_id.get(email.partition("@")[0]) if email else None
        return (
            self._by_email.get(email)
            or (self._by_id.get(number) if number else None)
            or (self._by_id.get(email) if email else None)
            or (local if local in self._bare else None)
        )


def users_of(metadata: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Gradescope's records of all submitters."""
    listed = metadata.get("users")
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def submitter_names(metadata: Mapping[str, Any]) -> str:
    """The e-mails or user numbers of all submitters, for a message."""
    shown = (
        _fold_text(u.get("email")) or f"user {_fold_text(u.get('id'))}" for u in users_of(metadata)
    )
    return ", ".join(shown) or "nobody"


def _fold_text(value: object) -> str:
    return str(value).strip().casefold() if isinstance(value, (str, int)) else ""


def _unique_ids(pairs: Iterator[tuple[str, str]]) -> dict[str, str]:
    """Maps folded names to ids; drops names that two students share."""
    found: dict[str, str] = {}
    twice: set[str] = set()
    for name, student in pairs:
        folded = name.strip().casefold()
        if found.setdefault(folded, student) != student:
            twice.add(folded)
    return {name: student for name, student in found.items() if name not in twice}
