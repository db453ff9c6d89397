"""Draws a problem's numbers, in an order that rejects bad combinations early."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

from grader.draw.fault import failed, in_expression
from grader.draw.parameters import Die, die_of
from grader.expressions import Closure, ExpressionError, evaluate, holds, names_in, prepared
from grader.model import Expr, Facts, Problem
from grader.units.quantity import Value

MAX_DRAWS = 1000
REMEMBERED = 2048
"""Maximum combinations of faces for which results of an expression are cached; with more, none."""

_NO_FACTS: Facts = MappingProxyType({})
# The index of each die's face; None if it has not been rolled yet.
_Faces = Sequence[int | None]


class Drawn(NamedTuple):
    """Numbers that satisfy `where`."""

    parameters: dict[str, Value]
    scope: dict[str, Value]
    """Parameters, and the values computed from them."""
    draws: int
    """Number of draws it took."""


class _Known:
    """A value or condition with cached results by the faces of the dice that it depends on.

    Results repeat often in a class: most expressions depend on two or three parameters with about
    a dozen values each.
    """

    def __init__(self, name: str, run: Closure, behind: Sequence[int], dice: Sequence[Die]):
        self.name = name
        self.run = run
        self.behind = tuple(behind)
        self._key: Callable[[_Faces], object] = itemgetter(*behind) if behind else lambda _: None
        self._few = math.prod(dice[i].count for i in behind) <= REMEMBERED
        self._found: dict[object, Value] = {}

    def find(self, faces: _Faces) -> Value | None:
        """The cached result for these faces, or None."""
        return self._found.get(self._key(faces))

    def evaluated(self, faces: _Faces, scope: Mapping[str, Value], facts: Facts) -> Value:
        """Evaluates and caches the result in *scope*, which belongs to these faces."""
        found = self.run(scope, facts)
        if self._few:
            self._found[self._key(faces)] = found
        return found


class _Step(NamedTuple):
    """One condition, and the dice to roll before it can be evaluated."""

    roll: tuple[int, ...]
    condition: _Known
    values: tuple[_Known, ...]
    """All values that the condition uses, directly or indirectly."""


class Plan:
    """One problem's parameters, values and conditions, prepared for drawing."""

    def __init__(self, problem: Problem, facts: Facts):
        self._problem = problem
        self._facts = facts
        self._dice = tuple(die_of(*item) for item in problem.parameters.items())
        behind = _behind(problem)
        self._values = tuple(
            _Known(name, _ready(e), self._dice_of(behind[name]), self._dice)
            for name, e in problem.values.items()
        )
        self._steps = tuple(self._in_good_order(behind))

    def draw(self, seed: bytes) -> Drawn:
        """The first numbers for *seed* that satisfy all conditions; raises DrawError."""
        for number in range(MAX_DRAWS):
            attempt = b"%d" % number
            try:
                faces = self._attempt(seed, attempt)
                found = self._scopes(faces) if faces is not None else None
            except ExpressionError:
                # In the order of the spec, another condition may have rejected these numbers.
                found = self._in_order(seed, attempt)
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

    def with_values(self, parameters: Mapping[str, Value]) -> dict[str, Value]:
        """The parameters and the values computed from them; raises DrawError."""
        scope = dict(parameters)
        for value in self._values:
            try:
                scope[value.name] = value.run(scope, self._facts)
            except ExpressionError as error:
                path, place = ("values", value.name), f"value '{value.name}'"
                raise in_expression(self._problem, path, place, error, scope) from None
        return scope

    def _attempt(self, seed: bytes, attempt: bytes) -> list[int] | None:
        """The faces of all dice, or None as soon as any condition does not hold."""
        dice = self._dice
        faces: list[int] = [-1] * len(dice)
        for step in self._steps:
            for index in step.roll:
                faces[index] = dice[index].roll(seed, attempt)
            held = step.condition.find(faces)
            if held is None:
                held = step.condition.evaluated(faces, self._scope_for(step, faces), self._facts)
            if held is not True:
                if held is False:
                    return None
                raise ExpressionError("no condition")
        return [die.roll(seed, attempt) if f < 0 else f for die, f in zip(dice, faces, strict=True)]

    def _scope_for(self, step: _Step, faces: Sequence[int]) -> dict[str, Value]:
        """The scope that the condition of *step* needs."""
        scope: dict[str, Value] = {}
        for index in step.condition.behind:
            scope.update(self._dice[index].face(faces[index]))
        self._compute(step.values, scope, faces)
        return scope

    def _scopes(self, faces: Sequence[int]) -> tuple[dict[str, Value], dict[str, Value]]:
        """The parameters, and the scope with all computed values, in the order of the spec."""
        parameters: dict[str, Value] = {}
        for die, face in zip(self._dice, faces, strict=True):
            parameters.update(die.face(face))
        scope = dict(parameters)
        self._compute(self._values, scope, faces)
        return parameters, scope

    def _compute(
        self, values: Iterable[_Known], scope: dict[str, Value], faces: Sequence[int]
    ) -> None:
        for value in values:
            found = value.find(faces)
            if found is None:
                found = value.evaluated(faces, scope, self._facts)
            scope[value.name] = found

    def _in_order(
        self, seed: bytes, attempt: bytes
    ) -> tuple[dict[str, Value], dict[str, Value]] | None:
        """Draws in the order of the spec: conditions on parameters, then values, then the others.

        The first conditions may exclude numbers for which values fail, such as a division by zero.
        """
        values = self._problem.values.keys()
        late = [c for c in self._problem.where if _names(c) & values]
        parameters: dict[str, Value] = {}
        for die in self._dice:
            parameters.update(die.face(die.roll(seed, attempt)))
        if not self._all_hold((c for c in self._problem.where if c not in late), parameters):
            return None
        scope = self.with_values(parameters)
        return (parameters, scope) if self._all_hold(late, scope) else None

    def _all_hold(self, conditions: Iterable[Expr], scope: Mapping[str, Value]) -> bool:
        for condition in conditions:
            try:
                if not holds(condition, scope, self._facts):
                    return False
            except ExpressionError as error:
                place = f"condition '{condition}'"
                raise in_expression(self._problem, ("where",), place, error, scope) from None
        return True

    def _dice_of(self, names: frozenset[str]) -> tuple[int, ...]:
        return tuple(i for i, die in enumerate(self._dice) if die.names & names)

    def _in_good_order(self, behind: Mapping[str, frozenset[str]]) -> Iterator[_Step]:
        """Yields the conditions, cheapest first, given what earlier ones have computed."""
        rolled: set[int] = set()
        computed: set[str] = set()
        left = list(self._problem.where)

        def needs(condition: Expr) -> frozenset[str]:
            return _with_behind(_names(condition), behind)

        def cost(condition: Expr) -> int:
            names = needs(condition)
            values = self._problem.values.items()
            written = [str(e) for name, e in values if name in names - computed]
            dice = set(self._dice_of(names)) - rolled
            return 10 * len(dice) + sum(map(len, written)) + len(str(condition))

        while left:
            condition = min(left, key=cost)
            left.remove(condition)
            names = needs(condition)
            dice = self._dice_of(names)
            yield _Step(
                roll=tuple(i for i in dice if i not in rolled),
                condition=_Known("", _ready(condition), dice, self._dice),
                values=tuple(v for v in self._values if v.name in names),
            )
            rolled.update(dice)
            computed |= names


def plan_of(problem: Problem, facts: Facts) -> Plan:
    """The plan of *problem*, made on first use."""
    return _plan(_Same(problem, facts or _NO_FACTS))


class _Same:
    """A cache key by object identity, since the objects are not hashable."""

    __slots__ = ("facts", "problem")

    def __init__(self, problem: Problem, facts: Facts):
        self.problem = problem
        self.facts = facts

    def __hash__(self) -> int:
        return hash((id(self.problem), id(self.facts)))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Same) and other.problem is self.problem and other.facts is self.facts
        )


@lru_cache(maxsize=128)
def _plan(one: _Same) -> Plan:
    return Plan(one.problem, one.facts)


def _ready(expression: Expr) -> Closure:
    try:
        return prepared(expression)
    except ExpressionError:  # reported on evaluation, with the numbers
        return lambda scope, facts: evaluate(expression, scope, facts)


def _names(expression: Expr) -> frozenset[str]:
    return names_in(expression) if isinstance(expression, str) else frozenset()


def _behind(problem: Problem) -> Mapping[str, frozenset[str]]:
    """Maps each value to its name and all names that it uses, directly or indirectly."""
    behind: dict[str, frozenset[str]] = {}
    for name, expression in problem.values.items():
        behind[name] = _with_behind(_names(expression), behind) | {name}
    return behind


def _with_behind(names: frozenset[str], behind: Mapping[str, frozenset[str]]) -> frozenset[str]:
    return names.union(*(behind[name] for name in names if name in behind))
