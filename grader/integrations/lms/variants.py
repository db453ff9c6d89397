"""Draws a quiz for another system from a set and a private key: variants of every problem."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from grader.bank.folders import Bank
from grader.draw import DrawError, draw, order, points_of, seed_for
from grader.errors import SetupError, SpecError
from grader.integrations.base import QuizExporter, option
from grader.integrations.lms.quizzes.fit import even_points_note, join_points
from grader.integrations.quiz_items import quiz_items
from grader.kinds.texts import fill
from grader.model import ExamSet, Slot, Variant
from grader.model.quiz import Pool, Quiz, QuizPart, QuizQuestion
from grader.model.result import GivenValue
from grader.notebook.render import given_values, letter_of
from grader.release.rendering import private_key_of

TRIES = 20
"""Seeds to try per wanted variant until one gives different numbers."""


@dataclass(frozen=True, kw_only=True)
class VariantsExporter(QuizExporter):
    """Exports a set with several variants of each problem, of which a student gets one."""

    variants: int = option(
        10,
        least=1,
        most=1000,
        metavar="N",
        help="Number of variants of each problem; a student gets one of them.",
    )
    even_points: bool = option(
        False,
        help="If problems of a pool are worth different points, scale all of them to the highest.",
    )

    def quiz(self, bank: Bank, wanted: str) -> Quiz:
        """Draws the variants; see `make_quiz`."""
        return make_quiz(
            bank, wanted, self.variants, self.private_key, even_points=self.even_points
        )


def make_quiz(
    bank: Bank,
    wanted: str,
    variants: int,
    private_key: str | None = None,
    *,
    even_points: bool = False,
) -> Quiz:
    """The quiz of the set *wanted*, with at most *variants* variants of each problem.

    The same set, key and number give the same quiz. Raises SpecError if a problem can't be drawn,
    and SetupError if problems of a pool have different points, unless *even_points* scales them.
    """
    exam = bank.exam(wanted)
    key = private_key_of(private_key) or secrets.token_bytes(32)
    drawing = _VariantDraw(bank=bank, key=key, variants=variants)
    pools = tuple(_draw_pools(exam, drawing))
    uneven = [pool for pool in pools if pool.is_uneven]
    if uneven and not even_points:
        raise SetupError(
            f"the problems of the pool at number {uneven[0].number} have different points: "
            f"{join_points(uneven[0])}",
            fix="pass --even-points to scale them, or give the pool 'points:' in the set; other "
            "systems allow only one number of points per pool",
        )
    notes = [even_points_note(pool) for pool in uneven]
    pools = tuple(pool.with_equal_points() if pool in uneven else pool for pool in pools)
    notes += _shortage_notes(pools, variants)
    if any(slot.pool and 1 < slot.choose < len(slot.pool) for slot in exam.slots):
        notes.append(
            "the set draws several problems from a pool: the pool was split once, by the private "
            "key, and every student gets one problem from each group"
        )
    if private_key is None:
        notes.append("drawn with a random key; to get the same numbers again, use --private-key")
    return Quiz(
        id=exam.id,
        title=exam.title,
        instructions=exam.instructions.strip(),
        minutes=exam.minutes,
        pools=pools,
        notes=tuple(notes),
        even_points=even_points,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _VariantDraw:
    bank: Bank
    key: bytes
    variants: int

    def split_pool(self, slot: Slot) -> list[tuple[str, ...]]:
        """The problems of *slot*, split into one group per problem that is drawn from it."""
        if slot.problem:
            return [(slot.problem,)]
        seed = seed_for(self.key, "quiz", "pool/" + "/".join(slot.pool))
        shuffled = order(seed, "pool", len(slot.pool))
        groups = [sorted(shuffled[start :: slot.choose]) for start in range(slot.choose)]
        return [tuple(slot.pool[i] for i in group) for group in sorted(groups)]

    def iter_questions(self, problem: str, slot: Slot) -> Iterator[QuizQuestion]:
        """Yields variants of *problem* that all look different to students."""
        seen: set[object] = set()
        for number in range(1, self.variants * TRIES + 1):
            if len(seen) == self.variants:
                return
            one = quiz_question(self._draw_variant(problem, number), slot, len(seen) + 1)
            shown = _visible_part(one)
            if shown not in seen:
                seen.add(shown)
                yield one

    def _draw_variant(self, name: str, number: int) -> Variant:
        problem, source = self.bank.located(name)
        try:
            seed = seed_for(self.key, f"variant/{number}", problem.id)
            return draw(problem, seed, self.bank.facts)
        except DrawError as error:
            raise SpecError(error.what, where=source.at(error.path), fix=error.fix) from None


def _draw_pools(exam: ExamSet, drawing: _VariantDraw) -> Iterator[Pool]:
    numbers = count(1)
    for slot in exam.slots:
        for group in drawing.split_pool(slot):
            questions = tuple(one for name in group for one in drawing.iter_questions(name, slot))
            yield Pool(number=next(numbers), questions=questions)


def _shortage_notes(pools: Sequence[Pool], variants: int) -> Iterator[str]:
    for pool in pools:
        for name in pool.problems:
            found = sum(asked.problem == name for asked in pool.questions)
            if found < variants:
                yield f"{name}: found only {found} different variants instead of {variants}"


def quiz_question(variant: Variant, slot: Slot, number: int) -> QuizQuestion:
    """The variant as a question of a quiz, with the parts and points of *slot*."""
    dice, problem = variant.draw, variant.problem
    points = points_of(problem, slot)
    return QuizQuestion(
        problem=problem.id,
        title=problem.title,
        variant=number,
        prompt=fill(problem.prompt, dice),
        given=tuple(GivenValue(label=label, value=value) for label, value in given_values(variant)),
        assumptions=tuple(fill(a, dice) for a in problem.assumptions),
        solution=fill(problem.explanation, dice),
        fields=tuple(
            _quiz_field(variant, part, worth, letter_of(index) if len(points) > 1 else "")
            for index, (part, worth) in enumerate(points.items())
        ),
    )


def _quiz_field(variant: Variant, part: str, points: float, letter: str) -> QuizPart:
    key = variant.keys[part]
    return QuizPart(
        id=part,
        letter=letter,
        kind=key.part.kind,
        ask=fill(key.part.ask, key.draw),
        points=points,
        items=quiz_items(key),
        uses=key.part.uses,
    )


def _visible_part(asked: QuizQuestion) -> object:
    """What a student sees of the question, apart from the order of options."""
    fields = tuple(replace(field, items=()) for field in asked.fields)
    return replace(asked, variant=0, solution="", fields=fields)
