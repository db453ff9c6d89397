"""Statistics of problems over terms: files beside the specs, and blueprints that use them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.bank.blueprint.groups import PartGroup
from grader.bank.blueprint.pools import GroupPool
from grader.bank.folders import Bank
from grader.bank.statistics import (
    PartStatistics,
    TermStatistics,
    add_term,
    combine_terms,
    read_statistics,
    spec_name,
    statistics_path,
)
from grader.errors import SpecErrors
from tests.helpers.banks import SPEC, a_bank
from tests.helpers.commands import ok


def part(**changes: object) -> PartStatistics:
    fields: dict[str, object] = {"students": 20, "mean": 0.6, "solved": 0.5} | changes
    return PartStatistics(**fields)  # type: ignore[arg-type]


def term(bank: Bank, name: str = "fall", results: str = "a1", **parts: PartStatistics):
    spec = spec_name(bank.digest("sample"))
    return TermStatistics(spec=spec, term=name, results=results, parts=parts)


def stats_file(folder: Path) -> Path:
    return statistics_path(folder / "problems" / "memory-math", "sample")


def test_a_file_beside_the_spec_is_not_a_problem(tmp_path: Path) -> None:
    bank = Bank.open([a_bank(tmp_path)])
    add_term(stats_file(tmp_path), term(bank, share=part()))
    again = Bank.open([tmp_path])
    assert again.listed_problems == ("sample",)
    assert again.faults() == ()


def test_the_same_results_replace_their_entry_and_others_are_added(tmp_path: Path) -> None:
    bank, path = Bank.open([a_bank(tmp_path)]), stats_file(tmp_path)
    add_term(path, term(bank, share=part()))
    add_term(path, term(bank, share=part(mean=0.7)))
    add_term(path, term(bank, "spring", "b2", share=part(students=60, mean=0.3)))
    found = read_statistics(path)
    assert [(one.term, one.parts["share"].mean) for one in found] == [
        ("fall", 0.7),
        ("spring", 0.3),
    ]
    head = Bank.open([tmp_path]).heads(["sample"])["sample"]
    assert head.parts[0].mean == pytest.approx((20 * 0.7 + 60 * 0.3) / 80)
    assert head.parts[1].mean is None


def test_correlations_are_combined_by_weight_and_mistakes_by_students() -> None:
    cases: dict[str, dict[str, object]] = {
        "one": {"students": 23, "discrimination": 0.2, "mistakes": {"m": 0.4}},
        "two": {"students": 23, "discrimination": 0.6},
        "three": {"students": 5},
    }
    terms = [
        TermStatistics(spec="0" * 16, term=name, results=name, parts={"a": part(**changes)})
        for name, changes in cases.items()
    ]
    found = combine_terms(terms, "0" * 64)["a"]
    assert found.students == 51
    assert found.discrimination == pytest.approx(0.42, abs=0.005)  # tanh of the mean of the z
    assert found.mistakes["m"] == pytest.approx(0.4 * 23 / 51)


def test_a_changed_problem_starts_anew(tmp_path: Path) -> None:
    bank, path = Bank.open([a_bank(tmp_path)]), stats_file(tmp_path)
    add_term(path, term(bank, share=part()))
    a_bank(tmp_path, SPEC.replace("points: 2", "points: 3"))
    changed = Bank.open([tmp_path])
    assert changed.heads(["sample"])["sample"].parts[0].mean is None
    add_term(path, term(changed, share=part(mean=0.2)))
    assert len(read_statistics(path)) == 2
    assert Bank.open([tmp_path]).heads(["sample"])["sample"].parts[0].mean == 0.2


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("mean: 0.6", "mean: 1.6", ":9:13: 'mean' can't be 1.6"),
        ("students: 20", "students: 2", ":8:17: 2 students are fewer than 5"),
        ("solved:", "sloved:", "sloved"),
        ("term: fall", "term: [1]", "term"),
        ("terms:", "rows:", "rows"),
    ],
)
def test_errors_name_the_place(tmp_path: Path, before: str, after: str, said: str) -> None:
    bank, path = Bank.open([a_bank(tmp_path)]), stats_file(tmp_path)
    add_term(path, term(bank, share=part()))
    path.write_text(path.read_text().replace(before, after))
    with pytest.raises(SpecErrors) as caught:
        Bank.open([tmp_path]).heads(["sample"])
    assert "sample.stats.yaml:" in str(caught.value)
    assert said in str(caught.value)


def test_show_and_the_catalogue_list_earlier_terms(tmp_path: Path) -> None:
    bank = Bank.open([a_bank(tmp_path)])
    found = part(discrimination=-0.25, mistakes={"fp32": 0.25})
    add_term(stats_file(tmp_path), term(bank, share=found))
    text = ok("show", "sample", "--bank", tmp_path).output
    assert "`share`: 20 students, 60% of the points, 50% solved it" in text
    assert "fp32` 25%" not in text
    assert "fp32` 25%" in ok("show", "sample", "--key", "--bank", tmp_path).output
    ok("catalogue", "--bank", tmp_path, "--out", tmp_path / "site")
    page = (tmp_path / "site/problems/sample.html").read_text()
    assert "In earlier terms" in page
    assert "−0.25" in page


def test_pools_hold_problems_that_were_about_equally_hard() -> None:
    one = PartGroup(
        problem="one",
        parts=(),
        family="numerics",
        level="apply",
        minutes=5,
        points=3,
        concepts=frozenset(),
        mean=0.6,
    )
    pool = GroupPool((one,))
    assert pool.takes(replace(one, problem="two", mean=0.72))
    assert pool.takes(replace(one, problem="two", mean=None))
    assert not pool.takes(replace(one, problem="two", mean=0.4))
    mixed = GroupPool((one, replace(one, problem="two", mean=None)))
    assert not mixed.takes(replace(one, problem="three", mean=0.8))
