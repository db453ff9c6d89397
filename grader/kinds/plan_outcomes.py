"""The plans that a part offers, and what each of them leads to."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Literal, NamedTuple

from grader import units
from grader.expressions import ExpressionError, compile_expression, holds, names_in, read_choice
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

    def iter_faults(self) -> Iterator[tuple[str, str, str]]:
        """Yields a fault for each text on offer that `choice_of` would read as something else."""
        for name, offered in self.choose.items():
            for text in offered:
                if isinstance(text, str) and (
                    ", " in text or " = " in text or read_choice(text) != text
                ):
                    what = f"'{name}' offers the text '{text}', which later parts would misread"
                    fix = "use words without ', ' and ' = ', and numbers, true, and false unquoted"
                    yield "choose", what, fix


class PlanOutcome(NamedTuple):
    """What a plan leads to."""

    scope: Mapping[str, Value]
    """The variant's names, the chosen values, and the values computed from them."""
    unmet_requirement: Requirement | None
    """The first requirement that the plan does not meet."""
    score: float
    """The cost or gain in the part's unit; NaN for a plan that is not feasible."""


def iter_outcomes(part: Plan, draw: Draw) -> Iterator[tuple[Chosen, PlanOutcome]]:
    """Yields every plan and what it leads to.

    An expression is evaluated once for each combination of the choices that it depends on, and a
    plan's values only when a requirement or the cost needs them.
    """
    evaluations = _Evaluations(part, draw)
    for chosen in itertools.product(*part.choose.values()):
        plan = dict(zip(part.choose, chosen, strict=True))
        yield plan, evaluations.outcome(plan)


def evaluate_plan(plan: Chosen, part: Plan, draw: Draw) -> PlanOutcome:
    """Returns what *plan* leads to in this variant. Raises ExpressionError."""
    outcome = _Evaluations(part, draw).outcome(plan)
    for name in part.values:
        with suppress(ExpressionError):  # of a value that an infeasible plan need not have
            outcome.scope[name]  # so that texts find all names
    return outcome


class _Scope(dict[str, Value]):
    """The names in scope for one plan; values are computed when an expression asks for them."""

    def __init__(self, evaluations: _Evaluations, plan: Chosen):
        super().__init__({**evaluations.draw.scope, **plan})
        self._evaluations = evaluations
        self._plan = plan

    def __missing__(self, name: str) -> Value:
        expression = self._evaluations.part.values[name]
        self[name] = self._evaluations.value(expression, self._plan, self)
        return self[name]


class _Evaluations:
    """A part's expressions, each evaluated once per combination of the choices it depends on."""

    def __init__(self, part: Plan, draw: Draw):
        self.part = part
        self.draw = draw
        self._values: dict[tuple[object, ...], Value] = {}
        depends: dict[str, frozenset[str]] = {name: frozenset([name]) for name in part.choose}
        for name, expression in part.values.items():
            depends[name] = _choices_in(expression, depends)
        self._score = (part.gain if part.cost is None else part.cost) or 0
        conditions = (requirement.that for requirement in part.require)
        self._compiled = {
            # With the type, because 1 == True == 1.0.
            (type(expression), expression): (
                compile_expression(expression),
                self._make_picker(expression, depends),
            )
            for expression in (*part.values.values(), *conditions, self._score)
        }

    def outcome(self, plan: Chosen) -> PlanOutcome:
        """Returns what *plan* leads to."""
        scope = _Scope(self, plan)
        for requirement in self.part.require:
            if not holds(self.value(requirement.that, plan, scope), {}):  # type: ignore[arg-type]
                return PlanOutcome(scope, requirement, math.nan)
        value = self.value(self._score, plan, scope)
        return PlanOutcome(scope, None, units.magnitude(value, self.part.unit))

    def value(self, expression: Expr, plan: Chosen, scope: _Scope) -> Value:
        """Returns the value of one of the part's expressions. Raises ExpressionError."""
        typed = (type(expression), expression)
        run, pick = self._compiled[typed]
        if pick is None:
            return run(scope, self.draw.facts)
        key = (typed, pick(plan))
        if key not in self._values:
            self._values[key] = run(scope, self.draw.facts)
        return self._values[key]

    def _make_picker(
        self, expression: Expr, depends: Mapping[str, frozenset[str]]
    ) -> Callable[[Chosen], object] | None:
        """Returns a function that picks the choices *expression* needs; None if it needs all."""
        names = sorted(_choices_in(expression, depends))
        if len(names) == len(self.part.choose):
            return None
        return itemgetter(*names) if names else lambda _: None


def _choices_in(expression: Expr, depends: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Returns the choices that *expression* depends on, directly or through values."""
    names = names_in(expression) if isinstance(expression, str) else frozenset[str]()
    return frozenset[str]().union(*(depends.get(name, frozenset()) for name in names))
