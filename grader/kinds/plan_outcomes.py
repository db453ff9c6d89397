"""The plans that a part offers, and what each of them leads to."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from grader import units
from grader.expressions import ExpressionError, evaluate, holds
from grader.model import Draw, Expr, Part, Scalar, Share, Text
from grader.model.spec import Strict
from grader.units.quantity import Value

Chosen = Mapping[str, Scalar]
"""A plan: the chosen value of each name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement(Strict):
    """A condition that every feasible plan meets."""

    id: str
    that: Expr
    """Holds for a feasible plan; may use the chosen values and the part's `values`."""
    feedback: Text
    """Shown for a plan that does not meet it; may print the plan's values."""
    stated: Text = ""
    """The words of the prompt, the assumptions, the given values, or the ask that state it."""
    credit: Share = 0.0
    """The share of the points that such a plan keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortcoming(Strict):
    """A reason why a feasible plan is not the best one."""

    id: str
    when: Expr
    """Holds for plans with this shortcoming."""
    feedback: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Part):
    """A choice of one value for each of several names, judged by what it costs."""

    kind: Literal["plan"] = "plan"
    choose: Mapping[str, tuple[Scalar, ...]]
    """The values on offer for each name."""
    values: Mapping[str, Expr] = field(default_factory=dict)
    """Computed for each plan, in order; may use the chosen values and earlier values."""
    require: tuple[Requirement, ...] = ()
    """Conditions of feasibility; the first that fails is the student's mistake."""
    cost: Expr | None = None
    """What a plan costs; lower is better. Give either this or `gain`."""
    gain: Expr | None = None
    """What a plan yields; higher is better."""
    unit: str = ""
    """The unit in which the cost or gain is printed; empty for a plain number."""
    full: Share = 0.02
    """Up to this distance from the best, relative to it, a plan earns full points."""
    none: Share = 0.2
    """From this distance on, a plan earns nothing; in between, the points fall linearly."""
    shortcomings: tuple[Shortcoming, ...] = ()
    """Reasons why a plan is not the best; the feedback of the first that applies is shown."""

    def local_names(self) -> tuple[str, ...]:
        """Returns the names of the choices, and of the values computed from them."""
        return (*self.choose, *self.values)


class PlanOutcome(NamedTuple):
    """What a plan leads to."""

    scope: Mapping[str, Value]
    """The variant's names, the chosen values, and the values computed from them."""
    unmet_requirement: Requirement | None
    """The first requirement that the plan does not meet."""
    score: float
    """The cost or gain in the part's unit; NaN for a plan that is not feasible."""


def iter_outcomes(part: Plan, draw: Draw) -> Iterator[tuple[Chosen, PlanOutcome]]:
    """Yields every plan and what it leads to."""
    for chosen in itertools.product(*part.choose.values()):
        plan = dict(zip(part.choose, chosen, strict=True))
        yield plan, _find_outcome(plan, part, draw)


def evaluate_plan(plan: Chosen, part: Plan, draw: Draw) -> PlanOutcome:
    """Returns what *plan* leads to in this variant. Raises ExpressionError."""
    outcome = _find_outcome(plan, part, draw)
    for name in part.values:
        with suppress(ExpressionError):  # of a value that an infeasible plan need not have
            outcome.scope[name]  # so that texts find all names
    return outcome


class _Scope(dict[str, Value]):
    """The names in scope for one plan; values are computed when an expression asks for them."""

    def __init__(self, plan: Chosen, part: Plan, draw: Draw):
        super().__init__({**draw.scope, **plan})
        self._part = part
        self._draw = draw

    def __missing__(self, name: str) -> Value:
        self[name] = evaluate(self._part.values[name], self, self._draw.facts)
        return self[name]


def _find_outcome(plan: Chosen, part: Plan, draw: Draw) -> PlanOutcome:
    scope = _Scope(plan, part, draw)
    for requirement in part.require:
        if not holds(requirement.that, scope, draw.facts):
            return PlanOutcome(scope, requirement, math.nan)
    score = evaluate((part.gain if part.cost is None else part.cost) or 0, scope, draw.facts)
    return PlanOutcome(scope, None, units.magnitude(score, part.unit))
