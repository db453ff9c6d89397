"""Draws that were handed out: the same seed gives the same numbers, whatever draws them."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from grader import units
from grader.bank.folders import Bank
from grader.bank.problem import problem_from
from grader.bank.yaml12 import parse_yaml
from grader.draw import choices_of, draw, draw_below, sample_seed, seed_for
from grader.errors import SpecError
from grader.expressions import ExpressionError, evaluate, holds, names_in
from grader.kinds import kinds
from grader.model import Facts, Problem
from grader.notebook.render.answer_cells import choices_text
from grader.units.quantity import Value

# Every form of parameter and condition: the cheap ones last, one that guards another, one that
# needs values, one that needs a fact, and one that fails most draws.
SPEC = """\
id: stored
title: Everything that dice decide
family: parallelism
prompt: |
  {{ gpus }} GPUs of the kind {{ chip }}, {{ rate }}, {{ steps }} and {{ word }}.
parameters:
  gpus: {integer: [2, 40], step: 2}
  billions: {choice: [1.3, 2.7, 6.7, 13, 30, 70]}
  rate: {real: [0.1, 4.9], step: 0.3, unit: GB/s}
  chip:
    rows:
      - {chip: alpha, memory: 24, cores: 10}
      - {chip: beta, memory: 40, cores: 20}
      - {chip: gamma, memory: 80, cores: 35}
    units: {memory: GB}
  steps: {integer: [1, 9]}
  word: {choice: [ring, tree, "1"]}
  fast: {choice: [true, false]}
where:
  - state / memory < 6 and abs(share / GB - 7) > 0.2
  - fact("link", "width") * gpus < 600
  - steps != 4 and gpus / (steps - 4) != 2
  - 0.5 < billions / gpus * 10 < 30
  - not (fast and word == "tree")
  - gpus % 4 == 2 or chip == "gamma"
values:
  state: 16 * byte * billions * 1e9
  share: state / gpus
  time: share / rate
  layers: 2 ** steps + cores if fast else max(cores, steps) // 2
given:
  All of it: state
parts:
  - id: per_gpu
    kind: numeric
    ask: How much does one of {{ gpus }} hold?
    unit: GB
    answer: share
    tolerance: {relative: 2%, input_rounding: [rate, billions]}
    mistakes:
      - {id: whole, value: state, feedback: "That is all of the {{ gpus }}.", when: gpus > 4}
  - id: count
    kind: integer
    ask: How many layers?
    answer: layers * gpus
  - id: which
    kind: choice
    ask: Which is it?
    uses: [per_gpu]
    options:
      - {id: fits, text: "It fits {{ chip }}", correct: per_gpu <= memory}
      - {id: not, text: It does not fit, correct: per_gpu > memory}
      - {id: never, text: It never fits, feedback: Never is a long time.}
      - {id: no_idea, text: Nobody knows}
  - id: all
    kind: multi_choice
    ask: Which are?
    options:
      - {id: a, text: One, correct: gpus > 10}
      - {id: b, text: Two, correct: fast}
      - {id: c, text: Three}
  - id: sorted
    kind: ordering
    ask: In which order?
    items:
      - {id: first, text: load}
      - {id: second, text: compute}
      - {id: third, text: store}
      - {id: fourth, text: rest}
    order: [[first, second], [third, fourth]]
  - id: grid
    kind: table
    ask: Fill it in.
    row: batch
    rows: [1, steps + 1]
    columns:
      - {id: size, title: Size, unit: GB, answer: batch * share}
      - {id: number, title: Number, answer: batch * gpus}
  - id: claim
    kind: true_false
    ask: It takes longer than a second.
    answer: time > 1 * s
explanation: "{{ per_gpu }} and {{ count }}"
"""
FACTS: Facts = {"link": {"width": 16}}


def a_problem(text: str = SPEC) -> Problem:
    return problem_from(parse_yaml(text.encode(), "stored.yaml"))


def written(value: object) -> object:
    """A value with all that tells it from another: its type, its digits and its unit."""
    return repr(value)


def test_the_variants_of_stored_seeds(golden) -> None:
    problem = a_problem()
    lines = []
    for number in range(24):
        variant = draw(problem, seed_for(b"stored", f"student-{number}", problem.id), FACTS)
        lines.append(
            {
                "draws": variant.draws,
                "parameters": {n: written(v) for n, v in variant.draw.parameters.items()},
                "scope": {n: written(v) for n, v in variant.draw.scope.items()},
                "keys": {
                    part_id: {
                        "answer": written(kinds.find(key.part.kind).answer(key)),
                        "accepted": written((getattr(key, "low", 0), getattr(key, "high", 0))),
                        "options": choices_text(key),
                        "explained": kinds.find(key.part.kind).explain(key),
                    }
                    for part_id, key in variant.keys.items()
                },
            }
        )
    assert max(line["draws"] for line in lines) > 10  # type: ignore[type-var,operator]
    golden("draws.jsonl", "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


def plainly(problem: Problem, seed: bytes, facts: Facts) -> tuple[dict[str, Value], int]:
    """The parameters by the definition: draw all, ask all conditions, and draw again."""
    needs_values = {c for c in problem.where if names_in(str(c)) & set(problem.values)}
    attempt = 0
    while True:
        drawn: dict[str, Value] = {}
        for name, parameter in problem.parameters.items():
            label = f"parameter/{name}/{attempt}"
            rows = parameter.rows
            if rows:
                row = rows[draw_below(seed, label, len(rows))]
                drawn |= {c: with_unit(v, parameter.units.get(c)) for c, v in row.items()}
            else:
                choices = choices_of(parameter)
                drawn[name] = with_unit(
                    choices[draw_below(seed, label, len(choices))], parameter.unit
                )
        attempt += 1
        if not all(holds(c, drawn, facts) for c in problem.where if c not in needs_values):
            continue
        scope = dict(drawn)
        for name, value in problem.values.items():
            scope[name] = evaluate(value, scope, facts)
        if all(holds(c, scope, facts) for c in problem.where if c in needs_values):
            return drawn, attempt


def with_unit(value: float | str | bool, unit: str | None) -> Value:
    if unit is None or isinstance(value, (str, bool)):
        return value
    return units.quantity(value, unit)


def same(one: Mapping[str, Value], other: Mapping[str, Value]) -> bool:
    return repr(list(one.items())) == repr(list(other.items()))


def test_the_spec_of_this_file_is_drawn_as_the_definition_says() -> None:
    problem = a_problem()
    for number in range(150):
        seed = sample_seed(problem.id, number)
        variant = draw(problem, seed, FACTS)
        parameters, draws = plainly(problem, seed, FACTS)
        assert same(variant.draw.parameters, parameters)
        assert variant.draws == draws


BANK = Bank.open()


@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted(BANK.paths))
def test_every_problem_of_the_bank_is_drawn_as_the_definition_says(name: str) -> None:
    problem, _ = BANK.locate(name)
    for number in range(6):
        seed = seed_for(b"class", f"student-{number}", name)
        variant = draw(problem, seed, BANK.facts)
        parameters, draws = plainly(problem, seed, BANK.facts)
        assert same(variant.draw.parameters, parameters)
        assert variant.draws == draws


def test_a_condition_that_guards_another_is_asked_first() -> None:
    # 'gpus - 8' is cheaper to ask about than what guards it, and must wait all the same.
    text = SPEC.replace(
        "where:\n",
        "where:\n  - gpus + 0 * (1 + 2 + 3 + 4 + 5) != 8 and steps != 1\n  - 1 / (gpus - 8) != 5\n",
    )
    problem = a_problem(text)
    for number in range(60):
        seed = sample_seed(problem.id, number)
        variant = draw(problem, seed, FACTS)
        assert (variant.draw.parameters, variant.draws) == plainly(problem, seed, FACTS)


def test_a_condition_that_fails_says_so_with_all_the_numbers_that_were_drawn() -> None:
    problem = a_problem(SPEC.replace("where:\n", "where:\n  - 1 / (steps - steps) > 0\n"))
    with pytest.raises(SpecError, match="division by zero") as caught:
        draw(problem, b"seed", FACTS)
    for name in ("gpus", "billions", "rate", "chip", "memory", "cores", "steps", "word", "fast"):
        assert f"{name} = " in caught.value.what


def test_a_value_that_fails_says_so() -> None:
    problem = a_problem(SPEC.replace("  time: share / rate\n", "  time: share / (rate - rate)\n"))
    with pytest.raises(SpecError, match=r"in the value 'time': division by zero \(with gpus = "):
        draw(problem, b"seed", FACTS)
    with pytest.raises(ExpressionError):
        evaluate("share / (rate - rate)", draw(a_problem(), b"seed", FACTS).draw.scope)
