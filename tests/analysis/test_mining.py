"""The mistake miner: it finds the ideas that a class has, and none that it does not have."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
from pathlib import Path

import pytest

from grader.analysis.double_edits import iter_double_edits
from grader.analysis.graded_class import WrongNumbers
from grader.analysis.mining import mine
from grader.analysis.wrong_answers import mine_results
from grader.bank.folders import Bank
from grader.draw import draw
from grader.kinds.numeric import NumericKey, evaluate_answer, judge
from grader.model import Verdict
from tests.helpers.banks import a_bank
from tests.helpers.commands import ok
from tests.helpers.simulated_class import a_bank_of_transfers, refuse_file
from tests.helpers.simulated_class import a_class as a_simulated_class

IDEAS = (
    ("ring-all-reduce", "sent", "2 * gpus / (gpus - 1) * gradient_bytes"),
    ("ring-all-reduce", "small_time", "2 * (gpus - 1) * (delay + gpus * small / bandwidth)"),
    ("launch-configuration", "blocks", "ceil(elements / block_size) + 1"),
    ("memory-headroom", "headroom", "total * (1 - lost / 100) - state"),
    ("does-this-runtime-make-sense", "expected", "(inputs + 1) * elements * byte / bandwidth"),
)


def a_class(problem: str, part: str, idea: str, *, holders: int, others: int) -> WrongNumbers:
    """The first *holders* students have the idea, and *others* give a random wrong number."""
    bank, dice, wrong = Bank.open(), random.Random(f"{problem} {part}"), WrongNumbers()
    for number in range(100):
        key = draw(bank.problem(problem), b"%032d" % number, bank.facts).keys[part]
        assert isinstance(key, NumericKey)
        answer = None
        if len(wrong.students) < holders:
            answer = float(evaluate_answer(idea, key.unit, key.draw, key.draw.scope))
            answer = answer if key.part.kind == "integer" else float(f"{answer:.4g}")
            answer = answer if judge(answer, key).verdict is Verdict.INCORRECT else None
        elif len(wrong.students) < holders + others:
            answer = float(key.value) * 10 ** dice.uniform(-1.5, 1.5)
            answer = float(round(answer)) if key.part.kind == "integer" else float(f"{answer:.3g}")
        wrong.add(f"s{number}", key, answer)
    return wrong


@pytest.mark.thorough
@pytest.mark.parametrize(("problem", "part", "idea"), IDEAS)
def test_an_idea_of_five_students_is_found(problem: str, part: str, idea: str) -> None:
    wrong = a_class(problem, part, idea, holders=5, others=10)
    ideas = mine(wrong)
    assert any(set(wrong.students[:5]) <= set(one.students) for one in ideas), ideas


@pytest.mark.thorough
def test_an_idea_with_two_errors_is_found_if_enough_students_have_it() -> None:
    idea = "2 * (gpus - 1) * delay + small / bandwidth"
    wrong = a_class("ring-all-reduce", "small_time", idea, holders=10, others=20)
    [found] = mine(wrong)
    assert set(wrong.students[:10]) <= set(found.students)
    key = wrong.keys[0]
    values = [
        evaluate_answer(text, key.unit, key.draw, key.draw.scope)
        for text in (idea, found.expression)
    ]
    assert values[0] == pytest.approx(values[1])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("problem", "part"),
    [
        ("ring-all-reduce", "small_time"),
        ("float-format-extremes", "tiny_max"),
        ("launch-configuration", "blocks"),
        ("does-this-runtime-make-sense", "expected"),
    ],
)
def test_values_for_a_whole_class_are_those_of_each_student(problem: str, part: str) -> None:
    bank = Bank.open()
    keys = [
        draw(bank.problem(problem), b"%032d" % number, bank.facts).keys[part]
        for number in range(12)
    ]
    first = keys[0]
    assert isinstance(first, NumericKey)
    every = iter_double_edits(
        first.part.answer, first.unit, [key.draw for key in keys], lambda _: True
    )
    compared = 0
    for text, values in itertools.islice(every, 0, 4000, 40):
        for key, value in zip(keys, values, strict=True):
            with contextlib.suppress(ValueError, ArithmeticError, TypeError):
                wanted = evaluate_answer(text, first.unit, key.draw, key.draw.scope)
                assert value == pytest.approx(float(wanted), rel=1e-6), text
                compared += 1
    assert compared > 100


@pytest.mark.thorough
@pytest.mark.parametrize(("problem", "part", "idea"), IDEAS)
def test_random_wrong_answers_are_no_idea(problem: str, part: str, idea: str) -> None:
    assert mine(a_class(problem, part, idea, holders=0, others=30)) == ()


def test_too_few_students_have_no_idea() -> None:
    assert mine(a_class(*IDEAS[0], holders=2, others=0)) == ()


def test_an_answer_of_too_few_digits_is_no_idea() -> None:
    """It is the right answer or a declared mistake, only rounded."""
    bank, wrong = Bank.open(), WrongNumbers()
    for number in range(40):
        key = draw(bank.problem("ring-all-reduce"), b"%032d" % number, bank.facts).keys["sent"]
        assert isinstance(key, NumericKey)
        wrong.add(f"s{number}", key, float(f"{key.value:.2g}"))
    assert wrong.students == []


def test_a_graded_class_is_mined(tmp_path: Path) -> None:
    a_bank(tmp_path / "bank")
    ids = [f"s{number}" for number in range(12)]
    (tmp_path / "roster.csv").write_text("id\n" + "".join(f"{one}\n" for one in ids))
    ok(
        "render", "quiz", "--roster", tmp_path / "roster.csv", "--out", tmp_path / "release",
        "--bank", tmp_path / "bank",
    )  # fmt: skip
    for number, id_ in enumerate(ids):
        path = tmp_path / "in" / f"{id_}.ipynb"
        ok("solve", tmp_path / "release", "--student", id_, "--out", path,
           "--bank", tmp_path / "bank")  # fmt: skip
        key = json.loads(
            ok("key", tmp_path / "release", "--student", id_, "--json").stdout
        )["q1_share"]["value"]  # fmt: skip
        if number >= 7:
            continue
        data = json.loads(path.read_text())
        cell = next(c for c in reversed(data["cells"]) if c["cell_type"] == "code")
        said = f"q1_share = {key / 2!r}"  # as if a parameter had one byte
        data["cells"].append({**cell, "id": "added", "source": said, "metadata": {}})
        path.write_text(json.dumps(data))
    ok(
        "grade", tmp_path / "in", "--release", tmp_path / "release", "--out", tmp_path / "results",
        "--bank", tmp_path / "bank",
    )  # fmt: skip
    [part] = json.loads(ok("mine", tmp_path / "results", "--json").stdout)
    assert part["wrong"] == 7
    [idea] = part["ideas"]
    assert len(idea["students"]) == 7
    assert "weights" in idea["value"]
    assert "7 of 7" in ok("mine", tmp_path / "results").stdout
    assert (
        f"value: {json.dumps(idea['value'])}" in ok("mine", tmp_path / "results", "--yaml").stdout
    )


def test_a_file_that_was_refused_has_no_wrong_answers(tmp_path: Path) -> None:
    bank = a_bank_of_transfers(tmp_path / "bank", 1)
    some = a_simulated_class("quiz", 3, 1, banks=(str(bank),))
    for student in some.students.values():
        student.answers["q1_time"] = 123456.0
    results = some.write(tmp_path / "class")
    [part] = mine_results(results, fewest=2)
    assert (part.student_count, part.wrong) == (3, 3)
    refuse_file(results, "s001")
    [part] = mine_results(results, fewest=2)
    assert (part.student_count, part.wrong) == (2, 2)
