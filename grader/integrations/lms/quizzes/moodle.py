"""Exports a quiz as Moodle XML: a category per number, with a question per variant."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from grader.integrations.lms.quizzes import cloze
from grader.integrations.lms.quizzes.moodle_types import (
    ORDERINGS,
    MoodleQuestion,
    has_question_type,
)
from grader.integrations.lms.quizzes.supported_parts import fit_quiz, loss_notes, one_question_pools
from grader.integrations.lms.quizzes.texts import number_hint, part_html, prompt_html, render_xml
from grader.integrations.lms.variants import VariantsExporter
from grader.model.exported import Exported
from grader.model.item import ChoiceItem, Item, NumberItem, OrderItem
from grader.model.quiz import Pool, Quiz, QuizPart, QuizQuestion
from grader.text.markdown import typeset_text

SMALLEST = 1e-10
"""Smallest answer: Moodle widens every tolerance by 1e-14, which must not matter."""
LARGEST_EXACT = 10**13
"""Moodle compares 14 digits, so it also accepts the neighbors of larger whole numbers."""

GENERAL = (
    "students enter numbers in the unit that the question names, without writing the unit",
    "add one random question from each category to the quiz, with the mark in its description",
    "formulas are LaTeX between \\( and \\), which Moodle's MathJax filter typesets",
    "the file contains the answers: keep it private",
)

# Parts of a variant that form one question in Moodle.
_Parts = tuple[QuizPart, ...]


@dataclass(frozen=True, kw_only=True)
class Moodle(VariantsExporter):
    """Write the set SET as Moodle XML: one category per question, with one question per variant.

    Mistakes become answers with feedback and a small share of the points. Parts that Moodle can't
    ask, such as code, are an error; with --leave-out, they are dropped and listed.
    """

    out = "quiz.xml"
    mark = b"<quiz>"
    examples = (
        "grader export moodle midterm --variants 20 --out quiz.xml --private-key SECRET",
        "grader export moodle lab.yaml --leave-out --out quiz.xml",
    )

    def export(self, subject: Quiz) -> Exported:
        """Returns `quiz.xml` for Moodle's question bank."""
        quiz = fit_quiz(subject, "Moodle", _unfit_reason, leave_out=self.leave_out)
        why = "it needs several questions in Moodle"
        quiz = one_question_pools(quiz, lambda asked: len(_group_parts(asked)) > 1, why)
        notes = [*quiz.notes]
        for pool in quiz.pools:
            count = len(_group_parts(pool.questions[0]))
            if count > 1:
                notes.append(
                    f"number {pool.number} becomes {count} questions in Moodle, each with the "
                    "whole prompt; a student may get them with different numbers"
                )
        notes += [*loss_notes(quiz, _iter_losses), *GENERAL]
        categories = [category for pool in quiz.pools for category in _categories(quiz, pool)]
        values = {"categories": categories, "orderings": ORDERINGS}
        data = render_xml("moodle/quiz.xml.j2", values)
        return Exported(files={"quiz.xml": data}, notes=tuple(notes))


def _unfit_reason(item: Item, points: float) -> str | None:  # noqa: ARG001 - any points will do
    """Returns why Moodle can't ask *item*; None if it can."""
    if isinstance(item, NumberItem) and 0 < abs(item.ranges[0].value) < SMALLEST:
        return f"Moodle can't compare answers below {SMALLEST:g}; ask in a smaller unit"
    if isinstance(item, OrderItem) and item.rule not in ORDERINGS:
        return f"Moodle has no rule '{item.rule}' for orderings"
    if not cloze.can_be_gap(item) and not has_question_type(item):
        return "Moodle does not allow its shares of the points, and its texts can't be in a gap"
    return None


def _iter_losses(item: Item) -> Iterator[str]:
    """Yields how *item* differs in Moodle."""
    if isinstance(item, NumberItem) and item.whole:
        right = item.ranges[0]
        if right.low == right.high and abs(right.value) > LARGEST_EXACT:
            yield "Moodle compares only 14 digits of whole numbers"
    if isinstance(item, OrderItem):
        yield "needs Moodle 4.4, or the plug-in qtype_ordering"
    if cloze.is_asked_by_option(item):
        yield "asked option by option, yes or no; an unanswered option counts as wrong"
    elif isinstance(item, ChoiceItem) and item.several:
        if item.rule == "all-or-nothing":
            yield (
                "all or nothing here, but Moodle gives part of the points for some of the right "
                "options, and none with a wrong one"
            )
        yield f'has an additional option, "{cloze.NONE}"'


def _group_parts(asked: QuizQuestion) -> list[_Parts]:
    """Returns the parts of the variant, grouped into as few questions of Moodle as possible."""
    inside = tuple(f for f in asked.fields if all(map(cloze.can_be_gap, f.items)))
    apart = [(field,) for field in asked.fields if field not in inside]
    return [inside, *apart] if inside else [*apart]


def _has_gaps(parts: _Parts) -> bool:
    """Returns whether the parts are gaps, because no question type of Moodle's can ask them."""
    alone = len(parts) == len(parts[0].items) == 1
    return not (alone and has_question_type(parts[0].items[0]))


def _format_mark(parts: _Parts) -> str:
    return f"{round(sum(part.points for part in parts), 4):g}"


def _categories(quiz: Quiz, pool: Pool) -> Iterator[dict[str, object]]:
    """Yields the template's values for each category, from which a student gets a question."""
    drawn = [(asked, _group_parts(asked)) for asked in pool.questions]
    gaps = (part for _, groups in drawn for parts in groups if _has_gaps(parts) for part in parts)
    scale = math.lcm(*(points.denominator for part in gaps for points in cloze.gap_points(part)))
    several = len(drawn[0][1]) > 1
    for index, first in enumerate(drawn[0][1]):
        letters = f" ({', '.join(part.letter for part in first if part.letter)})"
        title = f"{pool.number:02d} {pool.title}" + (letters if several else "")
        advice = "Add one random question from this category to the quiz. Its maximum mark is "
        ids = " " + "-".join(part.id for part in first) if several else ""
        yield {
            # A slash separates names; a double slash is a literal one.
            "path": "/".join(name.replace("/", "//") for name in (quiz.title, title)),
            "info": f"<p>{advice}{_format_mark(first)}.</p>",
            "questions": [
                _moodle_question(
                    asked, groups[index], f"{asked.problem} {asked.variant:03d}{ids}", scale
                )
                for asked, groups in drawn
            ],
        }


def _moodle_question(asked: QuizQuestion, parts: _Parts, name: str, scale: int) -> MoodleQuestion:
    """Returns one question of Moodle for *parts*; with gaps if no other type can hold them."""
    item, text = parts[0].items[0], prompt_html(asked)
    has_gaps = _has_gaps(parts)
    if has_gaps:
        questions = "".join(cloze.question_with_gaps(part, scale) for part in parts)
        text = cloze.escape_gaps(text) + questions
    else:
        hint = f"Give {number_hint(item)}." if isinstance(item, NumberItem) else ""
        text += part_html(parts[0], hint)
    return MoodleQuestion(
        name=name,
        text=text,
        feedback=typeset_text(asked.solution) if asked.solution else "",
        mark=_format_mark(parts),
        idnumber=name.replace(" ", "-")[-100:],
        tag=asked.problem,
        item=None if has_gaps else item,
    )
