"""Who may use the desk: links with tokens, sessions, and the tokens of forms."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.model.course import Role, StaffMember

COOKIE = "desk"
_LEVELS = {Role.OBSERVER: 0, Role.GRADER: 1, Role.INSTRUCTOR: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A staff member."""

    id: str
    role: Role
    sections: tuple[str, ...] = ()
    """The sections that the person may see; all if empty."""

    def may(self, role: Role) -> bool:
        """Returns whether the person may do what *role* may do."""
        return _LEVELS[self.role] >= _LEVELS[role]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A browser in which somebody has opened a link."""

    person: Person
    form_token: str
    """Every form sends it back, so that other sites can't send forms in the person's name."""

    def accepts(self, token: str) -> bool:
        """Returns whether a form with *token* comes from a page of this session."""
        return hmac.compare_digest(self.form_token.encode(), token.encode())


@dataclass(slots=True)
class Access:
    """The links and sessions of one running desk. They end with the process."""

    people: Mapping[str, Person]
    """By the token in the person's link."""
    _sessions: dict[str, Session] = field(default_factory=dict)

    def enter(self, token: str) -> str | None:
        """Returns the id of a new session for the person whose link has *token*; None if there is
        none."""
        found = [
            person
            for known, person in self.people.items()
            if hmac.compare_digest(known.encode(), token.encode())
        ]
        if not found:
            return None
        id_ = secrets.token_urlsafe(32)
        self._sessions[id_] = Session(person=found[0], form_token=secrets.token_urlsafe(32))
        return id_

    def session(self, id_: str | None) -> Session | None:
        """Returns the session with this id; None if there is none."""
        return self._sessions.get(id_ or "")


def one_person(id_: str) -> Access:
    """Returns the access of a desk that one person uses on their own machine."""
    return Access({secrets.token_urlsafe(24): Person(id=id_, role=Role.INSTRUCTOR)})


def staff_access(staff: Mapping[str, StaffMember]) -> Access:
    """Returns the access of a desk for everybody on the staff, each with a link of their own."""
    return Access(
        {
            secrets.token_urlsafe(24): Person(id=id_, role=one.role, sections=one.sections)
            for id_, one in staff.items()
        }
    )
