"""Stores what the forms of a part and of a student change: decisions about answers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from grader.errors import SetupError
from grader.gradebook import Gradebook
from grader.grading.manual import criteria_of
from grader.model.desk import AnswerToDecide, Choice, Decision, IndependentMark, PartAnswer, PartId
from grader.text.words import count_points
from grader.text.words import points as worth
from grader.web.desk.calls import DeskCall
from grader.web.desk.forms import Form, PageState, choice_of, item_of
from grader.web.desk.groups import answer_key
from grader.web.desk.part_page import is_double
from grader.web.desk.sessions import Capability


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedGroup:
    """What became of the form of a part."""

    part: PartId
    batch: int
    choice: Choice
    """The entry as the form had it."""
    conflicts: tuple[Decision | IndependentMark, ...]
    """What others stored meanwhile; these answers are unchanged."""
    changed_students: frozenset[str]
    """Students whose answers were graded or handed in again meanwhile; these are unchanged too."""

    @property
    def unsaved_students(self) -> frozenset[str]:
        """The students whose answers are unchanged."""
        return self.changed_students | {conflict.student for conflict in self.conflicts}

    @property
    def people(self) -> str:
        """The people who graded answers of the group meanwhile, separated by commas."""
        return ", ".join(sorted({conflict.by for conflict in self.conflicts}))


def grade_group(call: DeskCall) -> GradedGroup:
    """Stores the choice of the form for those of its answers that have not changed."""
    book, form, names, part = call.book, call.form, call.names, _part_of(call.form)
    page_states = form.page_states()
    shown_answers = [
        (answer, page_states[names.address(answer.student)])
        for answer in book.answers.of_part(part)
        if answer.student in names.students and names.address(answer.student) in page_states
    ]
    if not shown_answers:
        raise SetupError(f"there is no answer to '{part}' here", fix="go back to the queue")
    choice = choice_of(form, max(answer.max_points for answer, _ in shown_answers))
    _check_items(book, part, choice)
    shares, instructor = call.desk.shares(book), call.person.may(Capability.SETTLE)
    stored = book.double.decide(
        part,
        [
            _answer_to_decide(answer, page_state, double=is_double(shares, part, answer))
            for answer, page_state in shown_answers
            if page_state.state == answer.state
        ],
        replace(choice, comment=_unmask_comment(call, shown_answers[0][0], choice.comment)),
        by=call.person.id,
        tolerance=shares.plan.tolerance if shares else 0.0,
        final=instructor and bool(form.text("final")),
        may_settle=instructor,
    )
    changed_students = frozenset(
        answer.student for answer, page_state in shown_answers if page_state.state != answer.state
    )
    return GradedGroup(
        part=part,
        batch=stored.batch,
        choice=choice,
        conflicts=stored.conflicts,
        changed_students=changed_students,
    )


def _unmask_comment(call: DeskCall, answer: PartAnswer, comment: str) -> str:
    """Returns the stored comment about *answer* that the form showed as *comment*, with names
    masked; *comment* itself if the grader changed it.

    Answers of a form are decided alike, so that one of them stands for all.
    """
    stored: list[Decision | IndependentMark] = [*call.book.decisions.history(answer.student)]
    marks = call.book.double.of_students([answer.student])
    stored += [mark for mark in marks if mark.by == call.person.id]
    comments = (one.choice.comment for one in stored if one.name == answer.name)
    return next((text for text in comments if call.names.hide(text).strip() == comment), comment)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkChangeResult:
    """What became of a changed mark on a student's page."""

    student: str
    name: str
    choice: Choice
    conflict: str
    """What changed meanwhile, so that the mark was not stored; empty if it was."""


def change_mark(call: DeskCall) -> MarkChangeResult:
    """Stores the points and the comment of the form as a decision about one answer.

    Stores nothing if the answer or its mark has changed since the page was loaded, which `conflict`
    in the result then says. Raises SetupError if the form is incomplete, if the student has no such
    answer, or if two people should grade the answer independently first.
    """
    book, form, part = call.book, call.form, _part_of(call.form)
    id_ = call.names.find(form.text("student"))
    answers = book.answers.of_part(part)
    answer = next((candidate for candidate in answers if candidate.student == id_), None)
    if answer is None:
        raise SetupError(f"this student has no answer to '{part}'", fix="reload the page")
    choice = choice_of(form, answer.max_points)
    _check_items(book, part, choice)
    if choice.points is None or not choice.comment:
        raise SetupError("a changed mark needs points and a reason", fix="go back and fill in both")
    page_state = PageState(decision=form.number("seen"), mark=0, state=form.text("state"))
    conflict = ""
    if page_state.state != answer.state:
        conflict = "Meanwhile, this answer was graded or handed in again."
    else:
        _check_may_change(call, answer, part)
        to_decide = [_answer_to_decide(answer, page_state)]
        conflicts = book.decisions.decide(to_decide, choice, by=call.person.id).conflicts
        if conflicts:
            other = conflicts[0]
            conflict = f"Meanwhile, {other.by} changed this mark to {count_points(other.points)}."
    return MarkChangeResult(student=id_, name=answer.name, choice=choice, conflict=conflict)


def _check_may_change(call: DeskCall, answer: PartAnswer, part: PartId) -> None:
    """Raises SetupError if two people should grade the answer independently first."""
    shares = call.desk.shares(call.book)
    if call.person.may(Capability.SETTLE) or not is_double(shares, part, answer):
        return
    if (answer.student, answer.name) not in call.book.decisions.current({answer.name}):
        raise SetupError(
            "two people grade this answer independently",
            fix="grade it on the page of the part, or ask an instructor",
        )


def _answer_to_decide(
    answer: PartAnswer, page_state: PageState, *, double: bool = False
) -> AnswerToDecide:
    """Returns the answer with what the page had shown of it, to detect later changes."""
    return AnswerToDecide(
        student=answer.student,
        name=answer.name,
        max_points=answer.max_points,
        engine_points=answer.points,
        last_decision=page_state.decision,
        key=answer_key(answer.answer),
        double=double,
        last_mark=page_state.mark,
    )


def _part_of(form: Form) -> PartId:
    return PartId(form.text("problem"), form.text("part"))


def change_rubric(call: DeskCall) -> PartId:
    """Adds or changes a rubric item, or adds the criteria of the problem; returns the part.

    Raises SetupError if nobody was asked the part, or if the item is incomplete.
    """
    book, form, person, part = call.book, call.form, call.person, _part_of(call.form)
    answers = book.answers.of_part(part)
    if not answers:
        raise SetupError(f"no student was asked '{part}'", fix="go back to the queue")
    if form.text("criteria"):
        use_criteria(book, part, answers[0], by=person.id)
        return part
    item = item_of(form, part, answers[0].max_points)
    if item.number:
        shown = {(one.number, worth(one.points)): one.points for one in book.rubrics.items(part)}
        # The page shows rounded points, such as 1.33 for a third of 4.
        points = shown.get((item.number, form.text("points")), item.points)
        item = replace(item, points=points)
        max_points = {(answer.student, answer.name): answer.max_points for answer in answers}
        students = call.names.students if person.sections else None
        seen = form.text("state")
        book.rubrics.change(item, max_points, by=person.id, students=students, seen=seen)
    else:
        book.rubrics.add(part, item.text, item.points, item.feedback, by=person.id)
    return part


def use_criteria(book: Gradebook, part: PartId, answer: PartAnswer, *, by: str) -> None:
    """Adds the criteria of the spec to the rubric of *part*, of which *answer* is one.

    Raises SetupError if the rubric has items already, or if the spec has no criteria.
    """
    if any(not item.is_retired for item in book.rubrics.items(part)):
        raise SetupError(f"the rubric of '{part}' has items already", fix="reload the page")
    criteria = criteria_of(book, answer.student, answer.name)
    if not criteria:
        raise SetupError(f"the spec of '{part}' has no criteria", fix="add items yourself")
    for criterion in criteria:
        book.rubrics.add(part, criterion.text, criterion.points, by=by)


def _check_items(book: Gradebook, part: PartId, choice: Choice) -> None:
    """Raises SetupError if the choice has an item of another rubric."""
    if not {item.number for item in book.rubrics.items(part)}.issuperset(choice.items):
        raise SetupError("this item is not in the rubric of the part", fix="reload the page")
