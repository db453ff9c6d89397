"""A configuration chosen by the student; any feasible one counts, by how near it is to the best."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import ClassVar, Literal, NamedTuple

from grader import units
from grader.expressions import compile_expression, holds, names_in
from grader.kinds import numeric, samples
from grader.kinds.base import CORRECT, UNDRAWN, Example, KindOf, Unreadable, kinds
from grader.kinds.cells import raw_pairs
from grader.kinds.scalars import quote, refusal
from grader.kinds.texts import try_fill
from grader.model import Draw, Expr, Judgement, Key, Part, Raw, Scalar, Share, Text, Verdict
from grader.model.spec import STRICT
from grader.units.quantity import Value

Chosen = Mapping[str, Scalar]
"""A plan: the chosen value of each name."""

MAX_PLANS = 5_000
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
        scored = [(p, o.score) for p, o in iter_outcomes(part, draw) if o.failed is None]
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
        outcome = evaluate_plan(value, part, key.draw)
        draw = replace(key.draw, scope=outcome.scope)
        share, mistake = share_and_mistake(outcome, key)
        if outcome.failed:
            note = try_fill(outcome.failed.feedback, draw)
            return Judgement(share=share, verdict=Verdict.MISTAKE, note=note, mistake=mistake)
        if share == 1:
            return CORRECT
        shown = numeric.format_number(outcome.score, part.unit, 4)
        reason = _first_shortcoming(outcome, key)
        why = try_fill(reason.feedback, draw) if reason else "There are better plans."
        wrong = Verdict.MISTAKE if reason else Verdict.INCORRECT
        return Judgement(
            share=share,
            verdict=Verdict.PARTIAL if share else wrong,
            note=f"Your plan's {_noun(part)} is {shown}. {why}",
            mistake=mistake,
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
        shown = numeric.format_number(key.score, key.part.unit, 4)
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


def iter_outcomes(part: Plan, draw: Draw) -> Iterator[tuple[Chosen, Outcome]]:
    """Yields every plan and what it leads to.

    An expression is evaluated once for each combination of the choices that it depends on, and a
    plan's values only when a requirement or the cost needs them.
    """
    evaluations = _Evaluations(part, draw)
    for plan in iter_plans(part):
        yield plan, evaluations.outcome(plan)


def evaluate_plan(plan: Chosen, part: Plan, draw: Draw) -> Outcome:
    """Returns what *plan* leads to in this variant. Raises ExpressionError."""
    outcome = _Evaluations(part, draw).outcome(plan)
    for name in part.values:
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
        self[name] = value = self._evaluations.value(expression, self._plan, self)
        return value


class _Evaluations:
    """A part's expressions, each evaluated once per combination of the choices it depends on."""

    def __init__(self, part: Plan, draw: Draw):
        self.part = part
        self.draw = draw
        self._known: dict[tuple[object, ...], Value] = {}
        depends: dict[str, frozenset[str]] = {name: frozenset([name]) for name in part.choose}
        for name, expression in part.values.items():
            depends[name] = _choices_in(expression, depends)
        of_plan = part.gain if part.cost is None else part.cost
        self._cost = of_plan or 0
        conditions = (requirement.that for requirement in part.require)
        self._compiled = {
            expression: (compile_expression(expression), self._picker(expression, depends))
            for expression in (*part.values.values(), *conditions, self._cost)
        }

    def outcome(self, plan: Chosen) -> Outcome:
        """Returns what *plan* leads to."""
        scope = _Scope(self, plan)
        for requirement in self.part.require:
            if not holds(self.value(requirement.that, plan, scope), {}):  # type: ignore[arg-type]
                return Outcome(scope, requirement, math.nan)
        value = self.value(self._cost, plan, scope)
        return Outcome(scope, None, units.magnitude(value, self.part.unit))

    def value(self, expression: Expr, plan: Chosen, scope: _Scope) -> Value:
        """Returns the value of one of the part's expressions. Raises ExpressionError."""
        run, pick = self._compiled[expression]
        if pick is None:
            return run(scope, self.draw.facts)
        key = (expression, pick(plan))
        if key not in self._known:
            self._known[key] = run(scope, self.draw.facts)
        return self._known[key]

    def _picker(
        self, expression: Expr, depends: Mapping[str, frozenset[str]]
    ) -> Callable[[Chosen], object] | None:
        """Returns what picks the choices that *expression* depends on; None if it needs all."""
        names = sorted(_choices_in(expression, depends))
        if len(names) == len(self.part.choose):
            return None
        return itemgetter(*names) if names else lambda _: None


def _choices_in(expression: Expr, depends: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Returns the choices that *expression* depends on, directly or through values."""
    names = names_in(expression) if isinstance(expression, str) else frozenset[str]()
    return frozenset[str]().union(*(depends.get(name, frozenset()) for name in names))


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
    for plan, outcome in iter_outcomes(part, key.draw):
        share, name = share_and_mistake(outcome, key)
        why = f"a plan with '{name}'" if name else "a feasible plan"
        example = Example(raw=_raw_plan(plan), share=share, why=why, mistake=name)
        if outcome.failed is None:
            worst = min(worst or example, example, key=lambda e: e.share or 0.0)
        if example.mistake and example.mistake not in seen:
            seen.add(example.mistake)
            yield example
    if worst is not None:
        yield worst


def share_and_mistake(outcome: Outcome, key: PlanKey) -> tuple[float, str | None]:
    """Returns the share of the points that a plan earns, and the ID of what is wrong with it."""
    if outcome.failed:
        return outcome.failed.credit, outcome.failed.id
    share = credit_of(key.part, regret(key.part, outcome.score, key.score))
    reason = _first_shortcoming(outcome, key) if share < 1 else None
    return share, reason.id if reason else None


def _first_shortcoming(outcome: Outcome, key: PlanKey) -> Shortcoming | None:
    found = (r for r in key.part.shortcomings if holds(r.when, outcome.scope, key.draw.facts))
    return next(found, None)


kinds.add("plan")(PlanKind())
"""Configurations, judged by their distance from the best one."""
