"""Totals for spreadsheets: nothing is computed by one, and what is open is not a zero."""

from __future__ import annotations

import csv
import io

from hypothesis import example, given

from grader.integrations.csv_totals import FILE, Csv
from grader.model import Student
from grader.model.result import Standing
from tests.helpers.export import (
    a_class_of,
    a_hostile_result,
    a_mixed_result,
    a_problem,
    a_result,
    an_empty_result,
    an_open_result,
    hostile,
)
from tests.helpers.report import a_part


def table_of(*results) -> list[dict[str, str]]:
    data = Csv().export(a_class_of(*results)).files[FILE].decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(data, newline="")))


def test_the_table_of_a_class(golden) -> None:
    student = Student(id="bo", name="Lindqvist, Bo", email="bo@example.edu", section="A")
    made = Csv().export(
        a_class_of(a_mixed_result(), an_open_result(student=student), an_empty_result())
    )
    golden("results.csv", made.files[FILE].decode())


def test_points_are_by_problem_and_by_part() -> None:
    [row] = table_of(a_mixed_result())
    assert (row["q1"], row["q1_size"], row["q1_fits"]) == ("2.5", "2", "0.5")
    assert (row["q2"], row["q2_time"], row["q2_why"]) == ("1.75", "1.75", "0")
    assert (row["total"], row["so_far"], row["max"], row["complete"]) == (
        "4.25",
        "4.25",
        "8",
        "yes",
    )
    assert (row["name"], row["section"]) == ("Ada Lovelace", "B")


def test_a_part_has_one_column_whatever_its_letter() -> None:
    first, second, third = (a_part(name=f"q1_{id_}") for id_ in ("a", "b", "c"))
    rows = table_of(
        a_result(a_problem(1, first, second), student=Student(id="ada")),
        a_result(a_problem(1, first, third, second), student=Student(id="bo")),
    )
    assert [(row["q1_a"], row["q1_b"], row["q1_c"]) for row in rows] == [
        ("2", "2", ""),
        ("2", "2", "2"),
    ]


def test_what_is_open_is_empty_and_so_is_the_total_over_it() -> None:
    made = Csv().export(a_class_of(an_open_result()))
    [row] = table_of(an_open_result())
    assert (row["q1_size"], row["q1_why"], row["q1"], row["total"]) == ("2", "", "", "")
    assert (row["so_far"], row["max"], row["complete"]) == ("2", "4", "no")
    assert "ada" in made.notes[0]


def test_who_handed_in_nothing_has_no_zero_either() -> None:
    made = Csv().export(a_class_of(a_mixed_result(), an_empty_result()))
    row = table_of(a_mixed_result(), an_empty_result())[1]
    assert (row["standing"], row["total"], row["so_far"], row["max"]) == (
        "no submission",
        "",
        "",
        "8",
    )
    assert any("eve" in note for note in made.notes)


def test_a_newer_submission_that_waits_leaves_the_total_open() -> None:
    [row] = table_of(a_mixed_result(standing=Standing.WAITING, complete=False))
    assert (row["total"], row["so_far"], row["complete"]) == ("", "4.25", "no")


def test_problems_drawn_from_a_pool_have_columns_of_their_own() -> None:
    one = a_result(a_problem(1, a_part("q1_size"), id="memory"))
    other = a_result(a_problem(1, a_part("q1_size", points=1.0), id="flops"))
    rows = table_of(one, other)
    assert [rows[0]["q1_size (memory)"], rows[0]["q1_size (flops)"]] == ["2", ""]
    assert [rows[1]["q1_size (memory)"], rows[1]["q1_size (flops)"]] == ["", "1"]


@given(hostile)
@example("=1+1")
@example("\ud800")
@example('a,"b"\r\n=2')
def test_nothing_that_a_student_writes_is_a_formula_or_another_cell(text: str) -> None:
    [row] = table_of(a_hostile_result(text))
    assert row["q1"] == "0.5"
    assert None not in row
    for value in row.values():
        assert not value.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
