"""Students' requests for a regrade, and what the staff answered."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

MAX_TEXT = 4_000
"""Maximum characters of a request."""


class RequestState(StrEnum):
    """The state of a request."""

    OPEN = "open"
    ACCEPTED = "accepted"
    """The mark was changed."""
    DECLINED = "declined"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestAnswer:
    """What a staff member answered."""

    number: int
    outcome: RequestState
    reply: str
    """What the student reads."""
    by: str
    at: str
    batch: int | None = None
    """The decision that changed the mark; None if the request was declined."""
    is_undone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RegradeRequest:
    """A student's request to grade one answer again."""

    number: int
    student: str
    name: str
    """The answer's variable, such as `q4_why`."""
    text: str
    """Plain text from the student."""
    points: float | None
    """The points when the request was received; None if the mark was open."""
    at: str
    answers: tuple[RequestAnswer, ...] = ()
    """All answers, oldest first, including undone ones."""

    @property
    def answer(self) -> RequestAnswer | None:
        """The answer that counts; None while the request is open."""
        return next((one for one in reversed(self.answers) if not one.is_undone), None)

    @property
    def state(self) -> RequestState:
        """The state of the request."""
        return self.answer.outcome if self.answer else RequestState.OPEN


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRequest:
    """A student's request for a regrade that has not been stored yet."""

    student: str
    name: str
    text: str
    points: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestForm:
    """What the form on a student's feedback page puts into the file."""

    token: str
    """Shows that the file comes from the page of this student."""
