"""GitHub Classroom's formats, read as its reporter and its older action read them."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader.errors import SetupError
from grader.integrations.exporting import export_students
from grader.integrations.github.actions import step_outputs
from grader.integrations.github.results import (
    MOST,
    GitHub,
    Runner,
    export_notes,
    reporter_files,
    reporter_outputs,
    runners,
    split_into_tests,
)
from grader.model import Verdict
from grader.model.exported import Result
from grader.model.result import Standing
from tests.helpers.export import (
    a_hostile_result,
    a_mixed_result,
    a_problem,
    a_result,
    an_empty_result,
    an_open_result,
    hostile,
    is_command,
    lines_of,
)
from tests.helpers.report import a_part


class Read:
    """What the reporter makes of runners: by its published source, in the two ways it counts."""

    def __init__(self, found: tuple[Runner, ...]):
        # It looks for a variable by the id in capitals, and decodes base64 and UTF-8.
        given = {one.variable: one.encoded_payload for one in found}
        ids = reporter_outputs(found)["runners"].split(",")
        loaded = [json.loads(base64.b64decode(given[f"{i.strip().upper()}_RESULTS"])) for i in ids]
        self.notified = self.most = self.table = 0.0
        for one in loaded:
            if one["max_score"]:
                self.most += one["max_score"]
                for test in one["tests"]:
                    self.notified += test["score"]
            passed = sum(test["status"] == "pass" for test in one["tests"])
            self.table += passed / len(one["tests"]) * one["max_score"]
        self.failed = any(one["status"] == "fail" for one in loaded)
        self.printed = []
        for one in loaded:
            for test in one["tests"]:
                assert test["line_no"] == 0
                mark = "\u2705" if test["status"] == "pass" else "\u274c"
                self.printed.append(f"{mark} {test['name']}")
                if test["test_code"]:
                    self.printed.append(f"Test code:\n{test['test_code']}\n")


def test_if_everybody_is_left_out_the_error_says_what_helps() -> None:
    with pytest.raises(SetupError) as caught:
        export_students(GitHub(), [an_open_result()])
    assert "--leave-out" in str(caught.value.fix)
    assert "grade submissions first" not in str(caught.value.fix)


def test_the_two_totals_of_the_reporter_are_the_points() -> None:
    read = Read(runners(a_mixed_result()))
    assert (read.notified, read.table, read.most, read.failed) == (4.25, 4.25, 8, True)


def test_full_marks_pass() -> None:
    read = Read(runners(a_result(a_problem(1, a_part("q1_size")))))
    assert (read.notified, read.table, read.failed) == (2, 2, False)


_shares = st.sampled_from([0, 1, 0.5, 0.25, 1 / 3, 2 / 3, 0.1, 0.3, 0.7, 0.125, 0.05, 5 / 6])
_parts = st.lists(
    st.tuples(st.sampled_from([0.5, 1, 2, 3, 4, 10]), _shares), min_size=1, max_size=4
)


@pytest.mark.thorough
@given(st.lists(_parts, min_size=1, max_size=6))
def test_the_totals_agree_whatever_the_points_are(exam: list[list[tuple[float, float]]]) -> None:
    result = a_result(
        *(
            a_problem(
                number,
                *(
                    a_part(f"q{number}_p{i}", points=round(most * share, 6), max_points=most)
                    for i, (most, share) in enumerate(parts)
                ),
            )
            for number, parts in enumerate(exam, start=1)
        )
    )
    read = Read(runners(result))
    assert read.notified == pytest.approx(read.table, abs=1e-9)
    assert read.most == pytest.approx(result.feedback.max_score)
    off = sum(split_into_tests(p.parts).exact is False for p in result.feedback.problems)
    assert len(export_notes(result)) == off
    biggest = max(p.max_points for p in result.feedback.problems)
    assert read.notified == pytest.approx(result.feedback.score, abs=1e-5 + off * biggest / MOST)


def test_tenths_are_added_up_to_what_people_write() -> None:
    parts = [a_part(f"q1_p{i}", points=0.7, max_points=1.0) for i in range(3)]
    read = Read(runners(a_result(a_problem(1, *parts), a_problem(2, *parts))))
    assert read.notified == 4.2


def test_points_that_no_tests_can_hold_are_rounded_and_said() -> None:
    part = a_part("q1_size", points=1.2345, max_points=2.0)
    result = a_result(a_problem(1, part))
    [note] = export_notes(result)
    assert "1.2345" in note
    assert "1.233333" in note
    assert Read(runners(result)).notified == pytest.approx(1.2345, abs=2 / MOST)


@pytest.mark.parametrize("points", [1.9999, 0.0001])
def test_rounding_makes_neither_everything_nor_nothing(points: float) -> None:
    made = split_into_tests([a_part("q1_size", points=points)])
    assert made is not None
    assert not made.exact
    assert 0 < made.points < 2


def test_open_parts_are_refused_or_left_out_of_both_totals() -> None:
    with pytest.raises(SetupError, match="1 part"):
        runners(an_open_result())
    read = Read(runners(an_open_result(), leave_out=True))
    assert (read.notified, read.table, read.most) == (2, 2, 2)
    assert "q1_why" in export_notes(an_open_result(), leave_out=True)[0]


def test_an_earlier_submission_s_points_are_refused_or_said_to_be_that() -> None:
    waiting = a_mixed_result(standing=Standing.WAITING, complete=False)
    with pytest.raises(SetupError, match="newer submission"):
        runners(waiting)
    assert "the latest is not graded yet" in export_notes(waiting, leave_out=True)[0]


def test_who_handed_in_nothing_has_no_file() -> None:
    with pytest.raises(SetupError, match="no submission"):
        reporter_files(an_empty_result())


def test_a_problem_without_points_is_not_sent() -> None:
    # The reporter would divide by its number of tests, which is zero.
    result = a_result(a_problem(1, a_part("q1_size", points=0.0, max_points=0.0)))
    assert runners(result) == ()
    assert "q1" in export_notes(result)[0]


def test_ids_are_what_the_reporter_takes() -> None:
    found = runners(a_mixed_result())
    assert re.fullmatch(r"([a-zA-Z0-9]+,)*[a-zA-Z0-9]+", reporter_outputs(found)["runners"])


def test_a_payload_fits_into_a_variable() -> None:
    parts = [
        a_part(f"q1_p{i}", why="a" * 900, points=0.0, verdict=Verdict.INCORRECT) for i in range(180)
    ]
    [runner] = runners(a_result(a_problem(1, *parts)))
    assert Read((runner,)).notified == 0
    assert len(f"{runner.variable}={runner.encoded_payload}") < 128 * 1024


def test_a_refusal_is_told() -> None:
    read = Read(runners(a_mixed_result(refusal="the file is a PDF")))
    assert any("the file is a PDF" in row for row in read.printed)


@given(hostile)
@example("x\n::error::y")
@example("x\r  ::error::y")
def test_nothing_that_the_reporter_prints_is_a_command(text: str) -> None:
    read = Read(runners(a_hostile_result(text)))
    for printed in read.printed:
        assert not any(is_command(line) for line in lines_of(printed))
    assert read.notified == 0.5


@given(hostile)
def test_the_outputs_are_read_back_from_the_step_s_file(text: str) -> None:
    wanted = reporter_outputs(runners(a_hostile_result(text)))
    written = step_outputs(wanted)
    assert dict(line.split("=", 1) for line in written.splitlines()) == wanted


def test_the_files_hold_what_the_outputs_do() -> None:
    files = reporter_files(a_mixed_result()).files
    assert list(files) == ["q1.json", "q2.json", "outputs.json"]
    sent = json.loads(files["outputs.json"])
    assert json.loads(base64.b64decode(sent["q1"])) == json.loads(files["q1.json"])["payload"]


def test_the_payload_of_a_problem(golden) -> None:
    golden("github-q1.json", reporter_files(a_mixed_result()).files["q1.json"].decode())


# The reporter itself is not ours to keep here: name a checkout's dist/main.js to run it.
REPORTER = os.environ.get("GRADER_REPORTER", "")
reporter = pytest.mark.skipif(
    not (REPORTER and Path(REPORTER).exists() and shutil.which("node")),
    reason="GRADER_REPORTER does not name autograding-grading-reporter's dist/main.js, or no node",
)


def reported(result: Result) -> tuple[float, float, subprocess.CompletedProcess[str]]:
    """The reporter's two totals, and all that it said."""
    found = runners(result)
    environment = {
        "PATH": os.environ["PATH"],
        "INPUT_RUNNERS": reporter_outputs(found)["runners"],
        **{one.variable: one.encoded_payload for one in found},
    }
    done = subprocess.run(["node", REPORTER], env=environment, capture_output=True, text=True)
    plain = re.sub(r"\x1b\[\d*m", "", done.stdout)
    notice = re.search(r"Autograding report::(\{.*\})", plain)
    row = re.search(r"Total: *\u2502 *([0-9.]+)", plain)
    assert notice, done.stdout + done.stderr
    assert row
    return float(row[1]), json.loads(notice[1])["totalPoints"], done


@reporter
def test_the_real_reporter_reads_the_points_in_both_totals() -> None:
    table, notified, done = reported(a_mixed_result())
    assert (table, notified) == (4.25, 4.25)
    assert done.returncode == 1  # "Some tests failed."
    assert reported(a_result(a_problem(1, a_part("q1_size"))))[2].returncode == 0


@reporter
@pytest.mark.parametrize("text", ["x\n::error::forged", "##[error]forged", "\x1b[2J", "é\u2028::"])
def test_the_real_reporter_prints_no_command_of_a_student(text: str) -> None:
    _, _, done = reported(a_hostile_result(text))
    ours = [
        line for line in lines_of(done.stdout)
        if not line.startswith(("::notice title=Autograding", "::error::Some tests failed"))
    ]  # fmt: skip
    assert not any(is_command(line) for line in ours)
