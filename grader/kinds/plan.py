"""A configuration chosen by the student; any feasible one counts, by how near it is to the best."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import ClassVar, Literal, NamedTuple

from grader import units
from grader.expressions import evaluate, holds, names_in
from grader.kinds import numbers, samples
from grader.kinds.base import CORRECT, UNDRAWN, Example, KindOf, Unreadable, kinds
from grader.kinds.cells import raw_pairs
from grader.kinds.scalars import quote, refusal
from grader.kinds.texts import try_fill
from grader.model import Draw, Expr, Judgement, Key, Part, Raw, Scalar, Share, Text, Verdict
from grader.model.spec import STRICT
from grader.units.quantity import Value

Chosen = Mapping[str, Scalar]
"""A plan: the chosen value of each name."""

MAX_PLANS = 20_000
"""The largest number of plans that a part may offer, because all of them are compared."""
_TIE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """A condition that every feasible plan meets."""

    __pydantic_config__: ClassVar[dict[str, object]] = STRICT

    id: str
    that: Expr
    """Holds for a feasible plan; may use the chosen values and the part's `values`."""
    feedback: Text
    """Shown for a plan that does not meet it; may print the plan's values."""
    credit: Share = 0.0
    """The share of the points that such a plan keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortcoming:
    """A reason why a feasible plan is not the best one."""

    __pydantic_config__: ClassVar[dict[str, object]] = STRICT

    id: str
    when: Expr
    """Holds for plans with this shortcoming."""
    feedback: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Part):
    """A choice of one value for each of several names, judged by what it costs."""

    __pydantic_config__: ClassVar[dict[str, object]] = STRICT

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
        """The names of the choices, and of the values computed from them."""
        return (*self.choose, *self.values)


class Outcome(NamedTuple):
    """What a plan leads to."""

    scope: Mapping[str, Value]
    """The variant's names, the chosen values, and the values computed from them."""
    failed: Requirement | None
    """The first requirement that the plan does not meet."""
    score: float
    """The cost or gain in the part's unit; NaN for a plan that is not feasible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanKey(Key):
    """The values on offer, and the best plans."""

    part: Plan
    best: tuple[Chosen, ...] = ()
    """All plans that share the best cost or gain; empty in a key made from a sheet."""
    score: float = 0.0
    """Their cost or gain, in the part's unit."""


class PlanKind(KindOf[PlanKey, Chosen]):
    """A configuration, judged by its distance from the best one."""

    spec = Plan

    def key(self, part: Plan, draw: Draw) -> PlanKey:
        _check_part(part)
        scored = [(p, score) for p, failed, score in iter_outcomes(part, draw) if failed is None]
        if not scored:
            raise ValueError("no plan meets all requirements")
        best = (min if part.gain is None else max)(score for _, score in scored)
        if not best > 0:
            raise ValueError(f"the best plan's {_noun(part)} must be positive, but it is {best:g}")
        tied = tuple(plan for plan, score in scored if abs(score / best - 1) <= _TIE)
        return PlanKey(part=part, draw=draw, best=tied, score=best)

    def read(self, raw: Raw, key: PlanKey) -> Chosen:
        wanted = f"a dict with {_names_in_words(key.part)}"
        if raw.get("t") != "dict":
            raise refusal(raw, wanted)
        found: dict[str, Scalar] = {}
        for name, value in raw_pairs(raw):
            written = str(name.get("v", "")).strip()
            if written not in key.part.choose:
                raise Unreadable(f"There is no choice {quote(written)}; give {wanted}.")
            if value.get("t") not in ("ellipsis", "none"):
                found[written] = _read_choice(value, written, key.part.choose[written])
        if not found:
            raise Unreadable("The answer is empty.", blank=True)
        if missing := [name for name in key.part.choose if name not in found]:
            raise Unreadable(f"No value is given for {', '.join(missing)}.")
        return {name: found[name] for name in key.part.choose}

    def judge(self, value: Chosen, key: PlanKey) -> Judgement:
        part = key.part
        scope, failed, score = evaluate_plan(value, part, key.draw)
        draw = replace(key.draw, scope=scope)
        if failed is not None:
            note = try_fill(failed.feedback, draw)
            return Judgement(
                share=failed.credit, verdict=Verdict.MISTAKE, note=note, mistake=failed.id
            )
        share = credit_of(part, regret(part, score, key.score))
        if share == 1:
            return CORRECT
        found = f"Your plan's {_noun(part)} is {numbers.format_number(score, part.unit, 4)}."
        reason = first_shortcoming(value, key)
        why = try_fill(reason.feedback, draw) if reason else "There are better plans."
        wrong = Verdict.MISTAKE if reason else Verdict.INCORRECT
        return Judgement(
            share=share,
            verdict=Verdict.PARTIAL if share else wrong,
            note=f"{found} {why}",
            mistake=reason.id if reason else None,
        )

    def examples(self, key: PlanKey) -> tuple[Example, ...]:
        part, best = key.part, key.best[0]
        name, offered = next(iter(part.choose.items()))
        rest = {n: v for n, v in best.items() if n != name}
        not_offered = "none of these" if isinstance(offered[0], str) else 987_654
        return (
            Example(raw=_raw_plan(best), share=1.0, why="the best plan"),
            *(Example(raw=_raw_plan(plan), share=1.0, why="a tie") for plan in key.best[1:3]),
            *_judged_examples(key),
            samples.unreadable(_raw_plan({**best, name: not_offered}), "a value not on offer"),
            samples.unreadable(_raw_plan({**best, "no_such_name": 1}), "an unknown name"),
            samples.unreadable(_raw_plan(dict.fromkeys(best, ...)), "the untouched placeholder"),
            *([samples.unreadable(_raw_plan(rest), "a name left out")] if rest else []),
            samples.unreadable(samples.a_dict([]), "an empty dict"),
            samples.unreadable(samples.number(1), "a number"),
            *samples.NOTHING,
        )

    def answer(self, key: PlanKey) -> object:
        return dict(key.best[0])

    def format_value(self, value: Chosen, key: PlanKey) -> str:
        return as_text(value)

    def instructions(self, key: PlanKey) -> str:
        part = key.part
        return (
            "a dict with one value for each name; any feasible plan counts, with full points "
            f"up to {_percent(part.full)} {_direction(part)} the best {_noun(part)}, and none from "
            f"{_percent(part.none)} on"
        )

    def explain(self, key: PlanKey) -> str:
        shown = numbers.format_number(key.score, key.part.unit, 4)
        best = " or ".join(f"**{self.format_value(plan, key)}**" for plan in key.best[:3])
        return f"{best}, with a {_noun(key.part)} of {shown}."

    def sheet(self, key: PlanKey) -> Mapping[str, object]:
        return {"choose": {name: list(offered) for name, offered in key.part.choose.items()}}

    def from_sheet(self, sheet: Mapping[str, object]) -> PlanKey:
        offers = sheet["choose"]
        if not isinstance(offers, dict):
            raise ValueError("'choose' must be a dict")
        choose = {str(name): tuple(offered) for name, offered in offers.items()}
        return PlanKey(part=Plan(id="", ask="", choose=choose), draw=UNDRAWN)

    def read_solution(self, answer: object, key: PlanKey) -> Chosen:
        """Returns the plan that the solution found; it must be as good as the best.

        The solution may add its own cost or gain, in the part's unit, under the name `cost` or
        `gain`. Raises ValueError if one of the two differs from the key.
        """
        if not isinstance(answer, Mapping):
            raise ValueError(f"{answer!r} is not a dict")
        rest = dict(answer)
        claimed = rest.pop(_noun(key.part), None)
        plan = super().read_solution(rest, key)
        score = evaluate_plan(plan, key.part, key.draw).score
        for found in (score, score if claimed is None else claimed):
            if not isinstance(found, int | float) or abs(found / key.score - 1) > 1e-6:
                raise ValueError(f"its {_noun(key.part)} is {found}, the best is {key.score}")
        return plan

    def carry_value(self, value: Chosen, key: PlanKey) -> Value | None:
        return as_text(value)


def as_text(plan: Chosen) -> str:
    """Returns the plan on one line; the expression `choice_of(plan, "tp")` reads a value of it.

    >>> as_text({"tp": 8, "checkpoint": "full"})
    'tp = 8, checkpoint = full'
    """
    return ", ".join(f"{name} = {_format_choice(value)}" for name, value in plan.items())


def format_offers(offered: tuple[Scalar, ...]) -> str:
    """Returns the values on offer as words, such as "1, 2, or 4"."""
    *others, last = map(_format_choice, offered)
    return f"{', '.join(others)}{',' if len(others) > 1 else ''} or {last}"


def iter_plans(part: Plan) -> Iterator[Chosen]:
    """Yields every plan on offer."""
    for chosen in itertools.product(*part.choose.values()):
        yield dict(zip(part.choose, chosen, strict=True))


def iter_outcomes(part: Plan, draw: Draw) -> Iterator[tuple[Chosen, Requirement | None, float]]:
    """Yields every plan, the first requirement that it fails, and its cost or gain.

    An expression is evaluated once for each combination of the choices that it depends on.
    """
    evaluations = _Evaluations(part, draw)
    for plan in iter_plans(part):
        _, failed, score = evaluations.outcome(plan)
        yield plan, failed, score


def evaluate_plan(plan: Chosen, part: Plan, draw: Draw) -> Outcome:
    """Returns what *plan* leads to in this variant. Raises ExpressionError."""
    return _Evaluations(part, draw).outcome(plan)


class _Evaluations:
    """A part's expressions, each evaluated once per combination of the choices it depends on."""

    def __init__(self, part: Plan, draw: Draw):
        self.part = part
        self.draw = draw
        self._depends: dict[str, frozenset[str]] = {n: frozenset([n]) for n in part.choose}
        for name, expression in part.values.items():
            self._depends[name] = self._choices_in(expression)
        self._known: dict[tuple[object, ...], Value] = {}
        self._pickers: dict[Expr, Callable[[Chosen], object]] = {}

    def outcome(self, plan: Chosen) -> Outcome:
        scope: dict[str, Value] = {**self.draw.scope, **plan}
        for name, expression in self.part.values.items():
            scope[name] = self._value(expression, plan, scope)
        for requirement in self.part.require:
            if not self._holds(requirement.that, plan, scope):
                return Outcome(scope, requirement, math.nan)
        of_plan = self.part.gain if self.part.cost is None else self.part.cost
        value = self._value(of_plan or 0, plan, scope)
        return Outcome(scope, None, units.magnitude(value, self.part.unit))

    def _holds(self, condition: Expr, plan: Chosen, scope: Mapping[str, Value]) -> bool:
        return holds(self._value(condition, plan, scope), {})  # type: ignore[arg-type]

    def _value(self, expression: Expr, plan: Chosen, scope: Mapping[str, Value]) -> Value:
        pick = self._pickers.get(expression)
        if pick is None:
            names = sorted(self._choices_in(expression))
            pick = itemgetter(*names) if names else lambda _: None
            self._pickers[expression] = pick
        key = (expression, pick(plan))
        if key not in self._known:
            self._known[key] = evaluate(expression, scope, self.draw.facts)
        return self._known[key]

    def _choices_in(self, expression: Expr) -> frozenset[str]:
        """Returns the choices that *expression* depends on, directly or through values."""
        names = names_in(expression) if isinstance(expression, str) else frozenset[str]()
        return frozenset[str]().union(*(self._depends.get(n, frozenset()) for n in names))


def regret(part: Plan, score: float, best: float) -> float:
    """Returns how far a plan is from the best, relative to it: 0.05 costs 5% more, or yields 5%
    less."""
    return score / best - 1 if part.gain is None else 1 - score / best


def credit_of(part: Plan, distance: float) -> float:
    """Returns the share of the points at *distance* from the best plan."""
    if distance <= part.full + _TIE:
        return 1.0
    return max(0.0, round((part.none - distance) / (part.none - part.full), 9))


def _check_part(part: Plan) -> None:
    """Raises ValueError for a part whose plans can't be compared."""
    if (part.cost is None) == (part.gain is None):
        raise ValueError("a plan needs either 'cost' or 'gain'")
    if not part.full < part.none:
        raise ValueError("'full' must be smaller than 'none'")
    count = 1
    for name, offered in part.choose.items():
        if len(offered) < 2 or len({as_text({name: v}) for v in offered}) < len(offered):
            raise ValueError(f"'{name}' must offer at least two different values")
        count *= len(offered)
    if not 2 <= count <= MAX_PLANS:
        raise ValueError(f"there are {count} plans; offer 2 to {MAX_PLANS}")


def _noun(part: Plan) -> str:
    return "cost" if part.gain is None else "gain"


def _direction(part: Plan) -> str:
    return "above" if part.gain is None else "below"


def _percent(share: float) -> str:
    return f"{units.format_number(100 * share)}%"


def _names_in_words(part: Plan) -> str:
    return ", ".join(part.choose)


def _read_choice(raw: Raw, name: str, offered: tuple[Scalar, ...]) -> Scalar:
    """Returns the value on offer that the student meant. Raises Unreadable."""
    wanted = f"{format_offers(offered)} for {name}"
    tag = raw.get("t")
    if tag not in ("int", "float", "str", "bool"):
        raise refusal(raw, wanted)
    written = raw.get("v", "")
    text = " ".join(str(written).split()).casefold()
    for value in offered:
        if isinstance(value, bool) or tag == "bool":
            same = tag == "bool" and written is value
        elif isinstance(value, str):
            same = tag == "str" and text == value.casefold()
        else:
            same = _as_float(text) == value
        if same:
            return value
    raise Unreadable(f"{quote(written)} is not on offer for {name}; give {wanted}.")


def _as_float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _format_choice(value: Scalar) -> str:
    if isinstance(value, bool | str):
        return str(value)
    return units.format_number(value)


def _raw_plan(plan: Mapping[str, object]) -> Raw:
    def raw(value: object) -> Raw:
        if value is ...:
            return samples.BLANK
        if isinstance(value, bool):
            return {"t": "bool", "v": value}
        return samples.text(value) if isinstance(value, str) else samples.number(value)  # type: ignore[arg-type]

    return samples.a_dict((samples.text(name), raw(value)) for name, value in plan.items())


def _judged_examples(key: PlanKey) -> Iterator[Example]:
    """Yields the first plan that fails each requirement or has each shortcoming, and the worst
    feasible plan."""
    part, seen = key.part, set[str]()
    worst: Example | None = None
    for plan, failed, score in iter_outcomes(part, key.draw):
        if failed is not None:
            example = Example(
                raw=_raw_plan(plan),
                share=failed.credit,
                why=f"a plan that fails '{failed.id}'",
                mistake=failed.id,
            )
        else:
            share = credit_of(part, regret(part, score, key.score))
            reason = first_shortcoming(plan, key) if share < 1 else None
            name = reason.id if reason else None
            why = f"a plan with '{name}'" if name else "a feasible plan"
            example = Example(raw=_raw_plan(plan), share=share, why=why, mistake=name)
            worst = min(worst or example, example, key=lambda e: e.share or 0.0)
        if example.mistake and example.mistake not in seen:
            seen.add(example.mistake)
            yield example
    if worst is not None:
        yield worst


def first_shortcoming(plan: Chosen, key: PlanKey) -> Shortcoming | None:
    """Returns the first shortcoming that applies to a feasible *plan*."""
    scope = evaluate_plan(plan, key.part, key.draw).scope if key.part.shortcomings else {}
    found = (r for r in key.part.shortcomings if holds(r.when, scope, key.draw.facts))
    return next(found, None)


kinds.add("plan")(PlanKind())
"""Configurations, judged by their distance from the best one."""
