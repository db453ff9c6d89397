"""Draws a variant of a problem, with its keys, from a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from grader.draw.dice import hashed, order
from grader.draw.fault import class_of, failed, numbers
from grader.draw.plan import plan_of
from grader.expressions import ExpressionError, TextError, fill
from grader.kinds import Kind, kinds
from grader.model import Draw, Facts, Key, Part, Problem, Variant
from grader.units.quantity import Value


def draw(
    problem: Problem,
    seed: bytes,
    facts: Facts,
    numbers_of: Mapping[str, Value] | None = None,
) -> Variant:
    """The variant of *problem* for *seed*, with its keys.

    If *numbers_of* is given, it has parameters drawn with an earlier spec, which are kept. Raises
    DrawError if the conditions are too rarely true, or if an expression fails.
    """
    plan, draws = plan_of(problem, facts), 1
    if numbers_of is None:
        parameters, scope, draws = plan.draw(seed)
    else:
        parameters = dict(numbers_of)
        scope = plan.with_values(parameters)
    filler, shuffle = _filler(facts), partial(order, seed)

    def number(label: str) -> int:
        return hashed(b"%s|number|%s" % (seed, label.encode()))

    def vary(changed: Mapping[str, Value]) -> Mapping[str, Value]:
        return plan.with_values({**parameters, **changed})

    keys: dict[str, Key] = {}
    dice = Draw(
        scope=scope,
        facts=facts,
        fill=filler,
        order=shuffle,
        vary=vary,
        number=number,
        parameters=parameters,
        solution=problem.solution,
    )
    for part in problem.parts:
        kind = kinds.find(part.kind)
        keys[part.id] = key = _key(problem, part, kind, dice)
        answer = kind.carried(kind.true(key), key)
        if answer is not None:
            # A new mapping: keys made earlier keep the scope they were made in.
            scope = {**scope, part.id: answer}
            dice = replace(dice, scope=scope)
    return Variant(
        problem=problem,
        seed=seed,
        draw=dice,
        parameters=parameters,
        scope=scope,
        keys=keys,
        draws=draws,
    )


def _key(problem: Problem, part: Part, kind: Kind, dice: Draw) -> Key:
    """The key of *part*; raises DrawError with the problem and the part."""
    try:
        key: Key = kind.key(part, dice)
        return key
    except (ExpressionError, TextError) as error:
        what, fix, check = error.what, error.fix, class_of(error)
    except ValueError as error:
        what, fix, check = str(error), "check the part's expressions and units", class_of(error)
    index = next(i for i, p in enumerate(problem.parts) if p.id == part.id)
    what = f"part '{part.id}': {what} (with {numbers(problem, dice.scope)})"
    raise failed(problem, ("parts", index), what, fix, check)


def _filler(facts: Facts) -> Callable[[str, Mapping[str, Value]], str]:
    return lambda text, scope: fill(text, scope, facts)
