"""Grades in the tables of Canvas and Moodle: one column changes, and nothing else."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.errors import GraderError, SetupError, SpecError
from grader.integrations.lms.gradebooks.canvas import Canvas
from grader.integrations.lms.gradebooks.cells import parse_sheet
from grader.model import Student
from grader.model.exported import Result
from grader.model.result import Standing
from tests.helpers.export import (
    a_class_of,
    a_mixed_result,
    an_empty_result,
    an_open_result,
)
from tests.helpers.gradebooks import canvas_gradebook, moodle_worksheet

FILE = "Grades-MLSys.csv"
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Homework 1 (4710),Midterm (4711),Current Score\r\n"
    ",,,,,Manual Posting,,(read only)\r\n"
    "    Points Possible,,,,,10.00,{most},(read only)\r\n"
    '"Doe, Jane",1001,S123,jdoe,"Sec A, B",7.50,,88.1\r\n'
    '"Lindqvist, ""Bo""",1002,S124,bo,Sec A,=1+1,,\r\n'
    "Øre Åse,1003,S125,åse,Sec B,,EX,\r\n"
    '"Student, Test",1004,,f00,Sec A,,,\r\n'
)


def of(student: str, **fields: str) -> Student:
    return Student(id=student, **fields)


def a_score(result: Result) -> str:
    return f"{result.feedback.score:.2f}"


JANE = a_mixed_result(student=of("jdoe"))
MOST = f"{JANE.feedback.max_score:.2f}"


def filled(*results: Result, text: str = CANVAS.format(most=MOST), **options: Any) -> str:
    usual = {"column": "Midterm (4711)", **options}
    made = canvas_gradebook(a_class_of(*results), text.encode(), FILE, **usual)
    return made.files[FILE].decode()


def notes(*results: Result, text: str = CANVAS.format(most=MOST), **options: Any) -> str:
    usual = {"column": "Midterm (4711)", **options}
    made = canvas_gradebook(a_class_of(*results), text.encode(), FILE, **usual)
    return "\n".join(made.notes)


def test_one_cell_changes_and_every_other_byte_stays() -> None:
    before = CANVAS.format(most=MOST)
    assert filled(JANE) == before.replace("7.50,,88.1", f"7.50,{a_score(JANE)},88.1")


def test_a_whole_class_is_filled_in_the_order_of_the_file() -> None:
    before = CANVAS.format(most=MOST).replace(",EX,", ",,")
    others = (a_mixed_result(student=of("åse")), a_mixed_result(student=of("bo")), JANE)
    said = a_score(JANE)
    expected = before.replace("7.50,,88.1", f"7.50,{said},88.1")
    expected = expected.replace("=1+1,,", f"=1+1,{said},").replace("Sec B,,,", f"Sec B,,{said},")
    assert filled(*others, text=before) == expected


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\r\n", "\n"])
@pytest.mark.parametrize("last", [True, False])
def test_marks_line_ends_and_a_missing_last_one_stay(mark: str, end: str, last: bool) -> None:
    text = mark + CANVAS.format(most=MOST).replace("\r\n", end)
    text = text if last else text.removesuffix(end)
    expected = text.replace("7.50,,88.1", f"7.50,{a_score(JANE)},88.1")
    assert filled(JANE, text=text) == expected


@pytest.mark.parametrize(
    "student",
    [
        of("jdoe"), of("JDOE"), of("1001"), of("S123"), of("x1", email="jdoe"),
        of("x1", name="doe, jane"),
    ],
)  # fmt: skip
def test_a_student_is_found_by_any_of_the_ids(student: Student) -> None:
    assert f"7.50,{a_score(JANE)},88.1" in filled(a_mixed_result(student=student))


def test_an_id_whose_accents_are_written_differently_is_the_same() -> None:
    assert filled(a_mixed_result(student=of("a\u030ase"))) == filled(
        a_mixed_result(student=of("åse"))
    )


def test_the_file_that_was_downloaded_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(CANVAS.format(most=MOST), encoding="utf-8")
    exporter = Canvas(gradebook=tmp_path / FILE, column="Midterm")
    exporter.check_target(a_class_of(JANE), tmp_path / "out")
    with pytest.raises(SetupError, match="this would replace the file that you downloaded"):
        exporter.check_target(a_class_of(JANE), tmp_path / "out" / "..")


def test_a_title_without_its_number_is_enough_where_one_has_it() -> None:
    assert filled(JANE, column="Midterm") == filled(JANE)
    doubled = CANVAS.format(most=MOST).replace("Homework 1 (4710)", "Midterm (4710)")
    with pytest.raises(SetupError, match="has 2 columns 'Midterm'") as caught:
        filled(JANE, text=doubled, column="Midterm")
    assert "'Midterm (4710)', 'Midterm (4711)'" in str(caught.value)


def test_a_column_that_is_not_there_or_only_to_be_read_is_refused() -> None:
    with pytest.raises(SetupError, match="has no column 'Midtrem'") as caught:
        filled(JANE, column="Midtrem (4711)"[:7])
    assert "did you mean 'Midterm (4711)'?" in str(caught.value)
    with pytest.raises(SetupError, match="'Current Score' can't be filled in"):
        filled(JANE, column="Current Score")


def test_an_assignment_out_of_other_points_is_refused_or_scaled() -> None:
    text = CANVAS.format(most="100.00")
    with pytest.raises(SetupError, match="has a maximum of 100 points, and the exam of 'jdoe' has"):
        filled(JANE, text=text)
    share = 100 * JANE.feedback.score / JANE.feedback.max_score
    assert f"7.50,{share:.2f},88.1" in filled(JANE, text=text, scale=True)


def test_open_points_missing_work_and_the_excused_stay_as_they_are() -> None:
    text = CANVAS.format(most=f"{JANE.feedback.max_score:.2f}")
    results = (
        an_open_result(student=of("bo")),
        an_empty_result(student=of("jdoe")),
        a_mixed_result(student=of("åse")),
        a_mixed_result(student=of("nobody")),
    )
    assert filled(*results, text=text) == text
    said = notes(*results, text=text)
    assert "bo: points are still open" in said
    assert "jdoe: no submission" in said
    assert "åse: excused" in said
    assert "nobody: not in the table" in said
    zero = filled(an_empty_result(student=of("jdoe")), text=text, missing_as_zero=True)
    assert zero == text.replace("7.50,,88.1", "7.50,0.00,88.1")


def test_a_second_export_changes_nothing_and_another_grade_is_said() -> None:
    once = filled(JANE)
    assert filled(JANE, text=once) == once
    assert "replaced" not in notes(JANE, text=once)
    other = once.replace(f"{a_score(JANE)},88.1", "1.25,88.1")
    assert filled(JANE, text=other) == once
    assert "jdoe: different points were replaced" in notes(JANE, text=other)


def test_nobody_in_the_table_is_an_error_that_says_where_was_looked() -> None:
    with pytest.raises(SetupError, match="contains no student of the release") as caught:
        filled(a_mixed_result(student=of("zoe")))
    assert "'SIS Login ID'" in str(caught.value)


def test_two_students_in_one_row_or_one_in_two_rows_are_refused() -> None:
    with pytest.raises(SetupError, match="two students of the release match the same row"):
        filled(JANE, a_mixed_result(student=of("1001")))
    twice = CANVAS.format(most=MOST).replace("S124", "jdoe")
    with pytest.raises(SetupError, match=r"'jdoe' is in several rows .* lines 4, 5"):
        filled(JANE, text=twice)


def test_semicolons_and_decimal_commas() -> None:
    most = MOST.replace(".", ",")
    text = f"Student;ID;SIS Login ID;Midterm (4711)\nPoints Possible;;;{most}\nJane Doe;7;jdoe;\n"
    assert filled(JANE, text=text) == f"{text[:-1]}{a_score(JANE).replace('.', ',')}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a table"),
        ("hello\n", "not a table"),
        ("a,b\n1,2\n", "not a gradebook exported from Canvas"),
        ('Student,ID\n"x,1\n', "never closed"),
    ],
)
def test_what_is_no_gradebook_says_so(text: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        filled(JANE, text=text)
    with pytest.raises(SpecError, match="not UTF-8") as caught:
        canvas_gradebook(a_class_of(JANE), b"Student,ID\nJ\xe4ne,1\n", FILE, column="x")
    assert f"{FILE}:2" in str(caught.value)


MOODLE = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,"
    '"Last modified (grade)","Feedback comments"\n'
    'Participant 12345,Jane Doe,jane@example.edu,"Submitted for grading - ",,{most},Yes,-,\n'
    "Participant 12346,Bo Lindqvist,bo@example.edu,No submission,,{most},Yes,-,\n"
)


def test_moodle_s_worksheet_is_filled_by_e_mail_or_name() -> None:
    text = MOODLE.format(most=MOST)
    for student in (of("x", email="JANE@example.edu"), of("x", name="Jane  Doe")):
        made = moodle_worksheet(a_class_of(a_mixed_result(student=student)), text.encode(), "w.csv")
        changed = text.replace(f'- ",,{MOST}', f'- ",{a_score(JANE)},{MOST}')
        assert made.files["w.csv"].decode() == changed
    with pytest.raises(SetupError, match="maximum of 7 points"):
        moodle_worksheet(
            a_class_of(a_mixed_result(student=of("x", name="Jane Doe"))),
            MOODLE.format(most="7.00").encode(),
            "w.csv",
        )
    with pytest.raises(GraderError, match="not Moodle's grading worksheet"):
        moodle_worksheet(a_class_of(JANE), CANVAS.format(most=MOST).encode(), "w.csv")


cell = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)


@pytest.mark.parametrize("row", ["P 1,jdoe,", "P 1,jdoe,,", "P 1,jdoe,,nan", "P 1,jdoe,,inf"])
@pytest.mark.parametrize("scale", [False, True])
def test_a_row_that_says_no_maximum_gets_the_points_as_they_are(row: str, scale: bool) -> None:
    text = f"Identifier,ID number,Grade,Maximum Grade\n{row}\n"
    made = moodle_worksheet(a_class_of(JANE), text.encode(), "w.csv", scale=scale)
    expected = text.replace("jdoe,", f"jdoe,{a_score(JANE)}")
    assert made.files["w.csv"].decode() == expected


@pytest.mark.parametrize("most", ["", "nan", "inf", "(none)"])
def test_a_column_without_possible_points_is_noted(most: str) -> None:
    said = notes(JANE, text=CANVAS.format(most=most), scale=True)
    assert "the maximum was not checked" in said
    short = "Student,ID,M (1)\n    Points Possible\nDoe,jdoe,\n"
    assert f"Doe,jdoe,{a_score(JANE)}\n" in filled(JANE, text=short, column="M")


@pytest.mark.parametrize("most", ["0", "-5.00"])
def test_nothing_is_converted_to_no_points(most: str) -> None:
    with pytest.raises(SetupError, match="points can't be converted"):
        filled(JANE, text=CANVAS.format(most=most), scale=True)


def test_tables_without_students_or_assignments_say_what_is_missing() -> None:
    with pytest.raises(SpecError, match="no column identifies the student"):
        moodle_worksheet(a_class_of(JANE), b"Identifier,Grade\nParticipant 1,\n", "w.csv")
    with pytest.raises(SetupError) as caught:
        filled(JANE, text="Student,ID\nDoe,jdoe\n")
    assert "add the assignment, and export again" in str(caught.value)


@given(st.lists(st.lists(cell, min_size=2, max_size=4), min_size=1, max_size=6), st.data())
def test_cells_are_those_of_the_csv_module_and_only_those_that_are_replaced_change(
    rows: list[list[str]], data: st.DataObject
) -> None:
    written = io.StringIO(newline="")
    csv.writer(written, quoting=csv.QUOTE_ALL).writerows(rows)
    table = parse_sheet(written.getvalue(), "t.csv")
    if table.separator == ",":
        assert [[one.text for one in row] for row in table.rows] == [
            [text.strip() for text in row] for row in rows
        ]
        assert table.replace_cells({}) == written.getvalue()
        r = data.draw(st.integers(0, len(rows) - 1))
        c = data.draw(st.integers(0, len(rows[r]) - 1))
        again = list(csv.reader(io.StringIO(table.replace_cells({(r, c): "1.50"}), newline="")))
        rows[r][c] = "1.50"
        assert again == rows


def test_standing_texts_are_those_of_the_notes() -> None:
    assert Standing.MISSING.value == "no submission"
