"""Draws a quiz for another system from a set and a private key: variants of every problem."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from grader.bank.folders import Bank
from grader.draw import (
    DrawError,
    draw,
    draw_permutation,
    points_of,
    seed_for,
    with_letters,
)
from grader.errors import SpecError
from grader.figures import prompt_figures
from grader.files import require_replaceable
from grader.integrations.base import QuizExporter, option
from grader.integrations.lms.quizzes.supported_parts import even_points
from grader.integrations.quiz_items import quiz_items
from grader.kinds.texts import fill
from grader.model import Slot, Variant
from grader.model.quiz import Pool, Quiz, QuizPart, QuizQuestion
from grader.notebook.render import given_values, worked_solution
from grader.release.rendering import private_key_of
from grader.text.words import part_letter

TRIES = 20
"""Seeds to try per wanted variant until one gives different numbers."""
RANDOM_KEY = "drawn with a random key; to get the same numbers again, use --private-key"
"""Note on a quiz without a private key."""


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

    mark: ClassVar[bytes] = b""
    """What the beginning of a file of this format contains. Other files are not replaced."""

    def check_target(self, subject: Quiz, out: Path) -> None:  # noqa: ARG002
        """Raises SetupError if *out* is a file of another format."""
        require_replaceable(out, self.mark)

    def quiz(self, bank: Bank, wanted: str) -> Quiz:
        """Draws the variants; see `make_quiz`."""
        return make_quiz(bank, wanted, self.variants, self.private_key)


def make_quiz(bank: Bank, wanted: str, variants: int, private_key: str | None = None) -> Quiz:
    """Returns the quiz of the set *wanted*, with at most *variants* variants of each problem."""
    exam = bank.exam(wanted)
    key = private_key_of(private_key) or secrets.token_bytes(32)
    pools, notes = [], []
    groups = ((group, slot) for slot in exam.slots for group in _split_pool(slot, key))
    for number, (group, slot) in enumerate(groups, start=1):
        questions = tuple(
            asked for name in group for asked in _iter_questions(bank, key, name, slot, variants)
        )
        pool, scaled = even_points(Pool(number=number, questions=questions))
        pools.append(pool)
        notes += scaled
    for name, count in Counter(q.problem for pool in pools for q in pool.questions).items():
        if count < variants:
            notes.append(f"{name}: found only {count} different variants instead of {variants}")
    if any(slot.pool and 1 < slot.choose < len(slot.pool) for slot in exam.slots):
        notes.append(
            "the set draws several problems from a pool: the pool was split once, by the private "
            "key, and every student gets one problem from each group"
        )
    if private_key is None:
        notes.append(RANDOM_KEY)
    return Quiz(
        id=exam.id,
        title=exam.title,
        instructions=exam.instructions.strip(),
        minutes=exam.minutes,
        pools=tuple(pools),
        notes=tuple(notes),
    )


def _split_pool(slot: Slot, key: bytes) -> list[tuple[str, ...]]:
    """Returns the problems of *slot* in one group per problem that is drawn from it."""
    if slot.problem:
        return [(slot.problem,)]
    seed = seed_for(key, "quiz", "pool/" + "/".join(slot.pool))
    shuffled = draw_permutation(seed, "pool", len(slot.pool))
    groups = [sorted(shuffled[start :: slot.choose]) for start in range(slot.choose)]
    return [tuple(slot.pool[i] for i in group) for group in sorted(groups)]


def _iter_questions(
    bank: Bank, key: bytes, name: str, slot: Slot, variants: int
) -> Iterator[QuizQuestion]:
    """Yields variants of the problem *name* that all look different to students."""
    problem, source = bank.locate(name)
    distinct: set[object] = set()
    for number in range(1, variants * TRIES + 1):
        if len(distinct) == variants:
            return
        seed = seed_for(key, f"variant/{number}", problem.id)
        worth = points_of(problem, slot, seed)
        try:
            variant = draw(with_letters(problem, worth), seed, bank.facts)
        except DrawError as error:
            raise SpecError(error.what, where=source.at(error.path), fix=error.fix) from None
        question = quiz_question(variant, worth, len(distinct) + 1)
        # What a student sees, apart from the order of options.
        fields = tuple(replace(field, items=()) for field in question.fields)
        shown = replace(question, variant=0, solution="", fields=fields)
        if shown not in distinct:
            distinct.add(shown)
            yield question


def _whole_solution(variant: Variant, asked: Collection[str]) -> str:
    """Returns the worked solution of the problem, and those of the parts in *asked* alone."""
    keys = (variant.keys[part] for part in asked)
    own = (fill(key.part.explanation, variant.draw) for key in keys)
    return "\n\n".join(filter(None, (worked_solution(variant, asked), *own)))


def quiz_question(variant: Variant, points: Mapping[str, float], number: int) -> QuizQuestion:
    """Returns the variant as a question of a quiz, with the parts in *points*."""
    drawn, problem = variant.draw, variant.problem
    return QuizQuestion(
        problem=problem.id,
        title=problem.title,
        variant=number,
        prompt=fill(problem.prompt, drawn),
        given_values=tuple(given_values(variant)),
        assumptions=tuple(fill(a, drawn) for a in problem.assumptions),
        figures=prompt_figures(variant),
        solution=_whole_solution(variant, points),
        fields=tuple(
            QuizPart(
                id=part,
                letter=part_letter(index) if len(points) > 1 else "",
                kind=key.part.kind,
                ask=fill(key.part.ask, key.draw),
                points=worth,
                items=quiz_items(key),
                uses=key.part.uses,
            )
            for index, (part, worth) in enumerate(points.items())
            for key in (variant.keys[part],)
        ),
    )
