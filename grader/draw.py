"""A problem and a seed to a variant with its keys; a release and a student to a paper."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from grader import units
from grader.errors import SpecError
from grader.expressions import ExpressionError, TextError, evaluate, fill, holds, names_in
from grader.kinds import kinds
from grader.model import (
    Draw,
    ExamSet,
    Expr,
    Facts,
    Key,
    Paper,
    Parameter,
    Part,
    Problem,
    Question,
    Release,
    Slot,
    Student,
    Variant,
)
from grader.quantity import DimensionError, Value

MAX_DRAWS = 1000


class DrawError(SpecError):
    """A variant that can't be drawn, and which piece of the spec is to blame."""

    path: tuple[str | int, ...] = ()
    check: str = "values"
    """The class of defect: `dimensions`, `hit-rate`, or `values` for anything else."""


def _failed(
    problem: Problem, path: tuple[str | int, ...], what: str, fix: str | None, check: str
) -> DrawError:
    error = DrawError(what, where=problem.id, fix=fix)
    error.path, error.check = path, check
    return error


def _class_of(error: Exception) -> str:
    causes = (error, error.__cause__, error.__context__)
    return "dimensions" if any(isinstance(e, DimensionError) for e in causes) else "values"


def seed_for(private_key: bytes, student: str, problem: str) -> bytes:
    """The seed of one student's variant: stable for ever, and unguessable without the key."""
    # Lengths keep ("ab", "c") and ("a", "bc") apart.
    message = b"".join(len(t.encode()).to_bytes(4, "big") + t.encode() for t in (student, problem))
    return hmac.new(private_key, message, hashlib.sha256).digest()


def below(seed: bytes, label: str, n: int) -> int:
    """A number from 0 to n - 1 that depends on seed and label alone, every one equally likely.

    SHA-256 rather than `random`, whose draws may change between versions of Python.
    """
    limit = (1 << 64) - (1 << 64) % n
    counter = 0
    while True:
        digest = hashlib.sha256(b"%s|%d|%s" % (seed, counter, label.encode())).digest()
        value = int.from_bytes(digest[:8], "big")
        if value < limit:
            return value % n
        counter += 1


def order(seed: bytes, label: str, n: int) -> tuple[int, ...]:
    """A permutation of range(n) that depends on seed and label alone."""
    items = list(range(n))
    for last in range(n - 1, 0, -1):
        other = below(seed, f"{label}/{last}", last + 1)
        items[last], items[other] = items[other], items[last]
    return tuple(items)


def draw(
    problem: Problem,
    seed: bytes,
    facts: Facts,
    numbers_of: Mapping[str, Value] | None = None,
) -> Variant:
    """The variant of *problem* for *seed*, with its keys.

    *numbers_of* are parameters that were drawn before, under an earlier spec of the problem: they
    stay as they are. Raises SpecError when the conditions are too rarely true, or when an
    expression fails.
    """
    if numbers_of is None:
        parameters, scope, draws = _drawn_until_it_fits(problem, seed, facts)
    else:
        parameters, draws = dict(numbers_of), 1
        scope = _with_values(problem, parameters, facts)
    dice = Draw(
        scope=scope,
        facts=facts,
        fill=_filler(facts),
        order=partial(order, seed),
        vary=lambda changed: _with_values(problem, {**parameters, **changed}, facts),
    )
    keys: dict[str, Key] = {}
    for part in problem.parts:
        keys[part.id] = key = key_of(problem, part, dice)
        kind = kinds.find(part.kind)
        answer = kind.carried(kind.true(key), key)
        if answer is not None:
            # A new mapping: keys made earlier keep the scope they were made in.
            dice = replace(dice, scope={**dice.scope, part.id: answer})
    return Variant(
        problem=problem,
        seed=seed,
        draw=dice,
        parameters=parameters,
        scope=dice.scope,
        keys=keys,
        draws=draws,
    )


def key_of(problem: Problem, part: Part, dice: Draw) -> Key:
    """The key of *part*; raises SpecError that names problem and part."""
    try:
        key: Key = kinds.find(part.kind).key(part, dice)
        return key
    except (ExpressionError, TextError) as error:
        what, fix, check = error.what, error.fix, _class_of(error)
    except ValueError as error:
        what, fix, check = str(error), "check the part's expressions and units", _class_of(error)
    index = next(i for i, p in enumerate(problem.parts) if p.id == part.id)
    what = f"part '{part.id}': {what} (with {numbers(problem, dice.scope)})"
    raise _failed(problem, ("parts", index), what, fix, check)


def numbers(problem: Problem, scope: Mapping[str, Value]) -> str:
    """The drawn parameters in one line, for an error that must be reproducible."""
    drawn = [
        n for name, p in problem.parameters.items() for n in (p.rows[0] if p.rows else (name,))
    ]
    return ", ".join(f"{n} = {units.show(scope[n])}" for n in drawn if n in scope) or "no numbers"


def _filler(facts: Facts) -> Callable[[str, Mapping[str, Value]], str]:
    return lambda text, scope: fill(text, scope, facts)


def _drawn_until_it_fits(
    problem: Problem, seed: bytes, facts: Facts
) -> tuple[dict[str, Value], dict[str, Value], int]:
    """Parameters, the scope with the values computed from them, and how often it was drawn."""
    # Conditions on parameters alone come first: they may keep out what values can't stand, such
    # as a division by zero, and they are cheaper.
    late = [c for c in problem.where if isinstance(c, str) and names_in(c) & set(problem.values)]
    early = [c for c in problem.where if c not in late]
    for attempt in range(MAX_DRAWS):
        drawn: dict[str, Value] = {}
        for name, parameter in problem.parameters.items():
            # Labelled by name, so that a new parameter leaves the others' draws as they are.
            label = f"parameter/{name}/{attempt}"
            drawn.update(_drawn(name, parameter, partial(below, seed, label)))
        if all(_held(problem, c, drawn, facts) for c in early):
            scope = _with_values(problem, drawn, facts)
            if all(_held(problem, c, scope, facts) for c in late):
                return drawn, scope, attempt + 1
    conditions = "; ".join(str(c) for c in problem.where)
    raise _failed(
        problem,
        ("where",),
        f"no numbers in {MAX_DRAWS} draws satisfy: {conditions}",
        "widen the parameters or relax 'where'",
        "hit-rate",
    )


def _with_values(
    problem: Problem, parameters: Mapping[str, Value], facts: Facts
) -> dict[str, Value]:
    scope = dict(parameters)
    for name, expression in problem.values.items():
        scope[name] = _evaluated(problem, name, expression, scope, facts)
    return scope


def _drawn(
    name: str, parameter: Parameter, pick: Callable[[int], int]
) -> Iterator[tuple[str, Value]]:
    if parameter.rows:
        for column, value in parameter.rows[pick(len(parameter.rows))].items():
            yield column, _with_unit(value, parameter.units.get(column))
    else:
        choices = choices_of(parameter)
        yield name, _with_unit(choices[pick(len(choices))], parameter.unit)


def choices_of(parameter: Parameter) -> tuple[int | float | str | bool, ...] | range:
    """All values that a parameter without rows may take."""
    if parameter.choice is not None:
        return parameter.choice
    if parameter.integer is not None:
        first, last = parameter.integer
        return range(first, last + 1, int(parameter.step or 1))
    assert parameter.real is not None  # noqa: S101 - the loader saw to it
    assert parameter.step is not None  # noqa: S101
    (low, high), step = parameter.real, parameter.step
    count = int((high - low) / step + 1e-9) + 1
    # Rounded to the step's own digits, so that 0.1 + 2 * 0.1 prints as 0.3.
    return tuple(float(f"{low + i * step:.12g}") for i in range(count))


def _with_unit(value: float | str | bool, unit: str | None) -> Value:
    if unit is None or isinstance(value, (str, bool)):
        return value
    return units.quantity(value, unit)


def _held(problem: Problem, condition: Expr, scope: Mapping[str, Value], facts: Facts) -> bool:
    try:
        return holds(condition, scope, facts)
    except ExpressionError as error:
        what = f"in the condition '{condition}': {error.what} (with {numbers(problem, scope)})"
        raise _failed(problem, ("where",), what, error.fix, _class_of(error)) from None


def _evaluated(
    problem: Problem, name: str, expression: Expr, scope: Mapping[str, Value], facts: Facts
) -> Value:
    try:
        return evaluate(expression, scope, facts)
    except ExpressionError as error:
        what = f"in the value '{name}': {error.what} (with {numbers(problem, scope)})"
        raise _failed(problem, ("values", name), what, error.fix, _class_of(error)) from None


def paper(release: Release, student: Student, given: Paper | None = None) -> Paper:
    """The paper of *student*: the same one every time.

    *given* is the paper that the student worked on, when the specs have moved on since: its
    numbers are kept wherever the problem is still there.
    """
    questions: list[Question] = []
    numbers = {q.variant.problem.id: q.variant.parameters for q in given.questions} if given else {}
    for slot in release.exam.slots:
        for problem_id in _chosen(slot, release, student.id):
            problem = release.problems[problem_id]
            seed = seed_for(release.private_key, student.id, problem_id)
            questions.append(
                Question(
                    number=len(questions) + 1,
                    variant=draw(problem, seed, release.facts, numbers.get(problem_id)),
                    points=points_of(problem, slot),
                    pooled=bool(slot.pool) and slot.choose < len(slot.pool),
                )
            )
    return Paper(student=student, exam=release.exam, release=release.id, questions=tuple(questions))


def _chosen(slot: Slot, release: Release, student: str) -> tuple[str, ...]:
    if slot.problem:
        return (slot.problem,)
    seed = seed_for(release.private_key, student, "pool/" + "/".join(slot.pool))
    taken = order(seed, "pool", len(slot.pool))[: slot.choose]
    # In the set's order: only which problems differs between students, not their sequence.
    return tuple(slot.pool[i] for i in sorted(taken))


def points_of(problem: Problem, slot: Slot) -> dict[str, float]:
    """The points of each part that this slot asks: its own, or scaled to add up to the slot's."""
    asked = [p for p in problem.parts if not slot.parts or p.id in slot.parts]
    own = sum(p.points for p in asked)
    scale = slot.points / own if slot.points is not None else 1.0
    return {p.id: round(p.points * scale, 6) for p in asked}


def sample_seed(problem_id: str, number: int) -> bytes:
    """The seed of variant *number* outside any release, as the gate and `grader show` count."""
    return hashlib.sha256(f"gate/{problem_id}/{number}".encode()).digest()


def loose_paper(variants: Sequence[Variant], name: str) -> Paper:
    """A paper outside any release: each variant with all its parts at their own points."""
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
