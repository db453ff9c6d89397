"""The page of one part: the answers of the class in groups, and the group to grade now."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from grader.errors import SetupError
from grader.gradebook import Gradebook
from grader.grading.manual import answer_to_read
from grader.model.desk import (
    Choice,
    Decision,
    IndependentMark,
    PartAnswer,
    PartId,
    RubricItem,
    visible_marks,
)
from grader.report.part_lines import PartLine
from grader.report.summary import summarize_part
from grader.web.desk.calls import DeskCall
from grader.web.desk.groups import AnswerGroup, answer_key, group_answers, make_group
from grader.web.desk.pages import Names
from grader.web.desk.sessions import Capability, Person
from grader.web.desk.shares import Shares


@dataclass(frozen=True, slots=True, kw_only=True)
class PartPage:
    """The answers of the class to one part, in groups."""

    part: PartId
    kind: str
    max_points: float
    ask: str
    rubric: str
    has_criteria: bool
    """Whether the spec has criteria that can become items of the rubric."""
    items: tuple[RubricItem, ...]
    groups: tuple[AnswerGroup, ...]
    index: int
    """The group to grade now, or the nearest one."""
    current: AnswerGroup
    """The answers to grade now: a group, or those of a form that was not stored."""
    owners: tuple[tuple[str, ...], ...]
    """Whose share each group is in; empty if answers are not divided."""
    mine_left: int
    """How many answers in the reader's share wait for the reader."""
    others_left: int
    """How many other answers wait for the reader."""
    by_share: bool
    """Whether the page goes through the reader's share alone."""
    is_double_graded: bool
    """Whether two people grade the current group independently."""
    may_settle: bool
    """Whether the reader may decide what two others graded."""
    entry: Choice | None
    statistics: PartLine | None
    """The numbers of the part over the students whom the reader may see."""

    @property
    def open_count(self) -> int:
        """How many answers have no points yet."""
        return sum(len(group.answers) for group in self.groups if not group.is_settled)

    @property
    def marks(self) -> tuple[IndependentMark, ...]:
        """The independent marks of the current group that the reader may see."""
        return self.current.marks[0] if self.current.marks else ()

    @property
    def given_marks(self) -> tuple[Decision | IndependentMark, ...]:
        """The distinct marks and decisions that people have given the current group."""
        every: list[Decision | IndependentMark] = []
        every += [mark for mine in self.current.marks for mark in mine]
        every += [decision for decision in self.current.decisions if decision is not None]
        return tuple({(one.by, one.points, one.choice): one for one in every}.values())

    @property
    def has_disagreement(self) -> bool:
        """Whether two people graded the current group, and nobody has decided yet."""
        return len(self.current.people) > 1 and not self.current.is_settled

    def may_decide(self, person: Person) -> bool:
        """Returns whether *person* may grade the current group."""
        return (
            len(self.current.people) < 2 or person.id not in self.current.people or self.may_settle
        )


def part_page(
    call: DeskCall,
    part: PartId,
    *,
    index: int | None = None,
    everything: bool = False,
    entry: Choice | None = None,
    unsaved: Collection[str] = (),
) -> PartPage:
    """Returns the page of *part*, at the group *index*, or at the first that waits.

    Without *everything*, that is the first one in the reader's share. *entry* is what a form had,
    and *unsaved* the students whose answers were not stored with it. Raises SetupError if no
    student was asked this part.
    """
    book, names, person = call.book, call.names, call.person
    answers = (answer for answer in book.answers.of_part(part) if not answer.refused)
    shown_answers = [answer for answer in answers if answer.student in names.students]
    if names.secret:  # the order of the ids would tell something
        shown_answers.sort(key=lambda one: names.address(one.student))
    if not shown_answers:
        raise SetupError(f"no student has an answer to '{part}' here", fix="go back to the queue")
    shares, may_settle = call.desk.shares(book), person.may(Capability.SETTLE)
    groups = _groups_of(book, part, shown_answers, person)
    owners = tuple(_owners_of(shares, part, group, names) for group in groups)
    waits = [group.waits_for(person.id, may_settle=may_settle) for group in groups]
    mine = [person.id in owner for owner in owners]
    by_share = any(mine) and not everything
    if index is None:
        eligible = [at for at, is_mine in enumerate(mine) if is_mine or not by_share]
        index = next((at for at in eligible if waits[at]), eligible[0])
    index = min(max(index, 0), len(groups) - 1)
    current = groups[index]
    if unsaved:
        index, current = _unsaved_group(groups, unsaved)
    first = current.answers[0]
    question = answer_to_read(book, first.student, first.name)
    sizes = [len(g.answers) if wait else 0 for g, wait in zip(groups, waits, strict=True)]
    mine_left = sum(size for size, is_mine in zip(sizes, mine, strict=True) if is_mine)
    return PartPage(
        part=part,
        kind=first.kind,
        max_points=first.max_points,
        ask=question.ask,
        rubric=question.rubric,
        has_criteria=first.kind == "explanation" and bool(question.rubric),
        items=book.rubrics.items(part),
        groups=groups,
        index=index,
        current=current,
        owners=owners if shares and shares.are_divided else (),
        mine_left=mine_left,
        others_left=sum(sizes) - mine_left,
        by_share=by_share,
        is_double_graded=is_double(shares, part, first),
        may_settle=may_settle,
        entry=entry or _initial_choice(current),
        statistics=summarize_part(call.desk.rows(book, names), part.problem, part.part),
    )


def is_double(shares: Shares | None, part: PartId, answer: PartAnswer) -> bool:
    """Returns whether two people grade *answer* independently."""
    if shares is None or answer.points is not None:
        return False
    return shares.is_double(part, answer_key(answer.answer))


def _groups_of(
    book: Gradebook, part: PartId, answers: list[PartAnswer], person: Person
) -> tuple[AnswerGroup, ...]:
    """Returns the answers in groups, with the marks that *person* may see."""
    decisions = book.decisions.current({one.name for one in answers})
    marks = book.double.by_answer(part)
    visible = {answer: visible_marks(mine, person.id) for answer, mine in marks.items()}
    return group_answers(answers, decisions, visible)


def _owners_of(
    shares: Shares | None, part: PartId, group: AnswerGroup, names: Names
) -> tuple[str, ...]:
    """Returns the ids of the people in whose share the group is; none if nothing is divided."""
    if shares is None:
        return ()
    sections = {names.students[answer.student].section for answer in group.answers}
    people = (shares.graders_of(part, group.key, section) for section in sorted(sections))
    return tuple(dict.fromkeys(one for graders in people for one in graders))


def _unsaved_group(
    groups: tuple[AnswerGroup, ...], unsaved: Collection[str]
) -> tuple[int, AnswerGroup]:
    """Returns the place of the first group with *unsaved* students, and their equal answers."""
    entries = [
        (at, group.key, entry)
        for at, group in enumerate(groups)
        for entry in zip(group.answers, group.decisions, group.marks, strict=True)
        if entry[0].student in unsaved
    ]
    if not entries:
        return 0, groups[0]
    at, key, _ = entries[0]
    return at, make_group(key, [entry for _, of, entry in entries if of == key])


def _initial_choice(group: AnswerGroup) -> Choice | None:
    """Returns the choice that the form shows at first: the decision if there is one, else the mark
    of the only person who has graded the group, or None. All answers of a group are decided
    alike, so the first stands for all."""
    if group.decisions[0] is not None:
        return group.decisions[0].choice
    return group.marks[0][-1].choice if len(group.people) == 1 else None
