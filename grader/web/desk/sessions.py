"""People who use the desk, what each role may do, and their sessions."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum, auto
from threading import Lock

from grader.model.course import Role, StaffMember

IDLE_SECONDS = 2 * 3600
"""Seconds without a request after which a session ends."""
SESSION_SECONDS = 12 * 3600
"""Seconds after which every session ends."""


class Capability(StrEnum):
    """Something that a person may do in the desk."""

    READ = auto()
    """Read the work and the marks of the students in the person's sections."""
    GRADE = auto()
    """Give points for answers, and undo one's own decisions."""
    CHANGE_RUBRIC = auto()
    """Add rubric items, and change them for all students of the person's sections."""
    CHANGE_MARK = auto()
    """Change any mark of a student."""
    ANSWER_REQUESTS = auto()
    """Take in regrade requests, and answer them."""
    UNDO_OTHERS = auto()
    """Undo decisions and answers of other people."""
    SETTLE = auto()
    """Decide which points count where two people graded independently and differ."""
    READ_LOG = auto()
    """Read the audit log, which is about the whole class."""
    SEARCH_IDEAS = auto()
    """Search the wrong answers of the whole class for ideas that they have in common."""
    SEE_NAMES = auto()
    """See the names of students although grading is anonymous."""
    WRITE_RESULTS = auto()
    """Write the grades and the feedback pages that students get."""


_READING = frozenset({Capability.READ})
_GRADING = _READING | {
    Capability.GRADE,
    Capability.CHANGE_RUBRIC,
    Capability.CHANGE_MARK,
    Capability.ANSWER_REQUESTS,
}
CAPABILITIES: Mapping[Role, frozenset[Capability]] = {
    Role.OBSERVER: _READING,
    Role.GRADER: _GRADING,
    Role.HEAD_GRADER: _GRADING
    | {
        Capability.UNDO_OTHERS,
        Capability.SETTLE,
        Capability.READ_LOG,
        Capability.SEARCH_IDEAS,
    },
    Role.INSTRUCTOR: frozenset(Capability),
}
"""What each role may do."""
WHOLE_CLASS = frozenset({Capability.READ_LOG, Capability.SEARCH_IDEAS})
"""What shows the whole class, so that people who see only some sections may not do it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A member of the staff who uses the desk."""

    id: str
    role: Role
    sections: tuple[str, ...] = ()
    """The sections that the person may see; all if empty."""
    wants_names: bool = False

    def may(self, capability: Capability) -> bool:
        """Returns whether the person may do this."""
        if self.sections and capability in WHOLE_CLASS:
            return False
        return capability in CAPABILITIES[self.role]

    @property
    def sees_names(self) -> bool:
        """Whether pages show names although grading is anonymous."""
        return self.wants_names and self.may(Capability.SEE_NAMES)


def person_of(id_: str, member: StaffMember) -> Person:
    """Returns the person that *member* of the course's staff is."""
    return Person(id=id_, role=member.role, sections=member.sections)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskSession:
    """A browser in which somebody is signed in."""

    person: Person
    form_token: str
    """Every form sends it back, so that other sites can't send forms in the person's name."""

    def accepts(self, token: str) -> bool:
        """Returns whether a form with *token* comes from a page of this session."""
        return hmac.compare_digest(self.form_token.encode(), token.encode())


@dataclass(slots=True, kw_only=True)
class _Entry:
    """What the desk remembers of a session."""

    person: str
    proof: str
    form_token: str
    start: float
    last_use: float
    wants_names: bool = False


class Sessions:
    """The sessions of one running desk. They end with the process, or earlier."""

    def __init__(
        self,
        find: Callable[[str, str], Person | None],
        now: Callable[[], float] = time.time,
    ):
        """Asks *find* at each request for the person with an id as of now, None to end the session.

        The second argument of *find* is what the person proved their identity with.
        """
        self._find = find
        self._now = now
        self._entries: dict[str, _Entry] = {}
        self._lock = Lock()

    def open(self, person: str, proof: str = "") -> str:
        """Returns the id of a new session."""
        id_, now = secrets.token_urlsafe(32), self._now()
        token = secrets.token_urlsafe(32)
        with self._lock:
            for old in [key for key, entry in self._entries.items() if _has_ended(entry, now)]:
                del self._entries[old]
            self._entries[id_] = _Entry(
                person=person, proof=proof, form_token=token, start=now, last_use=now
            )
        return id_

    def get(self, id_: str | None) -> DeskSession | None:
        """Returns the session with this id, None if there is none or it has ended.

        Raises GraderError if nobody can tell who the staff are.
        """
        now = self._now()
        with self._lock:
            entry = self._entries.get(id_ or "")
        if entry is None:
            return None
        person = None if _has_ended(entry, now) else self._find(entry.person, entry.proof)
        if person is None:
            self.close(id_)
            return None
        entry.last_use = now
        person = replace(person, wants_names=entry.wants_names)
        return DeskSession(person=person, form_token=entry.form_token)

    def show_names(self, id_: str | None, show: bool) -> None:
        """Sets whether the pages of a session show names although grading is anonymous."""
        with self._lock:
            if entry := self._entries.get(id_ or ""):
                entry.wants_names = show

    def close(self, id_: str | None) -> None:
        """Ends the session *id_*, if there is one."""
        with self._lock:
            self._entries.pop(id_ or "", None)


def _has_ended(entry: _Entry, now: float) -> bool:
    return now - entry.last_use > IDLE_SECONDS or now - entry.start > SESSION_SECONDS
