"""Variants: stable for ever, different between students, drawn from the spec alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.bank.folders import Bank
from grader.bank.problem import problem_from
from grader.bank.yaml12 import parse_yaml
from grader.draw import choices_of, draw, draw_below, draw_permutation, paper, points_of, seed_for
from grader.errors import SpecError
from grader.model import Parameter, Part, Problem, Slot, Student
from grader.release.file import new_release
from tests.helpers.banks import SPEC, a_bank


def a_problem(text: str = SPEC) -> Problem:
    return problem_from(parse_yaml(text.encode(), "sample.yaml"))


def test_a_seed_is_the_same_for_ever() -> None:
    # Pinned: another value would give every student of an old release other numbers.
    assert seed_for(b"key", "ada", "kv-cache").hex()[:16] == "d3a26ab47ea02f9b"


def test_seeds_keep_student_and_problem_apart() -> None:
    assert seed_for(b"k", "ab", "c") != seed_for(b"k", "a", "bc")


def test_draws_are_the_same_for_ever() -> None:
    assert [draw_below(b"seed", f"label/{i}", 10) for i in range(8)] == [5, 2, 1, 6, 8, 7, 0, 7]


@given(st.binary(max_size=8), st.integers(1, 1000))
def test_a_draw_lies_in_its_range(seed: bytes, n: int) -> None:
    assert 0 <= draw_below(seed, "x", n) < n


def test_every_choice_is_equally_likely() -> None:
    counts = Counter(draw_below(b"%d" % i, "x", 5) for i in range(5000))
    assert max(counts.values()) - min(counts.values()) < 200


@given(st.binary(max_size=8), st.integers(0, 20))
def test_an_order_is_a_permutation(seed: bytes, n: int) -> None:
    assert sorted(draw_permutation(seed, "x", n)) == list(range(n))


def test_the_same_seed_draws_the_same_variant() -> None:
    problem = a_problem()
    first, second = draw(problem, b"s", {}), draw(problem, b"s", {})
    assert first == second


def test_a_new_parameter_leaves_the_others_draws_alone() -> None:
    more = SPEC.replace("values:\n", "  layers: {integer: [10, 90]}\nvalues:\n")
    for number in range(10):
        old = draw(a_problem(), b"%d" % number, {}).draw.parameters
        new = draw(a_problem(more), b"%d" % number, {}).draw.parameters
        assert {k: new[k] for k in old} == dict(old)


@pytest.mark.parametrize("added", ["nodes: {choice: [2]}", "chip: {rows: [{nodes: 2}]}"])
def test_stored_numbers_without_a_new_parameter_are_an_error_that_names_it(added: str) -> None:
    stored = draw(a_problem(), b"s", {}).draw.parameters
    assert draw(a_problem(), b"s", {}, stored).draw.parameters == stored
    corrected = a_problem(SPEC.replace("parameters:\n", f"parameters:\n  {added}\n"))
    with pytest.raises(SpecError, match="the corrected spec has a new parameter 'nodes'"):
        draw(corrected, b"s", {}, stored)


def test_a_range_of_steps_has_readable_numbers() -> None:
    values = choices_of(Parameter(real=(0.1, 0.5), step=0.1))
    assert list(values) == [0.1, 0.2, 0.3, 0.4, 0.5]


def test_rows_belong_together() -> None:
    rows = (
        "  chip: {rows: [{gpu: A, speed: 1}, {gpu: B, speed: 2}], units: {speed: TB/s}}\nvalues:\n"
    )
    problem = a_problem(SPEC.replace("values:\n", rows))
    seen = set()
    for number in range(40):
        scope = draw(problem, b"%d" % number, {}).draw.scope
        seen.add((scope["gpu"], str(scope["speed"].magnitude / 8e12)))  # type: ignore[union-attr]
    assert seen == {("A", "1.0"), ("B", "2.0")}


def test_conditions_that_never_hold_are_an_error_that_names_them() -> None:
    problem = a_problem(SPEC.replace("values:\n", "where: [gpus > 100]\nvalues:\n"))
    with pytest.raises(SpecError, match="satisfy: gpus > 100"):
        draw(problem, b"s", {})


def test_a_condition_may_use_values_and_guards_them_by_parameters_first() -> None:
    extra = "where: [gpus != 8, weights / other > 1 * GB]\nvalues:\n  other: gpus - 8\n"
    problem = a_problem(SPEC.replace("values:\n", extra))
    for number in range(20):
        scope = draw(problem, b"%d" % number, {}).draw.scope
        assert scope["weights"].magnitude / scope["other"] > 8e9  # type: ignore[union-attr,operator]


def test_conditions_hold_in_every_variant_and_draws_are_counted() -> None:
    problem = a_problem(SPEC.replace("values:\n", "where: [gpus == 32]\nvalues:\n"))
    variants = [draw(problem, b"%d" % i, {}) for i in range(30)]
    assert {v.draw.parameters["gpus"] for v in variants} == {32}
    assert sum(v.draws for v in variants) > 45


def test_an_answer_of_the_wrong_dimension_is_an_error_with_the_numbers() -> None:
    problem = a_problem(SPEC.replace("answer: weights / gpus", "answer: billions / gpus"))
    with pytest.raises(SpecError) as caught:
        draw(problem, b"s", {})
    assert "part 'share'" in caught.value.what
    assert "billions = " in caught.value.what


POOLED = """\
id: quiz
title: A quiz
problems:
  - {pool: [sample, second, third], choose: 2, points: 6}
"""


def test_a_pool_gives_each_student_some_of_its_problems(tmp_path: Path) -> None:
    for name in ("second", "third"):
        a_bank(tmp_path, SPEC.replace("id: sample", f"id: {name}"))
    bank = Bank.open([a_bank(tmp_path, exam=POOLED)])
    students = tuple(Student(id=f"s{i}") for i in range(30))
    release = new_release(bank, bank.exam("quiz"), students, b"k" * 32)
    chosen = set()
    for student in students:
        mine = paper(release, student)
        ids = tuple(q.variant.problem.id for q in mine.questions)
        chosen.add(ids)
        assert [q.number for q in mine.questions] == [1, 2]
        assert all(q.is_pooled for q in mine.questions)
        assert mine.max_points == 12
    assert chosen == {("sample", "second"), ("sample", "third"), ("second", "third")}


def test_a_set_can_ask_some_parts_of_a_problem(tmp_path: Path) -> None:
    exam = POOLED.replace(
        "{pool: [sample, second, third], choose: 2, points: 6}", "{problem: sample, parts: [bound]}"
    )
    bank = Bank.open([a_bank(tmp_path, exam=exam)])
    release = new_release(bank, bank.exam("quiz"), (Student(id="ada"),), b"k" * 32)
    (question,) = paper(release, Student(id="ada")).questions
    assert list(question.keys) == ["bound"]
    assert dict(question.points) == {"bound": 1}


def test_a_part_that_needs_one_that_is_not_asked_is_refused(tmp_path: Path) -> None:
    spec = SPEC.replace("    points: 1\n", "    points: 1\n    uses: [share]\n")
    exam = POOLED.replace(
        "{pool: [sample, second, third], choose: 2, points: 6}", "{problem: sample, parts: [bound]}"
    )
    bank = Bank.open([a_bank(tmp_path, spec, exam=exam)])
    with pytest.raises(SpecError, match="uses 'share', which is not asked"):
        bank.exam("quiz")


@pytest.mark.parametrize("total", [10.0, 7.0, 0.1, 1.0])
@pytest.mark.parametrize("parts", [1, 3, 7, 9])
def test_points_that_are_scaled_add_up_to_the_slots(total: float, parts: int) -> None:
    of = tuple(Part(id=f"p{n}", kind="numeric", ask="?") for n in range(parts))
    problem = replace(a_problem(), parts=of)
    points = points_of(problem, Slot(problem=problem.id, points=total))
    assert round(sum(points.values()), 9) == total
    assert max(points.values()) - min(points.values()) < 3e-6
