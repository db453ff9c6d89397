"""Decisions of people about answers, and the rubrics that they use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256

from grader.model.grade import Mark


@dataclass(frozen=True, slots=True, order=True)
class PartId:
    """A part of a problem, the same for all students whatever its number on their papers."""

    problem: str
    part: str

    def __str__(self) -> str:
        return f"{self.problem}/{self.part}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricItem:
    """One item of a rubric: what an answer does, and the points that this adds or takes."""

    number: int
    part: PartId
    text: str
    """What the answer does, in a few words, for the staff."""
    points: float
    """The points that it adds; negative if it takes some."""
    feedback: str = ""
    """What the student reads; *text* if empty."""
    is_retired: bool = False
    """Whether it can't be chosen any more; decisions that have it keep it."""

    @property
    def state(self) -> str:
        """A short digest of the item, which tells whether somebody has changed it."""
        fields = (self.text, self.points, self.feedback, self.is_retired)
        return sha256(repr(fields).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def as_data(self) -> dict[str, object]:
        """Returns the item as the audit log has it."""
        data = asdict(self)
        data["retired"] = data.pop("is_retired")
        return data


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a person chose for one answer."""

    items: tuple[int, ...] = ()
    """The numbers of the rubric's items."""
    points: float | None = None
    """Points instead of the items' sum; None for the sum."""
    comment: str = ""
    """What the student reads besides the items' feedback."""
    second_opinion: bool = False
    """Whether somebody else should look at it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChoice:
    """What a person chose for one answer, as it was stored."""

    number: int
    batch: int
    """Choices that were made together, such as for a group of equal answers."""
    student: str
    name: str
    """The answer's variable, such as `q4_why`."""
    choice: Choice
    points: float
    """The points of the choice: of a decision, those that it gave; else by the rubric of today."""
    by: str
    at: str
    is_undone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(StoredChoice):
    """A decision about one answer."""

    engine_points: float | None
    """The grader's own points at that time; None if open."""

    def as_answer(self, max_points: float) -> AnswerToDecide:
        """Returns the answer that this decision is about, to decide it again."""
        return AnswerToDecide(
            student=self.student,
            name=self.name,
            max_points=max_points,
            engine_points=self.engine_points,
            last_decision=self.number,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerToDecide:
    """One answer in a decision to store."""

    student: str
    name: str
    max_points: float
    engine_points: float | None
    last_decision: int
    """The number of the latest decision that the person saw; 0 for none."""
    key: str = ""
    """A digest of the answer, which two independent marks must share to be compared."""
    double: bool = False
    """Whether two people grade the answer independently."""
    last_mark: int = 0
    """The number of the latest independent mark that the person saw; 0 for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndependentMark(StoredChoice):
    """What one of two people who grade the same answer independently gave."""

    part: PartId
    key: str
    """A digest of the answer that the person read."""
    max_points: float


def visible_marks(marks: Sequence[IndependentMark], person: str) -> tuple[IndependentMark, ...]:
    """Returns those of an answer's *marks* that *person* may see: all of them if two people have
    graded the answer, or else only the person's own."""
    if len({mark.by for mark in marks}) > 1:
        return tuple(marks)
    return tuple(mark for mark in marks if mark.by == person)


def mean_choice(first: IndependentMark, second: IndependentMark) -> Choice:
    """Returns the choice that stands for two marks: their mean, with the words of both."""
    choice, other = first.choice, second.choice
    same = (choice.items, choice.points) == (other.items, other.points)
    comments = dict.fromkeys(text for c in (choice, other) if (text := c.comment.strip()))
    return Choice(
        items=tuple(sorted({*choice.items, *other.items})),
        points=choice.points if same else round((first.points + second.points) / 2, 6),
        comment="\n\n".join(comments),
        second_opinion=choice.second_opinion or other.second_opinion,
    )


def sum_points(choice: Choice, items: dict[int, RubricItem], max_points: float) -> float:
    """Returns the points of *choice*: as stated, or the items' sum from 0 to *max_points*."""
    if choice.points is not None:
        return min(choice.points, max_points)
    total = sum(items[number].points for number in choice.items if number in items)
    return round(min(max(total, 0.0), max_points), 6)


def reason_text(choice: Choice, items: dict[int, RubricItem]) -> str:
    """Returns what the student reads: the feedback of the items, then the comment."""
    chosen = [items[number] for number in choice.items if number in items]
    feedback = [(item.feedback or item.text).strip() for item in chosen]
    return "\n\n".join(text for text in (*feedback, choice.comment.strip()) if text)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartCount:
    """How far a part is graded, over the class."""

    part: PartId
    name: str
    """The answer's variable of some student."""
    kind: str
    answers: int
    waiting: int
    """Answers without points from the grader or a person."""
    decided_count: int
    """Answers with points from a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartAnswer:
    """One student's answer to a part, with the grader's own mark."""

    student: str
    name: str
    kind: str
    points: float | None
    max_points: float
    verdict: str
    mistake: str | None
    answer: str
    """As read; empty if there is none."""
    feedback: str
    refused: bool = False
    """Whether the student's notebook can't be read, so that there is nothing to grade."""

    @property
    def state(self) -> str:
        """The digest that `state_of` returns."""
        return state_of(self)


def state_of(mark: PartAnswer | Mark) -> str:
    """Returns a short digest of an answer and its mark, which tells whether either has changed."""
    verdict = str(mark.verdict)
    fields = (mark.name, mark.answer or "", verdict, mark.points, mark.max_points)
    return sha256(repr(fields).encode("utf-8", "surrogatepass")).hexdigest()[:16]
