"""A configuration chosen by the student; any feasible one counts, by how near it is to the best."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

from grader import units
from grader.expressions import holds
from grader.kinds import numeric, samples
from grader.kinds.base import CORRECT, UNDRAWN, Example, KindOf, Unreadable, kinds, partial_judgment
from grader.kinds.cells import raw_pairs
from grader.kinds.plan_outcomes import (
    Chosen,
    Plan,
    PlanOutcome,
    Shortcoming,
    evaluate_plan,
    iter_outcomes,
)
from grader.kinds.scalars import quote, refusal
from grader.kinds.texts import try_fill
from grader.model import Draw, Judgment, Key, Raw, Scalar, Verdict
from grader.units.quantity import Value

MAX_PLANS = 5_000
"""The largest number of plans that a part may offer, because all of them are compared."""
_TIE = 1e-9


class JudgedPlan(NamedTuple):
    """A plan on offer, with what it earns."""

    plan: Chosen
    share: float
    """The share of the points."""
    mistake: str | None
    """The ID of what is wrong with it."""
    feasible: bool


@dataclass(frozen=True, kw_only=True)
class PlanKey(Key):
    """The values on offer, and the best plans."""

    part: Plan
    best: tuple[Chosen, ...] = ()
    """All plans that share the best cost or gain; empty in a key made from a sheet."""
    score: float = 0.0
    """Their cost or gain, in the part's unit."""

    @cached_property
    def judged_plans(self) -> tuple[JudgedPlan, ...]:
        """Every plan on offer, as it would be judged."""
        return tuple(
            JudgedPlan(plan, *share_and_mistake(outcome, self), outcome.unmet_requirement is None)
            for plan, outcome in iter_outcomes(self.part, self.draw)
        )


class PlanKind(KindOf[PlanKey, Chosen]):
    """A configuration, judged by its distance from the best one."""

    spec = Plan

    def key(self, part: Plan, draw: Draw) -> PlanKey:
        _check_part(part)
        scored = [(p, o.score) for p, o in iter_outcomes(part, draw) if o.unmet_requirement is None]
        if not scored:
            raise ValueError("no plan meets all requirements")
        best = (min if part.gain is None else max)(score for _, score in scored)
        if not best > 0:
            raise ValueError(f"the best plan's {_noun(part)} must be positive, but it is {best:g}")
        tied = tuple(plan for plan, score in scored if abs(score / best - 1) <= _TIE)
        return PlanKey(part=part, draw=draw, best=tied, score=best)

    def read(self, raw: Raw, key: PlanKey) -> Chosen:
        wanted = f"a dict with {', '.join(key.part.choose)}"
        if raw.get("t") != "dict":
            raise refusal(raw, wanted)
        plan: dict[str, Scalar] = {}
        for name, value in raw_pairs(raw):
            written = str(name.get("v", "")).strip()
            if written not in key.part.choose:
                raise Unreadable(f"There is no choice {quote(written)}; give {wanted}.")
            if value.get("t") not in ("ellipsis", "none"):
                plan[written] = _read_choice(value, written, key.part.choose[written])
        if not plan:
            raise Unreadable("The answer is empty.", blank=True)
        missing = [name for name in key.part.choose if name not in plan]
        if missing:
            raise Unreadable(f"No value is given for {', '.join(missing)}.")
        return {name: plan[name] for name in key.part.choose}

    def judge(self, value: Chosen, key: PlanKey) -> Judgment:
        part = key.part
        outcome = evaluate_plan(value, part, key.draw)
        draw = replace(key.draw, scope=outcome.scope)
        share, mistake = share_and_mistake(outcome, key)
        if outcome.unmet_requirement:
            note = try_fill(outcome.unmet_requirement.feedback, draw)
            return Judgment(share=share, verdict=Verdict.MISTAKE, note=note, mistake=mistake)
        if share == 1:
            return CORRECT
        shown = numeric.format_number(outcome.score, part.unit, 4)
        reason = _first_shortcoming(outcome, key)
        why = try_fill(reason.feedback, draw) if reason else "There are better plans."
        return partial_judgment(share, f"Your plan's {_noun(part)} is {shown}. {why}", mistake)

    def examples(self, key: PlanKey) -> tuple[Example, ...]:
        part, best = key.part, key.best[0]
        name, offered = next(iter(part.choose.items()))
        rest = {n: v for n, v in best.items() if n != name}
        not_offered = "none of these" if isinstance(offered[0], str) else 987_654
        return (
            samples.right(best, "the best plan"),
            *(samples.right(plan, "a tie") for plan in key.best[1:3]),
            *_judged_examples(key),
            samples.unreadable({**best, name: not_offered}, "a value not on offer"),
            samples.unreadable({**best, "no_such_name": 1}, "an unknown name"),
            samples.unreadable(dict.fromkeys(best, ...), "the untouched placeholder"),
            *([samples.unreadable(rest, "a name left out")] if rest else []),
            samples.unreadable({}, "an empty dict"),
            samples.unreadable(1, "a number"),
            *samples.NOTHING,
        )

    def answer(self, key: PlanKey) -> object:
        return dict(key.best[0])

    def format_value(self, value: Chosen, key: PlanKey) -> str:
        return as_text(value)

    def instructions(self, key: PlanKey) -> str:
        part = key.part
        beyond = "above" if part.gain is None else "below"
        return (
            "a dict with one value for each name; any feasible plan counts, with full points "
            f"up to {_percent(part.full)} {beyond} the best {_noun(part)}, and no points "
            f"at {_percent(part.none)} or more"
        )

    def explain(self, key: PlanKey) -> str:
        shown = numeric.format_number(key.score, key.part.unit, 4)
        best = " or ".join(f"**{self.format_value(plan, key)}**" for plan in key.best[:3])
        return f"{best}, with a {_noun(key.part)} of {shown}."

    def sheet(self, key: PlanKey) -> Mapping[str, object]:
        # A list of pairs, because a notebook's metadata are written with sorted keys.
        return {"choose": [[name, list(offered)] for name, offered in key.part.choose.items()]}

    def from_sheet(self, sheet: Mapping[str, object]) -> PlanKey:
        offers = sheet["choose"]
        if not isinstance(offers, list):
            raise ValueError("'choose' must be a list of names with their values")
        choose = {str(name): tuple(offered) for name, offered in offers}
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
        for value in [score] if claimed is None else [score, claimed]:
            if not isinstance(value, int | float) or abs(value / key.score - 1) > 1e-6:
                raise ValueError(f"its {_noun(key.part)} is {value}, the best is {key.score}")
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
        raise ValueError(f"the number of plans is {count}; offer 2 to {MAX_PLANS}")


def _noun(part: Plan) -> str:
    return "cost" if part.gain is None else "gain"


def _percent(share: float) -> str:
    return f"{units.format_number(100 * share)}%"


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
            # On paper, every answer is a text.
            same = written is value or (tag == "str" and text == str(value).casefold())
        elif isinstance(value, str):
            same = tag == "str" and text == value.casefold()
        else:
            same = _parse_float(text) == value
        if same:
            return value
    # The digits of a very large number are not sent.
    shown = quote(written) if tag == "str" else quote(written)[1:-1] or "a number so large"
    raise Unreadable(f"{name} can't be {shown}; give {format_offers(offered)}.")


def _parse_float(text: str) -> float:
    """Returns the number in *text*; NaN, which equals no value on offer, if it is not one."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _format_choice(value: Scalar) -> str:
    if isinstance(value, bool | str):
        return str(value)
    return units.format_number(value)


def _judged_examples(key: PlanKey) -> Iterator[Example]:
    """Yields the first plan with each mistake, and the worst feasible plan."""
    feasible = [plan for plan in key.judged_plans if plan.feasible]
    # The first plan of each mistake is the last to be written.
    firsts = {plan.mistake: plan for plan in reversed(key.judged_plans) if plan.mistake}
    for plan in (*firsts.values(), min(feasible, key=attrgetter("share"))):
        why = f"a plan with '{plan.mistake}'" if plan.mistake else "a feasible plan"
        yield samples.sample(plan.plan, plan.share, why, plan.mistake)


def share_and_mistake(outcome: PlanOutcome, key: PlanKey) -> tuple[float, str | None]:
    """Returns the share of the points, and the ID of what is wrong with the plan, if anything."""
    if outcome.unmet_requirement:
        return outcome.unmet_requirement.credit, outcome.unmet_requirement.id
    ratio = outcome.score / key.score
    share = credit_of(key.part, ratio - 1 if key.part.gain is None else 1 - ratio)
    reason = _first_shortcoming(outcome, key) if share < 1 else None
    return share, reason.id if reason else None


def _first_shortcoming(outcome: PlanOutcome, key: PlanKey) -> Shortcoming | None:
    facts = key.draw.facts
    return next((s for s in key.part.shortcomings if holds(s.when, outcome.scope, facts)), None)


kinds.add("plan")(PlanKind())
"""Configurations, judged by their distance from the best one."""
