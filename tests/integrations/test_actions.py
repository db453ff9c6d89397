"""Text for GitHub Actions, read back as its runner reads it."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from grader.errors import SetupError
from grader.integrations.github.actions import (
    MOST,
    SUMMARY_BYTES,
    Annotation,
    AnnotationLevel,
    annotation_lines,
    annotations_of,
    fit_lines,
    step_outputs,
    stop_commands,
    summary_of,
)
from grader.integrations.line_numbers import notebook_lines
from grader.model import Outcome, Verdict
from grader.model.result import CellTrouble, RunSummary
from grader.notebook import Cell, write
from tests.helpers.actions import read_commands
from tests.helpers.export import (
    a_hostile_result,
    a_mixed_result,
    a_problem,
    a_result,
    an_empty_result,
    an_open_result,
    hostile,
)
from tests.helpers.report import a_part

TOKEN = "0123456789abcdef" * 2


@given(hostile, hostile, hostile)
@example("a%0Ab", "x,line=1", "f:1::")
def test_an_annotation_comes_back_as_it_went_in(message: str, title: str, file: str) -> None:
    one = Annotation(level=AnnotationLevel.ERROR, message=message, title=title, file=file, line=7)
    [(name, properties, said)] = read_commands(annotation_lines([one]))
    assert name == "error"
    assert set(properties) <= {"file", "line", "title"}
    assert properties.get("line", "7") == "7"
    assert "\x1b" not in said
    if message.isascii() and message.isprintable() and "::" not in message and "##[" not in message:
        assert said == message.strip()


@given(st.lists(st.sampled_from(list(AnnotationLevel)), max_size=45))
def test_no_more_than_github_shows_and_the_rest_is_counted(levels: list[AnnotationLevel]) -> None:
    found = [Annotation(level=x, message="m", title=f"t{i}") for i, x in enumerate(levels)]
    read = read_commands(annotation_lines(found))
    for level in AnnotationLevel:
        mine = [message for name, _, message in read if name == level.value]
        wanted = levels.count(level)
        assert len(mine) == min(wanted, MOST)
        if wanted > MOST:
            assert mine[-1].startswith(f"{wanted - MOST + 1} more: ")


def a_notebook(*sources: str) -> bytes:
    cells = [Cell(type="code", id=f"c{i}", source=s) for i, s in enumerate(sources)]
    return write((Cell(type="markdown", id="m", source="q1_size = 3"), *cells), {})


def test_answers_are_found_at_the_line_of_the_file() -> None:
    data = a_notebook("import math", "x = 'é'\nq1_size = 28\n", '# q1_fits = 1\nq1_fits = "A"')
    lines = data.decode().split("\n")
    found = notebook_lines(data)
    assert lines[found.answers["q1_size"] - 1].strip().strip(',"').startswith("q1_size = 28")
    assert lines[found.answers["q1_fits"] - 1].strip().startswith('"q1_fits = \\"A\\"')
    assert set(found.answers) == {"x", "q1_size", "q1_fits"}


def test_an_answer_that_is_set_twice_is_found_where_it_counts() -> None:
    data = a_notebook("q1_size = 1", "q1_size = 2")
    assert "q1_size = 2" in data.decode().split("\n")[notebook_lines(data).answers["q1_size"] - 1]


def test_an_answer_that_is_set_twice_to_the_same_is_found_where_it_counts() -> None:
    data = a_notebook("q1_size = 1", "q1_size = 1")
    lines = data.decode().split("\n")
    last = max(n for n, line in enumerate(lines, start=1) if "q1_size = 1" in line)
    assert notebook_lines(data).answers["q1_size"] == last


def test_places_of_many_lines_take_no_time() -> None:
    data = a_notebook("\n".join(f"x = 'é{n}'" for n in range(30_000)))
    start = time.process_time()
    assert notebook_lines(data).line_of_cell(1, 30_000) is not None
    assert time.process_time() - start < 10


def test_cells_are_found_by_their_numbers() -> None:
    data = a_notebook("a = 1\nb = 2\n1/0", "", "c = 3")
    lines, found = data.decode().split("\n"), notebook_lines(data)
    assert "1/0" in lines[(found.line_of_cell(1, 3) or 0) - 1]
    assert "a = 1" in lines[(found.line_of_cell(1) or 0) - 1]
    assert "a = 1" in lines[(found.line_of_cell(1, 99) or 0) - 1]
    assert "c = 3" in lines[(found.line_of_cell(2) or 0) - 1]  # an empty cell has no number
    assert found.line_of_cell(9) is None


@pytest.mark.parametrize("data", [b"", b"%PDF-1.7", b"{}", b"\xff\xfe"])
def test_what_is_no_notebook_has_no_places(data: bytes) -> None:
    assert notebook_lines(data).answers == {}


def test_what_went_wrong_is_annotated_where_it_stands() -> None:
    data = a_notebook("1/0", "q1_size = 2", "q1_fits = 0", "q2_time = 1")
    trouble = CellTrouble(number=1, outcome=Outcome.FINISHED, error="ZeroDivisionError: x", line=1)
    run = RunSummary(sentence="1 of 4 code cells did not run.", seconds=1, troubles=(trouble,))
    text = annotation_lines(
        annotations_of(a_mixed_result(run=run), "exam.ipynb", notebook_lines(data))
    )
    read = read_commands(text)
    assert [(name, p["title"]) for name, p, _ in read] == [
        ("error", "code cell 1"), ("warning", "q2_why"),
        ("notice", "q1_fits"), ("notice", "q2_time"),
    ]  # fmt: skip
    lines = data.decode().split("\n")
    assert "1/0" in lines[int(read[0][1]["line"]) - 1]
    assert "q1_fits" in lines[int(read[2][1]["line"]) - 1]
    assert "line" not in read[1][1]  # no cell sets it
    assert all(p["file"] == "exam.ipynb" for _, p, _ in read)


def test_a_refused_file_is_one_error() -> None:
    found = annotations_of(a_mixed_result(refusal="the file is a PDF"), "exam.ipynb")
    assert [(one.level, one.message) for one in found] == [
        (AnnotationLevel.ERROR, "the file is a PDF")
    ]


def test_the_summary_of_a_result(golden) -> None:
    golden("step-summary.md", summary_of(a_mixed_result()))


def test_a_summary_says_what_is_open_or_missing() -> None:
    assert "2 of 4 points so far" in summary_of(an_open_result())
    assert "open of 2" in summary_of(an_open_result())
    assert "No submission" in summary_of(an_empty_result())


@given(hostile)
def test_a_summary_s_table_holds_what_students_write(text: str) -> None:
    rendered = (
        MarkdownIt("commonmark", {"html": True})
        .enable("table")
        .render(summary_of(a_hostile_result(text)))
    )
    rows = re.findall(r"<tr>(.*?)</tr>", rendered, re.DOTALL)
    assert [len(re.findall(r"<t[dh]>", row)) for row in rows] == [5, 5, 5]
    assert set(re.findall(r"<(\w+)", rendered)) <= {
        "h2", "p", "table", "thead", "tbody", "tr", "th", "td",
    }  # fmt: skip


def test_a_summary_is_cut_before_github_drops_it() -> None:
    parts = [
        a_part(f"q1_p{i}", why="é" * 900, answer="|" * 300, points=0.0, verdict=Verdict.INCORRECT)
        for i in range(1200)
    ]
    text = summary_of(a_result(a_problem(1, *parts)))
    assert SUMMARY_BYTES - 10_000 < len(text.encode()) <= SUMMARY_BYTES
    assert "does not fit" in text
    assert fit_lines(["a", "b"]) == "a\nb\n"


@given(hostile)
def test_a_guard_ends_where_it_should(text: str) -> None:
    lines = stop_commands(text, TOKEN).split("\n")
    assert lines[0] == f"::stop-commands::{TOKEN}"
    assert [n for n, line in enumerate(lines) if line == f"::{TOKEN}::"] == [len(lines) - 2]


@pytest.mark.parametrize("token", ["", "short", "x" * 31, "y" * 200, "a b" * 12, "0" * 32 + "\n"])
def test_a_guard_needs_a_long_token(token: str) -> None:
    with pytest.raises(SetupError):
        stop_commands("text", token)


def test_a_text_that_knows_the_token_is_not_printed() -> None:
    with pytest.raises(SetupError):
        stop_commands(f"::{TOKEN}::\n::error::x", TOKEN)


@given(hostile, hostile)
@example("x\ny=1", "<<EOF\nEOF")
def test_outputs_are_one_line_each_and_make_no_others(one: str, other: str) -> None:
    lines = step_outputs({"a": one, "b-c": other}).split("\n")
    assert [line.partition("=")[0] for line in lines] == ["a", "b-c", ""]
    assert lines[0] == f"a={' '.join(one.split())}"
