"""Refuses or leaves out the parts of a quiz that another system can't ask, and lists losses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from grader.errors import SetupError
from grader.model.grouping import group_by_key
from grader.model.item import Item
from grader.model.quiz import Pool, Quiz, QuizPart, QuizQuestion
from grader.text.words import count_of, join_names, points

# Maps an item and its points to the reason why it can't be asked; None if it can.
Unfit = Callable[[Item, float], str | None]

_MOST_REASONS = 4
_USES_KEY = "graded with the correct earlier answers, not with the student's"


class _LostPart(NamedTuple):
    label: str
    points: float
    why: str


# The parts of a pool that can't be asked, by problem and part.
_LostParts = Mapping[tuple[str, str], _LostPart]


def fit_quiz(quiz: Quiz, system: str, unfit: Unfit, *, leave_out: bool) -> Quiz:
    """Returns the parts of *quiz* that *system* can ask; its notes name what was left out.

    Raises SetupError if a part can't be asked, unless *leave_out* is True, and if no part remains.
    """
    lost = [_unfit_parts(pool, unfit) for pool in quiz.pools]
    count = sum(map(len, lost))
    if not count:
        return quiz
    if not leave_out:
        unasked = (part for parts in lost for part in parts.values())
        reasons = group_by_key((part.why, f"{part.label} ({part.points:g})") for part in unasked)
        shown = [f"{join_names(labels)}: {why}" for why, labels in reasons.items()][:_MOST_REASONS]
        omitted = len(reasons) - _MOST_REASONS
        more = [f"and {count_of(omitted, 'more reason')}"] if omitted > 0 else []
        raise SetupError(
            f"{system} can't ask {count_of(count, 'part')} of '{quiz.id}' (points in parentheses): "
            + "; ".join([*shown, *more]),
            fix="change the set (other parts, or other 'points:'), or pass --leave-out to drop "
            "these parts and their points",
        )
    fitted = [_drop_parts(pool, parts) for pool, parts in zip(quiz.pools, lost, strict=True)]
    pools = tuple(pool for pool, _ in fitted if pool.questions)
    if not pools:
        raise SetupError(
            f"{system} can't ask any part of '{quiz.id}'",
            fix="choose another set; docs/reference/exports.md lists what each kind becomes",
        )
    notes = tuple(note for _, notes in fitted for note in notes)
    return replace(quiz, pools=pools, notes=(*notes, *quiz.notes))


def _unfit_parts(pool: Pool, unfit: Unfit) -> _LostParts:
    """Returns the parts of *pool* that can't be asked, and those that ask about such a part."""
    lost_parts: dict[tuple[str, str], _LostPart] = {}
    for asked in pool.questions:
        for field in asked.fields:
            why = _unfit_reason(field, unfit)
            missing = next(
                (name for name in field.uses if (asked.problem, name) in lost_parts), None
            )
            if why is None and missing is not None:
                why = f"it asks about the answer to {missing}, which is left out"
            if why is not None:
                part = _LostPart(part_label(pool, asked, field), field.points, why)
                lost_parts.setdefault((asked.problem, field.id), part)
    return lost_parts


def _unfit_reason(field: QuizPart, unfit: Unfit) -> str | None:
    if not field.items:
        return f"it has no equivalent of {field.kind} parts"
    reasons = (unfit(item, field.points * getattr(item, "weight", 1.0)) for item in field.items)
    return next((why for why in reasons if why is not None), None)


def _drop_parts(pool: Pool, lost: _LostParts) -> tuple[Pool, list[str]]:
    """Returns the pool without the parts in *lost*, and notes.

    If some problems lose no part, only these stay, and the pool keeps its points.
    """
    losing = {problem for problem, _ in lost}
    whole = tuple(asked for asked in pool.questions if asked.problem not in losing)
    if whole:
        whys = group_by_key((problem, f"{name}: {p.why}") for (problem, name), p in lost.items())
        return replace(pool, questions=whole), [
            f"left out of the pool at number {pool.number}: {problem} ({'; '.join(why)})"
            for problem, why in whys.items()
        ]
    questions = (
        replace(asked, fields=tuple(f for f in asked.fields if (asked.problem, f.id) not in lost))
        for asked in pool.questions
    )
    remaining = replace(pool, questions=tuple(asked for asked in questions if asked.fields))
    notes = [  # all digits, since they may be what the system can't show
        f"left out {p.label} ({p.points:g} {'point' if p.points == 1 else 'points'}): {p.why}"
        for p in lost.values()
    ]
    remaining, more = even_points(remaining)
    return remaining, [*notes, *more]


def even_points(pool: Pool) -> tuple[Pool, list[str]]:
    """Returns the pool with all problems scaled to the highest points, and a note."""
    earlier = pool.points_by_problem
    if len(set(earlier.values())) < 2:
        return pool, []
    before = ", ".join(f"{name} {points(worth)}" for name, worth in earlier.items())
    most = points(max(earlier.values()))
    note = f"number {pool.number}: each problem is worth {most} points; before: {before}"
    return pool.with_equal_points(), [note]


def part_label(pool: Pool, asked: QuizQuestion, field: QuizPart) -> str:
    """Returns a part's name, such as `q3_share`, with the problem if the pool has several."""
    name = f"q{pool.number}_{field.id}"
    return name if len(pool.problems) == 1 else f"{name} of {asked.problem}"


def loss_notes(quiz: Quiz, more: Callable[[Item], Iterator[str]]) -> tuple[str, ...]:
    """Returns notes on what the system can't represent; *more* yields its own losses."""
    labels_by_phrase: dict[str, dict[str, None]] = {}
    for pool in quiz.pools:
        for asked in pool.questions:
            for field in asked.fields:
                phrases = [
                    lost for item in field.items for lost in (*item.lost_features, *more(item))
                ]
                if field.uses:
                    phrases.append(_USES_KEY)
                label = part_label(pool, asked, field)
                for phrase in phrases:
                    labels_by_phrase.setdefault(phrase, {})[label] = None
    return tuple(f"{phrase}: {', '.join(labels)}" for phrase, labels in labels_by_phrase.items())


def one_question_pools(quiz: Quiz, several: Callable[[QuizQuestion], bool], why: str) -> Quiz:
    """Returns *quiz* with pools from which a system can draw a single question.

    Problems that need *several* are removed from pools with others. If all do, the first stays.
    """
    pools, notes = [], []
    for pool in quiz.pools:
        kept = tuple(asked for asked in pool.questions if not several(asked))
        kept = kept or tuple(a for a in pool.questions if a.problem == pool.problems[0])
        reduced = replace(pool, questions=kept)
        removed = [name for name in pool.problems if name not in reduced.problems]
        if removed:
            remaining = ", ".join(reduced.problems)
            notes.append(f"number {pool.number} asks {remaining}, not {', '.join(removed)}: {why}")
        pools.append(reduced)
    return replace(quiz, pools=tuple(pools), notes=(*notes, *quiz.notes))
