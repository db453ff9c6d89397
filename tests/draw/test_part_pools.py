"""Parts that a set draws for each student from the pools of a problem, and its editions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.bank.folders import Bank
from grader.draw import paper
from grader.errors import SpecError, SpecErrors
from grader.model import Edition, Paper, Release, Slot, Student
from grader.release.composition import composition
from grader.release.file import new_release
from grader.release.papers import Papers
from tests.helpers.banks import a_bank

CLAIMS = "".join(
    f"  - {{id: c{n}, kind: true_false, ask: Claim {n}., answer: true, pool: claims}}\n"
    for n in range(8)
)
TERMS = "".join(
    f"  - {{id: t{n}, kind: short_text, ask: Term {n}?, accept: [x], pool: terms}}\n"
    for n in range(4)
)
ALWAYS = "  - {id: always, kind: numeric, ask: How much?, unit: GB, answer: n}\n"
SPEC = """\
id: facts
title: Facts
family: memory-math
level: recall
minutes: 5
parameters:
  n: {choice: [1, 2, 3], unit: GB}
prompt: Answer each question.
parts:
"""
STUDENTS = tuple(Student(id=f"s{number}") for number in range(200))


def a_set(bank: Path, name: str, *entries: str, more: str = "") -> Path:
    path = bank / "problems" / "sets" / f"{name}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"id: {name}\ntitle: {name}\n{more}problems:\n" + "".join(entries))
    return path


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    return a_bank(tmp_path / "bank", SPEC + CLAIMS + TERMS + ALWAYS, solution=None)


ENTRY = "  - {problem: facts, draw: {claims: 2, terms: 1}}\n"


def released(bank: Path, name: str, key: bytes = b"k" * 32) -> Release:
    opened = Bank.open([str(bank)])
    return new_release(opened, opened.exam(name), STUDENTS, key)


def asked(one: Paper) -> list[str]:
    return [part for question in one.questions for part in question.points]


def test_every_student_gets_as_many_parts_of_each_pool_as_the_set_says(bank: Path) -> None:
    a_set(bank, "quiz", ENTRY)
    release = released(bank, "quiz")
    drawn = [asked(paper(release, student)) for student in STUDENTS]
    for parts in drawn:
        assert [part[0] for part in parts] == ["c", "c", "t", "a"]
    every = {part.id for part in release.problems["facts"].parts}
    assert {part for parts in drawn for part in parts} == every
    assert paper(release, STUDENTS[0]).questions[0].is_pooled


def test_editions_never_ask_the_same_part_of_a_pool(bank: Path) -> None:
    shares = []
    for number in (1, 2):
        more = f"edition: {{number: {number}, of: 2}}\n"
        a_set(bank, f"quiz-{number}", ENTRY, more=more)
        # Releases of two editions have different keys.
        release = released(bank, f"quiz-{number}", bytes([number]) * 32)
        shares.append({part for student in STUDENTS for part in asked(paper(release, student))})
    assert shares[0] & shares[1] == {"always"}
    assert len(shares[0]) == len(shares[1]) == 4 + 2 + 1


def test_a_correction_keeps_the_parts_that_were_asked(bank: Path) -> None:
    a_set(bank, "quiz", ENTRY)
    release = released(bank, "quiz")
    spec = bank / "problems" / "memory-math" / "facts.yaml"
    more = "  - {id: c9, kind: true_false, ask: Claim 9., answer: true, pool: claims}\n"
    spec.write_text(spec.read_text() + more)
    corrected = released(bank, "quiz")
    papers = Papers(release=release, correction=corrected)
    for student in STUDENTS[:50]:
        assert asked(papers.of(student.id)) == asked(paper(release, student))
        assert [n for n, _ in papers.questions(student.id)] == [1]
    assert "q1_c7" in papers.names()


def test_the_table_of_a_set_counts_what_is_drawn(bank: Path) -> None:
    a_set(bank, "quiz", ENTRY, more="edition: {number: 1, of: 2}\n")
    found = composition(Bank.open([str(bank)]), "quiz")
    group = found.entries[0].groups[0]
    assert (group.points, group.pool_draws) == (4, "2 of 4 claims, 1 of 2 terms")
    assert group.minutes == pytest.approx(5 * 4 / 13)
    assert (found.parts, group.part_count) == ((4, 4), 4)
    assert found.as_data()["entries"][0]["groups"][0]["drawn"] == group.pool_draws  # type: ignore[index]


def test_a_slot_that_draws_has_the_edition_of_its_set() -> None:
    slot = Slot(problem="facts", draw={"claims": 1}, edition=Edition(number=2, of=3))
    assert slot.pool_share("abcdefg") == ("b", "e")
    assert slot.differs


@pytest.mark.parametrize(
    ("entry", "more", "says"),
    [
        ("  - {problem: facts, draw: {claim: 2}}\n", "", "no parts in a pool 'claim'"),
        ("  - {problem: facts, draw: {claims: 9}}\n", "", "can't draw 9 of the 8 parts"),
        (ENTRY, "edition: {number: 4, of: 4}\n", ""),
        (ENTRY, "edition: {number: 5, of: 5}\n", "can't draw 2 of the 1 parts .* for edition 5"),
        ("  - {problem: facts, draw: {claims: 0}}\n", "", "can't draw 0 parts"),
        ("  - {problem: facts, draw: {claims: 1}, parts: [c1]}\n", "", "'draw' is for the parts"),
        (ENTRY, "edition: {number: 3, of: 2}\n", "there is no edition 3 of 2"),
    ],
)
def test_what_cannot_be_drawn_is_an_error_with_its_place(
    bank: Path, entry: str, more: str, says: str
) -> None:
    path = a_set(bank, "quiz", entry, more=more)
    if not says:  # 2 of 2 claims and 1 of 1 terms
        assert Bank.open([str(bank)]).exam("quiz").slots[0].draw
        return
    with pytest.raises((SpecError, SpecErrors), match=says) as caught:
        Bank.open([str(bank)]).exam("quiz")
    assert re.match(rf"{re.escape(str(path))}:\d+:\d+: ", str(caught.value))


def test_parts_of_one_pool_have_the_same_points(bank: Path) -> None:
    a_set(bank, "quiz", ENTRY)
    spec = bank / "problems" / "memory-math" / "facts.yaml"
    spec.write_text(spec.read_text().replace("id: c3,", "id: c3, points: 2,"))
    with pytest.raises(SpecError, match="different points: 'c0' 1, 'c3' 2"):
        Bank.open([str(bank)]).exam("quiz")


def test_a_part_can_not_use_one_that_may_be_left_out(bank: Path) -> None:
    a_set(bank, "quiz", ENTRY)
    spec = bank / "problems" / "memory-math" / "facts.yaml"
    spec.write_text(spec.read_text().replace("id: always,", "id: always, uses: [c1],"))
    with pytest.raises(SpecError, match="not every student is asked"):
        Bank.open([str(bank)]).exam("quiz")


def test_a_blueprint_never_cuts_into_pools_of_parts(bank: Path) -> None:
    path = bank / "problems" / "sets" / "quiz.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text("id: quiz\ntitle: Quiz\nblueprint: {minutes: 5, points: 13}\n")
    with pytest.raises((SpecError, SpecErrors), match="no problem that fits"):
        Bank.open([str(bank)]).exam("quiz")
