"""Groups of equal answers, so that people decide once for all of them."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from grader.model import Verdict
from grader.model.desk import Decision, IndependentMark, PartAnswer

_SPACE = re.compile(r"\s+")
_ENDS = " .,;:!?\"'`()[]"
_MOST_COMPARED = 400
"""Most groups that are put in order of similarity; more are sorted by text."""

_Answered = tuple[PartAnswer, Decision | None, tuple[IndependentMark, ...]]
"""An answer with its decision, and with the independent marks that the reader may see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerGroup:
    """Answers that are equal after normalization, and decided alike so far."""

    text: str
    """The answer as one of the students wrote it."""
    key: str
    answers: tuple[PartAnswer, ...]
    decisions: tuple[Decision | None, ...]
    marks: tuple[tuple[IndependentMark, ...], ...] = ()
    """The independent marks of each answer that the reader may see, in the same order."""

    @property
    def why_unreadable(self) -> str:
        """Why the answer can't be read, which quotes what was written; empty if it was read, or
        if there is none."""
        first = self.answers[0]
        return first.feedback if first.verdict == Verdict.UNREADABLE else ""

    @property
    def is_settled(self) -> bool:
        """Whether every answer has points."""
        pairs = zip(self.answers, self.decisions, strict=True)
        return all(d is not None or a.points is not None for a, d in pairs)

    @property
    def people(self) -> frozenset[str]:
        """Who gave the independent marks that the reader may see."""
        return frozenset(mark.by for mark in (self.marks[0] if self.marks else ()))

    def waits_for(self, person: str, *, may_settle: bool) -> bool:
        """Returns whether *person* should grade the group now. *may_settle* says whether that
        person may decide what two others have graded differently."""
        if self.is_settled:
            return False
        return person not in self.people or (may_settle and len(self.people) > 1)


def normalize(text: str) -> str:
    """Returns *text* without differences that don't change what it says.

    >>> normalize("The  GIL,\\nof course.") == normalize("the GIL, of course")
    True
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _SPACE.sub(" ", folded).strip(_ENDS)


def answer_key(text: str) -> str:
    """Returns a digest of an answer, the same for all answers of a group."""
    return _digest(normalize(text))


def _digest(normalized: str) -> str:
    data = normalized.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def group_answers(
    answers: Iterable[PartAnswer],
    decisions: Mapping[tuple[str, str], Decision],
    marks: Mapping[tuple[str, str, str], tuple[IndependentMark, ...]],
) -> tuple[AnswerGroup, ...]:
    """Returns *answers* in groups; near groups are neighbors, and larger groups come first.

    Answers of a group have equal texts, marks of the grader, decisions, and *marks*, so that one
    decision fits all of them.
    """
    by_key: dict[tuple[str, *tuple[object, ...]], list[_Answered]] = {}
    for answer in answers:
        decision = decisions.get((answer.student, answer.name))
        state = (decision.choice, decision.points) if decision else None
        mark = (answer.points, answer.max_points, answer.verdict, answer.mistake)
        # Only the feedback tells apart answers that can't be read: it quotes them.
        quoted = answer.feedback if answer.verdict == Verdict.UNREADABLE else ""
        text = normalize(answer.answer)
        digest = _digest(text) if marks else ""
        mine = marks.get((answer.student, answer.name, digest), ())
        mark_contents = tuple((one.by, one.choice, one.points) for one in mine)
        key = text, quoted, mark, state, mark_contents
        by_key.setdefault(key, []).append((answer, decision, mine))
    groups = [make_group(_digest(key[0]), entries) for key, entries in by_key.items()]
    return tuple(sort_by_similarity(groups, [key[0] for key in by_key]))


def make_group(key: str, entries: Sequence[_Answered]) -> AnswerGroup:
    """Returns the group of answers with the digest *key*, from answers, decisions, and marks."""
    answers, decisions, marks = zip(*entries, strict=True)
    return AnswerGroup(
        text=answers[0].answer, key=key, answers=answers, decisions=decisions, marks=marks
    )


def sort_by_similarity(groups: Sequence[AnswerGroup], texts: Sequence[str]) -> list[AnswerGroup]:
    """Returns *groups*, whose normalized texts are *texts*, so that each is followed by the one
    whose words are most like its own.

    Starts with the largest group. The similarity is the Jaccard index of the sets of words.
    """
    if len(groups) > _MOST_COMPARED:
        return [groups[at] for at in sorted(range(len(groups)), key=texts.__getitem__)]
    places = sorted(range(len(groups)), key=lambda at: (-len(groups[at].answers), texts[at]))
    order = _similarity_order(tuple(texts[at] for at in places))
    return [groups[places[at]] for at in order]


@lru_cache(maxsize=128)
def _similarity_order(texts: tuple[str, ...]) -> tuple[int, ...]:
    """Returns the positions of *texts*, from the first to the one most like it, and so on."""
    sets = [frozenset(text.split()) for text in texts]
    remaining, order = list(range(1, len(texts))), [0] if texts else []
    while remaining:
        last = sets[order[-1]]
        nearest = max(remaining, key=lambda at: _jaccard(last, sets[at]))
        remaining.remove(nearest)
        order.append(nearest)
    return tuple(order)


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    both = len(one) + len(other) - shared
    return shared / both if both else 1.0
