"""`nbgrader_config.py`: read without running it, and what it changes about marks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.errors import GraderError, SetupError, SpecError
from grader.integrations.nbgrader.assignment import CourseConfig
from grader.integrations.nbgrader.course import (
    interpret_settings,
    load_course,
    parse_json,
    parse_python,
    require_usual_regions,
)
from grader.integrations.nbgrader.grading import _choose_limits
from grader.integrations.nbgrader.source import load_assignment
from grader.model import Limits
from tests.helpers.nbgrader import a_test, an_answer, sourced

CONFIG = """
import os
# Students and dates are none of our business.
c = get_config()
c.CourseDirectory.course_id = os.environ.get("COURSE", "ml")
c.CourseDirectory.db_students = [dict(id="ada", first_name="Ada")]
here = os.getcwd()
c.Exchange.root = os.path.join(here, "exchange")

c.ClearSolutions.code_stub = {"python": "# TODO\\n"
                              "..."}
c.ClearSolutions.text_stub = "WRITE HERE"
c.ClearSolutions.begin_solution_delimeter = "SOLUTION{"
c.ClearSolutions.end_solution_delimeter = "}SOLUTION"
c.ClearHiddenTests.begin_test_delimeter = "VERBORGEN"
c.NotebookClient.timeout = 5
c.ExecutePreprocessor.timeout = 60
c.IgnorePattern.enabled = False
"""


def config(text: str) -> CourseConfig:
    return interpret_settings(parse_python(text, "nbgrader_config.py"))


def test_settings_that_affect_marks_are_read() -> None:
    assert config(CONFIG) == CourseConfig(
        code_stub="# TODO\n...",
        text_stub="WRITE HERE",
        solution=("SOLUTION{", "}SOLUTION"),
        hidden=("VERBORGEN", "END HIDDEN TESTS"),
        cell_seconds=60.0,
    )
    assert config("c.ClearSolutions.code_stub = dict(python='pass')").code_stub == "pass"
    assert config("c.ClearSolutions.code_stub = 'pass'").code_stub == "pass"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", 30.0),
        ("c.ExecutePreprocessor.timeout = 60\nc.Execute.timeout = 7", 7.0),
        ("c.Execute.timeout = 7\nc.ExecutePreprocessor.timeout = 60", 7.0),
        ("c.Execute.timeout = None", None),
        ("c.Execute.timeout = -1", None),
        ("c.Execute.timeout = 5\nc.Execute.timeout = 9", 9.0),
    ],
)
def test_the_most_specific_class_decides_about_time(text: str, seconds: float | None) -> None:
    assert config(text).cell_seconds == seconds


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("c.Execute.timeout = 6 * 60", "1:1", "have to be computed"),
        ("t = 60\nc.Execute.timeout = t", "2:1", "have to be computed"),
        ("\nif True:\n    c.Execute.timeout = 60", "2:1", "may change settings"),
        ("e = c.Execute\ne.timeout = 60", "1:1", "may change settings"),
        ("load_subconfig('more.py')", "1:1", "may change settings"),
        ("c.Execute.update({'timeout': 60})", "1:1", "may change settings"),
        ("c['Execute'].timeout = 60", "1:1", "may change settings"),
        ("c.Execute.timeout = '60'", "1:1", "not seconds"),
        ("c.ClearSolutions.code_stub = {'R': 'fail()'}", "1:1", "not a text"),
        ("c.ClearSolutions.begin_solution_delimeter = ''", "1:1", "not empty"),
        ("c.IgnorePattern.enabled = True", "1:1", "not supported here"),
        ("c.ClearSolutions.enabled = False", "1:1", "always runs"),
        ("c.Execute.timeout_func = lambda cell: 5", "1:1", "have to be computed"),
        ("c.Autograde.autograde_preprocessors = ['x.Y']", "1:1", "not supported here"),
        ("c.Execute.timeout = (", "1:21", "not Python"),
    ],
)
def test_what_can_not_be_applied_is_refused_with_its_place(
    text: str, place: str, said: str
) -> None:
    with pytest.raises(SpecError) as caught:
        config(text)
    assert str(caught.value).startswith(f"nbgrader_config.py:{place}: ")
    assert said in caught.value.what
    assert caught.value.fix


def test_what_may_differ_is_noted() -> None:
    text = (
        "c.LateSubmissionPlugin.penalty_method = 'zero'\nc.OverwriteCells.add_missing_cells = True"
    )
    first, second = interpret_settings(parse_python(text, "c.py")).notes
    assert "late penalties are not supported (c.py:1:1)" in first
    assert "waits for a person (c.py:2:1)" in second
    assert not interpret_settings(parse_python("c.IncludeHeaderFooter.header = ''", "c.py")).notes


def test_json_has_the_last_word(tmp_path: Path) -> None:
    (tmp_path / "nbgrader_config.py").write_text(CONFIG, "utf-8")
    data = {"Execute": {"timeout": 90}, "ClearSolutions": {"text_stub": "HERE"}}
    (tmp_path / "nbgrader_config.json").write_text(json.dumps(data), "utf-8")
    (tmp_path / "source" / "ps1").mkdir(parents=True)
    found = load_course(tmp_path / "source" / "ps1")
    assert (found.cell_seconds, found.text_stub, found.code_stub) == (90.0, "HERE", "# TODO\n...")
    with pytest.raises(SpecError, match="not JSON") as caught:
        parse_json('{"Execute":\n {"timeout": }}', "n.json")
    assert "n.json:2:14" in str(caught.value)


def test_cells_are_cleared_as_the_course_says(tmp_path: Path) -> None:
    (tmp_path / "nbgrader_config.py").write_text(CONFIG, "utf-8")
    answer = "def f():\n    # SOLUTION{\n    return 1\n    # }SOLUTION"
    source = sourced(tmp_path, an_answer(answer), a_test("assert f() == 1"))
    found = load_assignment(source)
    assert found.notebooks[0].cells[0].source == "def f():\n    # TODO\n    ..."
    assert load_assignment(source / "p1.ipynb").notebooks == found.notebooks
    assert _choose_limits(found, Limits(), None).cell_seconds == 60
    assert _choose_limits(found, Limits(), 12.0).cell_seconds == 12  # the command line decides


def test_a_course_without_a_limit_has_that_of_the_notebook(tmp_path: Path) -> None:
    source = sourced(tmp_path, a_test("pass"))
    file = tmp_path / "nbgrader_config.py"
    file.write_text("c.Execute.timeout = None", "utf-8")
    assert _choose_limits(load_assignment(source), Limits(), None).cell_seconds == 600
    file.write_text("c.Execute.timeout = 3600", "utf-8")
    limits = _choose_limits(load_assignment(source), Limits(), None)
    assert (limits.cell_seconds, limits.notebook_seconds) == (3600, 3600)


def test_no_export_goes_where_its_solutions_would_stay(tmp_path: Path) -> None:
    require_usual_regions(tmp_path)
    (tmp_path / "nbgrader_config.py").write_text(CONFIG, "utf-8")
    with pytest.raises(SetupError, match=r"SOLUTION\{"):
        require_usual_regions(tmp_path)


def test_a_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "nbgrader_config.py").write_bytes(b"\xff\xfe")
    with pytest.raises(GraderError, match="not UTF-8"):
        load_course(tmp_path)
