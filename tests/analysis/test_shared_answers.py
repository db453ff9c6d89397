"""Answers to another student's numbers: copies are found, and honest classes have none."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.analysis import shared_answers
from grader.analysis.answer_matches import (
    Meaning,
    ProblemSheets,
    SheetEntry,
    digits_of,
    find_matches,
    is_round,
    largest_by_chance,
    pair_scores,
)
from grader.analysis.shared_answers import SharedAnswers, find_shared_answers
from grader.kinds.numeric import judge
from tests.helpers.banks import SPEC, a_bank
from tests.helpers.commands import fails, ok
from tests.helpers.simulated_class import (
    SimulatedClass,
    a_bank_of_transfers,
    a_class,
    number_keys,
)


def entry(key: float, answer: float | None, **changes: Any) -> SheetEntry:
    fields: dict[str, Any] = {
        "key": key,
        "low": 0.99 * key,
        "high": 1.01 * key,
        "mistakes": {"double": 2 * key},
        "answer": answer,
        "right": answer is not None and abs(answer / key - 1) <= 0.01,
        "mistake": "double" if answer == 2 * key else None,
        "wrong": answer is not None and abs(answer / key - 1) > 0.01 and answer != 2 * key,
    }
    return SheetEntry(**{**fields, **changes})


def sheets_of(entries: list[SheetEntry], seats: list[str] | None = None) -> ProblemSheets:
    """One number, with 60 variants that nobody was given."""
    count = len(entries)
    return ProblemSheets(
        students=list(range(count)),
        seats=seats or [f"s{n}" for n in range(count)],
        parameters=[{"size": f"{n}"} for n in range(count)],
        entries={"time\n": list(entries)},
        matters={"time\n": ("size",)},
        spare_sheets={"time\n": [entry(1000.7 + n * 37.3, None) for n in range(60)]},
    )


def test_a_wrong_answer_that_is_right_for_another_matches() -> None:
    found = find_matches(sheets_of([entry(20.37, 31.43), entry(31.43, 31.43), entry(77.1, 77.1)]))
    assert found.answers == {(0, 1): (("time\n", Meaning.RIGHT),)}
    assert found.weights[0, 1] == pytest.approx(3.47, abs=0.01)  # two of 64
    assert found.weights.sum() == found.weights[0, 1]
    assert found.has_wrong.tolist() == [True, False, False]


def test_it_matches_only_if_the_other_gave_that_answer() -> None:
    found = find_matches(sheets_of([entry(20.37, 31.43), entry(31.43, None), entry(77.1, 77.1)]))
    assert not found.weights.any()


def test_a_declared_mistake_of_another_matches() -> None:
    found = find_matches(sheets_of([entry(20.37, 62.86), entry(31.43, 62.86)]))
    assert found.answers[0, 1] == (("time\n", Meaning.MISTAKE),)
    assert found.weights[0, 1] > 0


def test_the_same_wrong_answer_counts_less_and_only_without_a_common_number() -> None:
    entries = [entry(20.37, 51.43), entry(31.43, 51.43), *[entry(70.1, 70.1)] * 60]
    sheets = sheets_of(entries)
    found = find_matches(sheets)
    assert found.answers[0, 1] == (("time\n", Meaning.SAME_WRONG),)
    assert found.weights[0, 1] == found.weights[1, 0] == 3
    sheets.parameters[1] = sheets.parameters[0]
    assert not find_matches(sheets).weights.any()


@pytest.mark.parametrize("answer", [30.0, 64.0, 0.5])
def test_numbers_that_many_think_of_match_nothing(answer: float) -> None:
    found = find_matches(sheets_of([entry(20.37, answer), entry(answer, answer)]))
    assert not found.weights.any()
    assert not found.has_wrong.any()


def test_numbers_of_numpy_have_the_digits_that_python_shows() -> None:
    assert digits_of(np.float64(28.4)) == 3
    assert not is_round(np.float64(28.4))


def test_an_answer_that_fits_many_variants_matches_nothing() -> None:
    entries = [entry(20.37, 31.43), *[entry(31.43, 31.43)] * 10]
    assert not find_matches(sheets_of(entries)).weights.any()


def test_students_who_share_a_version_are_not_compared() -> None:
    entries = [entry(20.37, 31.43), entry(31.43, 31.43)]
    assert not find_matches(sheets_of(entries, ["A", "A"])).weights.any()


def test_more_digits_in_common_count_more() -> None:
    others = [entry(31.43 + n / 100, None) for n in range(2, 30)]
    close = find_matches(sheets_of([entry(20.37, 31.43), entry(31.43, 31.43), *others]))
    rough = find_matches(sheets_of([entry(20.37, 31.5), entry(31.43, 31.5), *others]))
    assert close.weights[0, 1] > rough.weights[0, 1]


def test_the_chance_of_a_pair_is_that_of_any_pair() -> None:
    """Everybody's wrong answer fits one other variant in each problem, so one match means
    nothing."""
    keys = [10.37 * 1.07**n for n in range(40)]
    problems = []
    for shift in (1, 7, 12):
        answers = [keys[(n + shift) % 40] if n % 2 else keys[n] for n in range(40)]
        problems.append(sheets_of([entry(k, a) for k, a in zip(keys, answers, strict=True)]))
    matches = [find_matches(one) for one in problems]
    scores = pair_scores(matches, 40)
    largest = largest_by_chance(matches, [str(n) for n in range(40)], [0.5] * 40, times=200)
    assert max(scores.values()) <= max(largest)
    assert (largest >= max(scores.values())).mean() > 0.3


def copy_answers(some: SimulatedClass, count: int, copies: int, seed: int) -> set[tuple[str, str]]:
    """Lets some students hand in right answers of others, whose numbers differ; returns who."""
    draw, made = random.Random(seed), set()
    ids = draw.sample(sorted(some.students), 2 * count)
    for one, other in zip(ids[::2], ids[1::2], strict=True):
        copier, source = some.students[one], some.students[other]
        mine, theirs = number_keys(copier.paper), number_keys(source.paper)
        for name in draw.sample(sorted(mine.keys() & theirs.keys()), copies):
            source.answers[name] = float(f"{theirs[name].value:.5g}")
            if judge(source.answers[name], mine[name]).share == 0:
                copier.answers[name] = source.answers[name]
        made.add((min(one, other), max(one, other)))
    return made


def listed(found: SharedAnswers) -> set[tuple[str, str]]:
    pairs = [pair.students for group in found.groups for pair in group.pairs]
    return {(min(pair), max(pair)) for pair in pairs}


@pytest.mark.thorough
def test_three_copied_answers_are_found_in_a_class_of_200(tmp_path: Path) -> None:
    a_bank_of_transfers(tmp_path / "bank")
    some = a_class("quiz", 200, 3, banks=(str(tmp_path / "bank"),))
    made = copy_answers(some, 8, 3, seed=3)
    found = find_shared_answers(some.write(tmp_path / "class", shared_answers=True))
    assert listed(found) <= made
    assert len(listed(found)) >= 7, (made, found.groups)


@pytest.mark.slow
def test_twenty_honest_classes_have_no_pair(tmp_path: Path) -> None:
    """Their students have common wrong ideas, and problems of the bank have few variants."""
    for seed in range(20):
        some = a_class("midterm", 200, seed)
        found = find_shared_answers(some.write(tmp_path / f"class-{seed}", shared_answers=True))
        assert found.wrong > 500
        assert found.groups == (), seed


@pytest.mark.thorough
def test_honest_students_with_one_wrong_idea_everywhere_are_not_listed(tmp_path: Path) -> None:
    a_bank_of_transfers(tmp_path / "bank")
    some = a_class("quiz", 80, 5, banks=(str(tmp_path / "bank"),))
    for id_ in sorted(some.students)[:20]:
        student = some.students[id_]
        for name, key in number_keys(student.paper).items():
            student.answers[name] = float(f"{key.value / 2:.4g}")
    found = find_shared_answers(some.write(tmp_path / "class", shared_answers=True))
    assert found.wrong > 200
    assert found.groups == ()


@pytest.mark.thorough
def test_groups_are_listed_with_the_answers_to_look_at(tmp_path: Path) -> None:
    a_bank_of_transfers(tmp_path / "bank")
    some = a_class("quiz", 60, 6, banks=(str(tmp_path / "bank"),))
    source = some.students["s000"]
    keys = number_keys(source.paper)
    for name in ("q1_time", "q3_time", "q5_time", "q6_time"):
        source.answers[name] = keys[name].value
        for other in ("s010", "s020"):
            some.students[other].answers[name] = float(f"{keys[name].value:.5g}")
    results = some.write(tmp_path / "class", shared_answers=True)
    data = json.loads(ok("shared-answers", results, "--json").stdout)
    [group] = data["groups"]
    assert group["students"] == ["s000", "s010", "s020"]
    assert group["chance"] < 0.01
    answers = group["pairs"][0]["answers"]
    assert {one["part"] for one in answers} == {"time"}
    assert all(one["meaning"] in ("right", "same wrong number") for one in answers)
    shown = ok("shared-answers", results).stdout
    assert "Group 1: s000, s010, s020" in shown
    assert "right for s000" in shown
    assert "innocent reasons" in shown
    assert "cheat" not in shown.lower()


def test_it_is_off_unless_the_course_turns_it_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_answers, "VARIANTS", 20)
    a_bank_of_transfers(tmp_path / "bank", 1)
    some = a_class("quiz", 3, 1, banks=(str(tmp_path / "bank"),))
    results = some.write(tmp_path / "class")
    assert "shared_answers: true" in fails(capsys, "shared-answers", results)
    course = tmp_path / "course.yaml"
    course.write_text("id: c\nshared_answers: true\n")
    ok("score", results, "--course", course)
    assert "0 pairs of 3 to look into" in ok("shared-answers", results).stdout
    course.write_text("id: c\nshared_answers: true\nsets: {quiz: {shared_answers: false}}\n")
    ok("score", results, "--course", course)
    assert "shared_answers: true" in fails(capsys, "shared-answers", results)


def test_a_reason_beside_true_or_false_is_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_answers, "VARIANTS", 20)
    claim = """\
  - id: claim
    kind: true_false
    ask: A parameter takes two bytes.
    answer: true
    reasons:
      - {id: half, text: It has 16 bits., correct: true}
      - {id: single, text: It has 32 bits.}
  - id: bound
"""
    bank = a_bank(tmp_path / "bank", SPEC.replace("  - id: bound\n", claim))
    results = a_class("quiz", 3, 1, banks=(str(bank),)).write(tmp_path / "out", shared_answers=True)
    assert find_shared_answers(results).groups == ()


@pytest.mark.thorough
def test_a_class_goes_through_the_commands(tmp_path: Path) -> None:
    """Sixteen notebooks are rendered, solved, changed, and graded with a course."""
    bank = a_bank_of_transfers(tmp_path / "bank")
    ids = [f"s{number:02}" for number in range(16)]
    (tmp_path / "roster.csv").write_text("id\n" + "".join(f"{one}\n" for one in ids))
    (tmp_path / "course.yaml").write_text("id: c\nsets: {quiz: {shared_answers: true}}\n")
    release = tmp_path / "release"
    ok("render", "quiz", "--roster", tmp_path / "roster.csv", "--out", release, "--bank", bank,
       "--private-key", "the same numbers each time")  # fmt: skip
    source = json.loads(ok("key", release, "--student", "s03", "--json").stdout)
    for id_ in ids:
        path = tmp_path / "in" / f"{id_}.ipynb"
        ok("solve", release, "--student", id_, "--out", path, "--bank", bank)
        if id_ != "s09":
            continue
        names = [f"q{number}_time" for number in range(1, 6)]
        lines = [f"{name} = {source[name]['value']:.6g}" for name in names]
        data = json.loads(path.read_text())
        cell = next(c for c in reversed(data["cells"]) if c["cell_type"] == "code")
        data["cells"].append({**cell, "id": "added", "source": "\n".join(lines), "metadata": {}})
        path.write_text(json.dumps(data))
    results = tmp_path / "results"
    ok("grade", tmp_path / "in", "--release", release, "--out", results, "--bank", bank,
       "--course", tmp_path / "course.yaml")  # fmt: skip
    data = json.loads(ok("shared-answers", results, "--json").stdout)
    [group] = data["groups"]
    assert group["students"] == ["s03", "s09"]
    [pair] = group["pairs"]
    assert {one["student"] for one in pair["answers"]} == {"s09"}
    assert {one["problem"] for one in pair["answers"]} <= {f"transfer-{n}" for n in range(1, 6)}
    assert len(pair["answers"]) >= 4
    assert (data["students"], data["pairs"]) == (16, 120)
    fair = json.loads(ok("fairness", results, "--json").stdout)
    assert fair["students"] == 16
    assert {one["finding"] for one in fair["comparisons"]} <= {"no sign", "too few students"}
    asked = {one["asked"] for one in (*fair["comparisons"], *fair["too_few"])}
    assert {f"transfer-{number}/time" for number in range(1, 9)} <= asked
