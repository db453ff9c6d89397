"""Decides which parts of a quiz a system can ask; refuses or leaves out the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from grader.errors import SetupError
from grader.model.item import Item
from grader.model.quiz import Pool, Quiz, QuizPart, QuizQuestion
from grader.words import counted, points

# Maps an item and its points to the reason why it can't be asked; None if it can.
Unfit = Callable[[Item, float], str | None]


# The number in the quiz, the problem's id, and the part's.
Place = tuple[int, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _UnfitPart:
    """One part of one problem, in all its variants."""

    name: str
    points: float
    why: str


def fit_quiz(quiz: Quiz, system: str, unfit: Unfit, *, leave_out: bool) -> Quiz:
    """The parts of *quiz* that *system* can ask; its notes name what was left out.

    Raises SetupError if a part can't be asked, unless *leave_out* is True, and if no part remains.
    """
    lost = {place: part for pool in quiz.pools for place, part in _find_unfit(pool, unfit).items()}
    if not lost:
        return quiz
    if not leave_out:
        raise SetupError(_refusal(quiz, system, lost), fix=_FIX)
    pools, notes = [], []
    for pool in quiz.pools:
        left, told = _drop_parts(pool, lost, even_points=quiz.even_points)
        pools += [left] if left.questions else []
        notes += told
    if not pools:
        raise SetupError(
            f"{system} can't ask any part of '{quiz.id}'",
            fix="choose another set; docs/reference/exports.md lists what each kind becomes",
        )
    return replace(quiz, pools=tuple(pools), notes=(*notes, *quiz.notes))


_FIX = (
    "change the set (other parts, or other 'points:'), or pass --leave-out to drop these parts "
    "and their points"
)
_REASONS = 4
_NAMED = 8
"""Parts for each of the reasons in an error."""


def _refusal(quiz: Quiz, system: str, lost: Mapping[Place, _UnfitPart]) -> str:
    total = sum(pool.points for pool in quiz.pools)
    whys: dict[str, list[str]] = {}
    for part in lost.values():
        whys.setdefault(part.why, []).append(f"{part.name} ({part.points:g})")
    # Keep the error to one screen; the notes with --leave-out name every part.
    told = [f"{_join_some(names)}: {why}" for why, names in list(whys.items())[:_REASONS]]
    others = [f"and {len(whys) - _REASONS} more reasons"] if len(whys) > _REASONS else []
    return (
        f"{system} can't ask {counted(len(lost), 'part')} of '{quiz.id}', which would lose "
        f"{points(_max_loss(lost))} of {points(total)} points: {'; '.join([*told, *others])}"
    )


def _join_some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _max_loss(lost: Mapping[Place, _UnfitPart]) -> float:
    """The most points that a student can lose, who gets one problem at each number."""
    points: dict[tuple[int, str], float] = {}
    for (number, problem, _), part in lost.items():
        points[number, problem] = points.get((number, problem), 0.0) + part.points
    most: dict[int, float] = {}
    for (number, _), worth in points.items():
        most[number] = max(most.get(number, 0.0), worth)
    return round(sum(most.values()), 4)


def _find_unfit(pool: Pool, unfit: Unfit) -> Mapping[Place, _UnfitPart]:
    found: dict[Place, _UnfitPart] = {}
    for asked in pool.questions:
        for field in asked.fields:
            why = _unfit_reason(field, unfit)
            if why is not None:
                part = _UnfitPart(name=part_label(pool, asked, field), points=field.points, why=why)
                found.setdefault((pool.number, asked.problem, field.id), part)
    return found


def _unfit_reason(field: QuizPart, unfit: Unfit) -> str | None:
    if not field.items:
        return f"it has no equivalent of {field.kind} parts"
    reasons = (unfit(item, field.points * getattr(item, "weight", 1.0)) for item in field.items)
    return next((why for why in reasons if why is not None), None)


def _drop_parts(
    pool: Pool, lost: Mapping[Place, _UnfitPart], *, even_points: bool
) -> tuple[Pool, list[str]]:
    """The pool without the lost parts, and a note for each.

    If some problems lose nothing, only these stay, and so do the pool's points. Parts are dropped
    only if every problem loses one.
    """
    mine = {place: part for place, part in lost.items() if place[0] == pool.number}
    losing = dict.fromkeys(problem for _, problem, _ in mine)
    whole = tuple(asked for asked in pool.questions if asked.problem not in losing)
    if whole:
        notes = [f"left out of the pool at number {pool.number}: {name}" for name in losing]
        whys = ["; ".join(_reasons_of(mine, name)) for name in losing]
        kept = replace(pool, questions=whole)
        return kept, [f"{note} ({why})" for note, why in zip(notes, whys, strict=True)]
    questions = []
    for asked in pool.questions:
        fields = tuple(f for f in asked.fields if (pool.number, asked.problem, f.id) not in lost)
        if fields:
            questions.append(replace(asked, fields=fields))
    notes = [f"left out {p.name} ({p.points:g} points): {p.why}" for p in mine.values()]
    left = replace(pool, questions=tuple(questions))
    if not left.is_uneven:
        return left, notes
    if not even_points:
        raise SetupError(
            f"without the parts that are left out, the problems of the pool at number "
            f"{pool.number} have different points: {join_points(left)}",
            fix="pass --even-points to scale them, or take problems out of the pool",
        )
    return left.with_equal_points(), [*notes, even_points_note(left)]


def join_points(pool: Pool) -> str:
    """The points of each problem of *pool*, such as `a 2, b 3`."""
    return ", ".join(f"{name} {points(worth)}" for name, worth in pool.points_by_problem.items())


def even_points_note(pool: Pool) -> str:
    """A note about what `Pool.with_equal_points` changes in *pool*."""
    most = points(max(pool.points_by_problem.values()))
    return f"number {pool.number}: each problem is worth {most} points; before: {join_points(pool)}"


def _reasons_of(lost: Mapping[Place, _UnfitPart], problem: str) -> Iterator[str]:
    return (f"{place[2]}: {part.why}" for place, part in lost.items() if place[1] == problem)


def part_label(pool: Pool, asked: QuizQuestion, field: QuizPart) -> str:
    """A part's name for messages, such as `q3_share`; names the problem if the pool has several."""
    name = f"q{pool.number}_{field.id}"
    return name if len(pool.problems) == 1 else f"{name} of {asked.problem}"


def loss_notes(quiz: Quiz, more: Callable[[Item], Iterator[str]]) -> tuple[str, ...]:
    """Notes on what the system can't represent, each with the names of the parts.

    *more* yields what this system loses in addition to what the item itself states.
    """
    found: dict[str, dict[str, None]] = {}
    for pool in quiz.pools:
        for asked in pool.questions:
            for field in asked.fields:
                for phrase in _loss_phrases(field, more):
                    found.setdefault(phrase, {})[part_label(pool, asked, field)] = None
    return tuple(f"{phrase}: {', '.join(names)}" for phrase, names in found.items())


def _loss_phrases(field: QuizPart, more: Callable[[Item], Iterator[str]]) -> Iterator[str]:
    for item in field.items:
        yield from item.lost
        yield from more(item)
    if field.uses:
        yield "graded with the correct earlier answers, not with the student's"


def one_question_pools(quiz: Quiz, several: Callable[[QuizQuestion], bool], why: str) -> Quiz:
    """The quiz with only pools that the system can draw from: each problem is one question.

    A system draws one question from a pool. Problems that need *several* questions are removed
    from pools with others; if all do, every student gets the first. *why* explains it in a note.
    """
    pools, notes = [], []
    for pool in quiz.pools:
        kept = tuple(asked for asked in pool.questions if not several(asked))
        if not kept:
            kept = tuple(a for a in pool.questions if a.problem == pool.problems[0])
        left = replace(pool, questions=kept)
        gone = [name for name in pool.problems if name not in left.problems]
        if gone:
            stay = ", ".join(left.problems)
            notes.append(f"number {pool.number} asks {stay}, not {', '.join(gone)}: {why}")
        pools.append(left)
    return replace(quiz, pools=tuple(pools), notes=(*notes, *quiz.notes))
