"""Makes a student's paper from a release: its problems, variants, and points."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Sequence

from grader.draw.part_letters import with_letters
from grader.draw.variant import draw
from grader.model import ExamSet, Paper, Problem, Question, Release, Slot, Student, Variant
from grader.model.dice import draw_permutation, seed_for


def paper(
    release: Release,
    student: Student,
    given: Paper | None = None,
    only: Container[int] | None = None,
) -> Paper:
    """Returns the paper of *student*. It is deterministic, with the same numbers for a shared
    version.

    If the specs have changed since, *given* is the paper that the student worked on: its numbers
    are kept for every problem that still exists. If *only* is given, the other numbers are left
    out.
    """
    questions: list[Question] = []
    before = {q.variant.problem.id: q for q in given.questions} if given else {}
    numbers = {problem_id: q.variant.draw.parameters for problem_id, q in before.items()}
    asked = {problem_id: tuple(q.points) for problem_id, q in before.items()}
    for number, slot, problem in iter_questions(release, student.seat):
        if only is not None and number not in only:
            continue
        seed = seed_for(release.private_key, student.seat, problem.id)
        points = points_of(problem, slot, seed, asked.get(problem.id))
        given_numbers = numbers.get(problem.id)
        questions.append(
            Question(
                number=number,
                variant=draw(with_letters(problem, points), seed, release.facts, given_numbers),
                points=points,
                is_pooled=slot.differs,
            )
        )
    return Paper(student=student, exam=release.exam, release=release.id, questions=tuple(questions))


def iter_questions(release: Release, seat: str) -> Iterator[tuple[int, Slot, Problem]]:
    """Yields the number, slot, and problem of each question for a seat, without drawing it."""
    problems = iter_chosen(release.exam, release.private_key, seat)
    for number, (slot, problem_id) in enumerate(problems, start=1):
        yield number, slot, release.problems[problem_id]


def iter_chosen(exam: ExamSet, private_key: bytes, seat: str) -> Iterator[tuple[Slot, str]]:
    """Yields the slot and the problem's id of each question that a seat gets of *exam*."""
    for slot in exam.slots:
        for problem_id in _choose_problems(slot, private_key, seat):
            yield slot, problem_id


def _choose_problems(slot: Slot, private_key: bytes, seat: str) -> tuple[str, ...]:
    """Returns the ids of the problems that *slot* gives a seat: one, or some of a pool."""
    if slot.problem:
        return (slot.problem,)
    seed = seed_for(private_key, seat, "pool/" + "/".join(slot.pool))
    taken = draw_permutation(seed, "pool", len(slot.pool))[: slot.choose]
    # In the set's order: students differ only in which problems they get.
    return tuple(slot.pool[i] for i in sorted(taken))


def drawn_parts(problem: Problem, slot: Slot, seed: bytes) -> frozenset[str]:
    """Returns the ids of the parts that *slot* draws from pools, and of those without a pool."""
    drawn = {part.id for part in problem.parts if not part.pool}
    for pool, count in slot.draw.items():
        share = slot.pool_share([part.id for part in problem.parts if part.pool == pool])
        drawn.update(
            share[index] for index in draw_permutation(seed, f"parts/{pool}", len(share))[:count]
        )
    return frozenset(drawn)


def points_of(
    problem: Problem, slot: Slot, seed: bytes = b"", given: Collection[str] | None = None
) -> dict[str, float]:
    """Returns the points of each part that *slot* asks: the part's own points, or if the slot has
    points, these in proportion.

    If the slot draws parts, those of *given*, which the student was asked before, or else those
    drawn by *seed*, are asked.
    """
    asked = [p for p in problem.parts if slot.asks(problem.id, p.id)]
    if slot.draw:
        drawn = drawn_parts(problem, slot, seed) if given is None else given
        asked = [p for p in asked if p.id in drawn]
    if slot.points is None:
        return {p.id: round(p.points, 6) for p in asked}
    own_total = sum(p.points for p in asked)
    own_so_far = 0.0
    points: dict[str, float] = {}
    for part in asked:
        own_so_far += part.points
        # Rounding errors carry over to the next part, so that the sum is exact.
        so_far = round(slot.points * own_so_far / own_total, 6)
        points[part.id] = round(so_far - sum(points.values()), 6)
    return points


def standalone_paper(variants: Sequence[Variant], name: str) -> Paper:
    """Returns a paper outside any release: each variant with all its parts at their own points."""
    questions = tuple(
        Question(
            number=number,
            variant=variant,
            points=points_of(variant.problem, Slot(problem=variant.problem.id)),
        )
        for number, variant in enumerate(variants, start=1)
    )
    ids = tuple(v.problem.id for v in variants)
    exam = ExamSet(id=name, title=name, problems=ids)
    return Paper(student=Student(id=name), exam=exam, release=name, questions=questions)
