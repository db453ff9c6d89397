"""How a problem's numbers are drawn: in the order that finds out soonest when they don't fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from grader.draw.fault import failed, in_expression
from grader.draw.parameters import Die, Face, die_of
from grader.expressions import Closure, ExpressionError, evaluate, holds, names_in, prepared
from grader.model import Expr, Facts, Problem
from grader.quantity import Value

MAX_DRAWS = 1000

_Values = tuple[tuple[str, Closure], ...]


class Drawn(NamedTuple):
    """What `where` let pass."""

    parameters: dict[str, Value]
    scope: dict[str, Value]
    """Parameters, and the values computed from them."""
    draws: int
    """How often it was drawn."""


@dataclass(frozen=True, slots=True)
class _Step:
    """One condition, and what has to be known before it can be asked and is not known yet."""

    dice: tuple[int, ...]
    values: _Values
    holds: Closure


class Plan:
    """One problem's parameters, values and conditions, made ready."""

    def __init__(self, problem: Problem):
        self._problem = problem
        self._dice = tuple(die_of(*item) for item in problem.parameters.items())
        self._values: _Values = tuple((n, _ready(e)) for n, e in problem.values.items())
        # Conditions on parameters alone may keep out what values can't stand, such as a
        # division by zero.
        late = [c for c in problem.where if _names(c) & set(problem.values)]
        self._early = [c for c in problem.where if c not in late]
        self._late = late
        self._steps = tuple(_steps(problem, self._dice, self._values))

    def draw(self, seed: bytes, facts: Facts) -> Drawn:
        """The first numbers for *seed* that fit; raises DrawError."""
        for number in range(MAX_DRAWS):
            attempt = b"%d" % number
            try:
                found = self._quickly(seed, attempt, facts)
            except ExpressionError:
                # In its own order another condition may have kept out what failed.
                found = self._in_order(seed, attempt, facts)
            if found is not None:
                return Drawn(*found, number + 1)
        raise failed(
            self._problem,
            ("where",),
            f"no numbers in {MAX_DRAWS} draws satisfy: "
            + "; ".join(str(c) for c in self._problem.where),
            "widen the parameters or relax 'where'",
            "hit-rate",
        )

    def with_values(self, parameters: Mapping[str, Value], facts: Facts) -> dict[str, Value]:
        """The parameters and the values computed from them; raises DrawError."""
        scope = dict(parameters)
        for name, value in self._values:
            try:
                scope[name] = value(scope, facts)
            except ExpressionError as error:
                path = ("values", name)
                raise in_expression(self._problem, path, f"value '{name}'", error, scope) from None
        return scope

    def _quickly(
        self, seed: bytes, attempt: bytes, facts: Facts
    ) -> tuple[dict[str, Value], dict[str, Value]] | None:
        """Parameters and scope, or None as soon as any condition does not hold."""
        faces: list[Face | None] = [None] * len(self._dice)
        known: dict[str, Value] = {}
        for step in self._steps:
            for index in step.dice:
                face = faces[index] = self._dice[index].roll(seed, attempt)
                known.update(face)
            for name, value in step.values:
                known[name] = value(known, facts)
            held = step.holds(known, facts)
            if held is not True:
                if held is False:
                    return None
                raise ExpressionError("no condition")
        parameters: dict[str, Value] = {}
        for die, rolled in zip(self._dice, faces, strict=True):
            parameters.update(die.roll(seed, attempt) if rolled is None else rolled)
        # In the order of the spec, whatever order they became known in.
        scope = dict(parameters)
        for name, value in self._values:
            scope[name] = known[name] if name in known else value(scope, facts)
        return parameters, scope

    def _in_order(
        self, seed: bytes, attempt: bytes, facts: Facts
    ) -> tuple[dict[str, Value], dict[str, Value]] | None:
        """The same in the order of the spec: all parameters, conditions on them, values, others."""
        parameters: dict[str, Value] = {}
        for die in self._dice:
            parameters.update(die.roll(seed, attempt))
        if not self._all_hold(self._early, parameters, facts):
            return None
        scope = self.with_values(parameters, facts)
        return (parameters, scope) if self._all_hold(self._late, scope, facts) else None

    def _all_hold(
        self, conditions: Sequence[Expr], scope: Mapping[str, Value], facts: Facts
    ) -> bool:
        for condition in conditions:
            try:
                if not holds(condition, scope, facts):
                    return False
            except ExpressionError as error:
                place = f"condition '{condition}'"
                raise in_expression(self._problem, ("where",), place, error, scope) from None
        return True


@lru_cache(maxsize=256)
def _plan(one: _Same) -> Plan:
    return Plan(one.problem)


def plan_of(problem: Problem) -> Plan:
    """The plan of *problem*, made when it is first drawn."""
    return _plan(_Same(problem))


class _Same:
    """A problem as the key of a cache: this very one, as it can't be hashed by what it holds."""

    __slots__ = ("problem",)

    def __init__(self, problem: Problem):
        self.problem = problem

    def __hash__(self) -> int:
        return id(self.problem)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.problem is self.problem


def _ready(expression: Expr) -> Closure:
    try:
        return prepared(expression)
    except ExpressionError:  # said when it is needed, with the numbers
        return lambda scope, facts: evaluate(expression, scope, facts)


def _names(expression: Expr) -> frozenset[str]:
    return names_in(expression) if isinstance(expression, str) else frozenset()


def _steps(problem: Problem, dice: Sequence[Die], values: _Values) -> Iterator[_Step]:
    """The conditions, the cheapest first: by what they need beside what is known by then."""
    needs = _needs(problem)
    rolled: set[int] = set()
    computed: set[str] = set()
    left = list(problem.where)

    def missing(condition: Expr) -> tuple[tuple[int, ...], _Values]:
        names = needs[condition]
        new = (i for i, die in enumerate(dice) if die.names & names and i not in rolled)
        return tuple(new), tuple(v for v in values if v[0] in names and v[0] not in computed)

    def cost(condition: Expr) -> int:
        to_roll, to_compute = missing(condition)
        written = (str(problem.values[name]) for name, _ in to_compute)
        return 10 * len(to_roll) + sum(map(len, written)) + len(str(condition))

    while left:
        condition = min(left, key=cost)
        left.remove(condition)
        to_roll, to_compute = missing(condition)
        yield _Step(to_roll, to_compute, _ready(condition))
        rolled.update(to_roll)
        computed.update(name for name, _ in to_compute)


def _needs(problem: Problem) -> Mapping[Expr, frozenset[str]]:
    """All names behind each condition: its own, and those of the values that it uses."""
    behind: dict[str, frozenset[str]] = {}
    for name, expression in problem.values.items():
        own = _names(expression)
        behind[name] = own.union({name}, *(behind[n] for n in own if n in behind))
    return {
        condition: _names(condition).union(*(behind[n] for n in _names(condition) if n in behind))
        for condition in problem.where
    }
