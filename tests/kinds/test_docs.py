"""The reference of kinds says what is so: its examples work, its tables are computed."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

from grader.bank.problem import problem_from
from grader.bank.yaml12 import parse_yaml
from grader.draw import draw
from grader.kinds import kinds
from grader.kinds.slips import find_slip, slips_of_unit
from grader.notebook.render.answer_cells import placeholder
from grader.testing import check_kind
from tests.helpers.kinds import a_key, a_multi_choice, an_ordering, judged

PAGE = (Path(__file__).parents[2] / "docs/reference/kinds.md").read_text("utf-8")
SECTIONS = {s.split("\n", 1)[0]: s for s in re.split(r"^## ", PAGE, flags=re.M)[1:]}
PROBLEM = """\
id: sample
title: Sample
family: memory-math
parameters:
  billions: {choice: [7]}
  gpus: {choice: [16]}
  bandwidth: {choice: [3.35], unit: TB/s}
values:
  weights: 2 * byte * billions * 1e9
prompt: A model.
parts:
"""


def example_of(kind: str) -> str:
    found = re.search(r"```yaml\n(.*?)```", SECTIONS[kind], re.S)
    assert found
    return found[1]


def rows_of(section: str, header: str) -> list[list[str]]:
    """The cells of the table under *header*."""
    lines = SECTIONS[section].split(header, 1)[1].splitlines()[2:]
    table = lines[: next((i for i, li in enumerate(lines) if not li.startswith("|")), len(lines))]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


@pytest.mark.parametrize("kind", sorted(kinds))
def test_the_example_of_every_kind_loads_and_holds_to_the_contract(kind: str) -> None:
    solution = re.search(r"```python\n(import.*?)```", SECTIONS[kind], re.S)
    source = parse_yaml((PROBLEM + example_of(kind)).encode(), "sample.yaml")
    problem = problem_from(source, solution[1] if solution else "")
    assert [part.kind for part in problem.parts] == [kind]
    for seed in (b"one", b"two"):
        for key in draw(problem, seed, {}).keys.values():
            check_kind(kinds.find(kind), key)


def test_the_table_of_rules_for_several_options_is_what_they_give() -> None:
    header = "| chosen | all-or-nothing | each-option | net-correct |"
    rows = rows_of("multi_choice", header)
    assert len(rows) == 8
    for chosen, *shares in rows:
        letters = [] if chosen == "none" else chosen.split()
        for rule, said in zip(
            ("all-or-nothing", "each-option", "net-correct"), shares, strict=True
        ):
            found = judged(a_key(a_multi_choice(rule=rule)), letters).share
            assert found == pytest.approx(float(Fraction(said))), (chosen, rule)


def test_the_table_of_rules_for_orders_is_what_they_give() -> None:
    rows = rows_of("ordering", "| answer | all-or-nothing | longest-run | pairs |")
    assert len(rows) == 5
    for answer, *shares in rows:
        for rule, said in zip(("all-or-nothing", "longest-run", "pairs"), shares, strict=True):
            key = a_key(an_ordering(credit=rule))
            letters = {c.id[0]: c.letter for c in key.choices}
            found = judged(key, [letters[i] for i in answer.split()]).share
            assert found == pytest.approx(float(Fraction(said))), (answer, rule)


def test_every_slip_is_in_the_table() -> None:
    units = ("GB", "GiB", "Gbit/s", "ms", "s", "h", "%", "", "TFLOP/s", "token/s")
    known = {slip.id for unit in units for slip in slips_of_unit(unit)}
    counted = find_slip(160, 10, unit="GB", scope={"gpus": 16}, width=0.01)
    assert counted is not None
    listed = set(re.findall(r"^\| `(slip-[a-z0-9-]+)`", PAGE, re.M))
    assert listed == {*known, counted.id}


def test_the_placeholder_of_a_table_is_as_shown() -> None:
    problem = problem_from(parse_yaml((PROBLEM + example_of("table")).encode(), "sample.yaml"))
    key = draw(problem, b"one", {}).keys["by_gpus"]
    assert f"q1_by_gpus = {placeholder(key)}\n" in SECTIONS["table"]
