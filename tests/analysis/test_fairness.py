"""Fairness of variants: harder values are found, and equal ones are left alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from grader.analysis.comparisons import (
    ClassComparisons,
    Comparison,
    FactorLevel,
    Score,
    names_that_matter,
)
from grader.analysis.fairness import (
    ComparisonFinding,
    Fairness,
    ValueComparison,
    compare,
    compare_variants,
)
from grader.bank.folders import Bank
from grader.model import Key, Part
from tests.helpers.commands import ok
from tests.helpers.simulated_class import a_bank_of_transfers, a_class, refuse_file

LINKS = ("bus", "cable", "disk", "radio", "wire")


def a_part(
    scores: dict[str, float], links: dict[str, str], other: dict[str, float]
) -> ClassComparisons:
    """A class with one part, and points in another problem."""
    collected = ClassComparisons()
    part = Comparison("p/time", "p", "time", ("link",), frozenset({"p"}))
    for id_, earned in scores.items():
        part.scores[id_] = Score(4 * earned, 4.0)
        part.levels[id_] = (FactorLevel(links[id_]),)
        collected.totals[id_] = {"p": Score(4 * earned, 4.0), "q": Score(other[id_], 1.0)}
        collected.seats[id_] = id_
    collected.comparisons["p/time", "link"] = part
    return collected


def a_small_class(harder: str = "") -> ClassComparisons:
    ids = [f"s{n}" for n in range(100)]
    links = {id_: LINKS[n % 5] for n, id_ in enumerate(ids)}
    scores = {id_: float(n % 3 > 0) for n, id_ in enumerate(ids)}
    scores |= {id_: 0.0 for id_ in ids if links[id_] == harder}
    return a_part(scores, links, {id_: n % 7 / 7 for n, id_ in enumerate(ids)})


def only(found: Fairness) -> ValueComparison:
    [one] = found.comparisons
    return one


def test_a_harder_value_is_named_with_what_it_costs() -> None:
    one = only(compare(a_small_class("disk")))
    assert (one.what, one.value, one.finding) == ("link", "disk", ComparisonFinding.DIFFERS)
    assert len(one.students) == 20
    assert one.others == 80
    assert (one.mean, round(one.mean_of_others, 2)) == (0, 0.65)
    assert -3.1 < one.low < one.difference < one.high < -2.1
    assert 0.2 < one.eta_squared < 0.4


def test_equal_values_show_no_sign() -> None:
    one = only(compare(a_small_class()))
    assert one.finding is ComparisonFinding.NO_SIGN
    assert one.low < 0 < one.high


def test_few_students_are_too_few_to_tell_and_not_fair() -> None:
    ids = [f"s{n}" for n in range(15)]
    links = {id_: LINKS[n % 3] for n, id_ in enumerate(ids)}
    found = compare(a_part({i: float(i < "s13") for i in ids}, links, dict.fromkeys(ids, 0.5)))
    assert only(found).finding is ComparisonFinding.TOO_FEW
    links = {id_: LINKS[n % 5] for n, id_ in enumerate(ids)}
    found = compare(a_part({i: float(i < "s13") for i in ids}, links, dict.fromkeys(ids, 0.5)))
    assert found.comparisons == ()
    assert found.too_few == (("p/time", "link"),)


def test_ability_is_taken_out() -> None:
    """Students with one value are weaker in other problems as well, so it is not the value."""
    ids = [f"s{n}" for n in range(200)]
    links = {id_: LINKS[n % 5] for n, id_ in enumerate(ids)}
    ability = {id_: n % 4 / 4 - 0.3 * (n % 5 == 2) + 0.3 for n, id_ in enumerate(ids)}
    collected = a_part(ability, links, ability)
    assert only(compare(collected)).finding is ComparisonFinding.NO_SIGN
    collected.totals = {id_: {"p": Score(1, 1)} for id_ in ids}
    assert only(compare(collected)).finding is ComparisonFinding.DIFFERS


def test_versions_are_compared_without_ability() -> None:
    """The rest of a paper depends on the version as well."""
    collected = a_small_class("disk")
    collected.seats = {id_: "ABCDE"[int(id_[1:]) % 5] for id_ in collected.seats}
    with_rest = only(compare(collected))
    collected.totals = {}
    assert only(compare(collected)) == with_rest


def test_many_numbers_are_compared_in_thirds() -> None:
    collected = a_small_class()
    part = collected.comparisons["p/time", "link"]
    part.levels = {id_: (FactorLevel(f"{n} MB", float(n)),) for n, id_ in enumerate(part.scores)}
    part.scores = {id_: Score(4.0 * (n >= 34), 4.0) for n, id_ in enumerate(part.scores)}
    one = only(compare(collected))
    assert (one.value, one.finding) == ("0 MB to 32 MB", ComparisonFinding.DIFFERS)


def test_parameters_that_differ_together_are_compared_once() -> None:
    collected = a_small_class("disk")
    part = collected.comparisons["p/time", "link"]
    twin = replace(part, names=("rate",), levels={i: (FactorLevel("r" + p[0].label),) for i, p in part.levels.items()})  # fmt: skip  # noqa: E501
    collected.comparisons["p/time", "rate"] = twin
    one = only(compare(collected))
    assert (one.what, one.value) == ("link and rate", "disk, rdisk")


def test_the_easier_problem_of_a_pool_is_found() -> None:
    collected = a_small_class()
    part = collected.comparisons.pop(("p/time", "link"))
    names = ["a", "b", "c", "d"]
    for n, id_ in enumerate(part.scores):
        mine = [names[n % 4], names[(n + 1 + n // 4 % 3) % 4]]
        part.levels[id_] = tuple(map(FactorLevel, mine))
        part.scores[id_] = Score(1.0 + 3.0 * ("c" in mine), 4.0)
    collected.comparisons["questions 1 to 2", "the problem"] = part
    one = only(compare(collected))
    assert (one.value, one.finding) == ("c", ComparisonFinding.DIFFERS)
    assert one.difference > 2


def test_only_what_a_part_names_matters_to_it(tmp_path: Path) -> None:
    bank = Bank.open((str(a_bank_of_transfers(tmp_path)),))
    problem = bank.problem("transfer-1")
    time, way = problem.parts
    assert names_that_matter(problem, time) == ("size", "rate", "link")
    assert names_that_matter(problem, way) == ("rate",)  # an option says so
    other = replace(problem, prompt="Sent over a {{ link }}.")
    assert names_that_matter(other, Part(id="why", kind="explanation", ask="Why?")) == ("link",)


def test_a_student_without_marks_is_not_counted(tmp_path: Path) -> None:
    bank = a_bank_of_transfers(tmp_path / "bank", 1)
    results = a_class("quiz", 4, 1, banks=(str(bank),)).write(tmp_path / "class")
    assert compare_variants(results).students == 4
    refuse_file(results, "s002")
    assert compare_variants(results).students == 3


def harder_disk(name: str, key: Key) -> float:
    """Two of three get a part right on average, so this costs 30% of it."""
    return 0.45 if name == "q3_time" and key.draw.parameters["link"] == "disk" else 0.0


@pytest.mark.slow
def test_a_row_that_costs_30_percent_of_a_part_is_found_in_a_class_of_200(tmp_path: Path) -> None:
    a_bank_of_transfers(tmp_path / "bank")
    clear = listed = false = 0
    for seed in range(20):
        some = a_class("quiz", 200, seed, banks=(str(tmp_path / "bank"),), harder=harder_disk)
        results = compare_variants(some.write(tmp_path / f"class-{seed}"))
        found = [one.finding for one in results.comparisons if one.value == "disk" and one.part == "time" and one.problem == "transfer-3"]  # fmt: skip  # noqa: E501
        clear += ComparisonFinding.DIFFERS in found
        listed += ComparisonFinding.DIFFERS in found or ComparisonFinding.PERHAPS in found
        false += any(
            one.finding is ComparisonFinding.DIFFERS and one.problem != "transfer-3"
            for one in results.comparisons
        )
    assert (clear >= 9, listed >= 12, false <= 3) == (True, True, True), (clear, listed, false)


@pytest.mark.slow
def test_fewer_than_one_fair_exam_in_twenty_has_a_finding(tmp_path: Path) -> None:
    """Over 100 comparisons in each exam."""
    false = 0
    for seed in range(20):
        results = compare_variants(a_class("midterm", 200, seed).write(tmp_path / f"class-{seed}"))
        assert len(results.comparisons) > 80
        false += any(one.finding is ComparisonFinding.DIFFERS for one in results.comparisons)
    assert false <= 3, false  # 98% of the time, if the rate is 5%


@pytest.mark.thorough
def test_the_command_lists_what_differs(tmp_path: Path) -> None:
    a_bank_of_transfers(tmp_path / "bank", 2)

    def harder(name: str, key: Key) -> float:
        return float(name == "q2_time" and key.draw.parameters["link"] == "radio")

    some = a_class("quiz", 90, 1, banks=(str(tmp_path / "bank"),), harder=harder)
    results = some.write(tmp_path / "class")
    given = {id_: one.paper.questions[1].variant.draw for id_, one in some.students.items()}
    shown = ok("fairness", results).stdout
    [line] = [line for line in shown.splitlines() if line.endswith("differs")]
    assert line.split()[:3] == ["transfer-2/time", "link", "radio"]
    assert "award points with `grader mark --from`" in shown
    assert "transfer-1/time" not in shown
    assert "transfer-1/time" in ok("fairness", results, "--all").stdout
    data = json.loads(ok("fairness", results, "--json").stdout)
    assert data["students"] == 90
    [clear] = [one for one in data["comparisons"] if one["finding"] == "differs"]
    radio = [id_ for id_, drawn in given.items() if drawn.parameters["link"] == "radio"]
    assert sorted(clear["students"]) == sorted(radio)
    assert clear["difference"] < -1
