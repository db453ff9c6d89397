"""Inputs that people break in practice: each error says what is wrong, where, and what to do."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from grader.cli import main
from tests.helpers.banks import SPEC, a_bank, a_roster
from tests.helpers.commands import fails, ok, run
from tests.helpers.desk import Reader
from tests.helpers.kernels import until


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bank, a roster, a release, and results without submissions."""
    home = tmp_path_factory.mktemp("broken")
    bank = a_bank(home / "bank")
    ok("render", "quiz", "--roster", a_roster(home), "--out", home / "release", "--bank", bank)
    (home / "in").mkdir()
    (home / "in" / "notes.txt").write_text("hello")
    ok("grade", home / "in", "--release", home / "release", "--out", home / "out", "--bank", bank)
    return home


def usage_error(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    text = fails(capsys, *arguments)
    assert text.startswith("Usage: ")
    return text.splitlines()[-1]


def test_a_required_option_of_an_export_is_missed(home, capsys):
    table = home / "Grades.csv"
    table.write_text("Student,ID,Midterm\n")
    said = usage_error(capsys, "export", "canvas", home / "out", "--gradebook", table)
    assert said == "Error: Missing option '--column'."


@pytest.mark.parametrize(
    ("option", "value", "wrong"),
    [
        ("--cell-seconds", "abc", "number"),
        ("--cell-seconds", "nan", "number"),
        ("--cell-seconds", "inf", "number"),
        ("--jobs", "1.5", "whole number"),
    ],
)
def test_a_number_that_is_none_is_named(home, capsys, option, value, wrong):
    said = usage_error(capsys, "grade", home / "in", "--out", home / "out", option, value)
    assert said == f"Error: Invalid value for '{option}': '{value}' is not a valid {wrong}."


def test_practice_for_no_time_is_refused(capsys):
    said = usage_error(capsys, "practice", "--minutes", "0")
    assert said.endswith("Invalid value for '--minutes': 0.0 is not in the range 0.1<=x<=10000.")


def test_a_number_of_an_option_without_limits_is_finite(capsys):
    said = usage_error(capsys, "course", "grant", "ada", "--time", "inf")
    assert said == "Error: Invalid value for '--time': 'inf' is not a valid number."


def test_an_exception_for_an_unknown_student_is_a_warning(home, tmp_path):
    course = tmp_path / "course.yaml"
    course.write_text(
        "id: c\nsets: {quiz: {due: 2026-11-02, release: " + str(home / "release") + "}}\n"
    )
    about = ("--until", "2026-11-09", "--why", "x", "--by", "kim", "--course", course)
    assert "warning" not in ok("course", "grant", "ada", "--set", "quiz", *about).stderr
    said = ok("course", "grant", "adda", "--set", "quiz", *about).stderr
    assert "warning: an exception names 'adda', who is not in the release of 'quiz'" in said
    assert "'ada'" in said


@pytest.mark.parametrize("command", [("desk", "out"), ("practice",)])
def test_a_port_in_use_is_an_error_before_a_link_is_printed(home, capsys, command):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        places = [home / one if one == "out" else one for one in command]
        with pytest.raises(SystemExit) as stop:
            main([*map(str, places), "--port", str(port)])
    said = capsys.readouterr()
    assert (stop.value.code, said.out) == (2, "")
    assert said.err.startswith(f"grader:\ncan't listen on port {port} of 127.0.0.1: address alre")
    assert "fix: choose another port with --port" in said.err


def test_a_mark_without_a_student_is_not_taken_for_the_list(home, capsys):
    said = usage_error(capsys, "mark", home / "out", "--answer", "q1_state", "--points", "1")
    assert said == "Error: To mark an answer, add --student ID."


def test_notebooks_are_not_replaced_if_their_release_is_lost(home, tmp_path, capsys):
    release = shutil.copytree(home / "release", tmp_path / "release")
    (release / "release.json").unlink()
    before = (release / "notebooks" / "ada.ipynb").read_bytes()
    again = ("render", "quiz", "--roster", home / "roster.csv", "--out", release)
    said = fails(capsys, *again, "--bank", home / "bank")
    assert "restore release.json from a backup" in said
    assert (release / "notebooks" / "ada.ipynb").read_bytes() == before


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "release.json: the file is empty"),
        ('{\n  "schema": x', "release.json:2:13: this is not JSON"),
        ("[]", "release.json: this is not a release"),
        ('{"schema": "systems-grader/release/v9"}', "in the format systems-grader/release/v9"),
    ],
)
def test_a_release_that_can_not_be_used_says_why(home, tmp_path, capsys, text, what):
    (tmp_path / "release.json").write_text(text)
    said = fails(capsys, "key", tmp_path, "--student", "ada")
    assert what in said


@pytest.mark.parametrize(
    ("options", "what", "fix"),
    [
        ({"--sandbox": "requird"}, "'requird' is not a mode of --sandbox", "'required'?"),
        ({"--sandbox": "mine"}, "'mine' is not a mode of --sandbox", "the name of a plug-in's"),
        ({"--sandbox": "required:netwrk"}, "'netwrk' is not a sandbox layer", "'network'?"),
        ({"--pack": "x.pack"}, "--release and --pack can't be used together", "use one of them"),
    ],
)
def test_options_with_a_typo_name_what_was_meant(home, capsys, options, what, fix):
    given = [word for pair in options.items() for word in pair]
    grade = ("grade", home / "in", "--release", home / "release", "--out", home / "new")
    said = fails(capsys, *grade, *given)
    assert what in said
    assert fix in said


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"PK\x03\x04", "roster.csv: the roster is a spreadsheet, not CSV"),
        ("id\nada".encode("utf-16"), "roster.csv: the roster is UTF-16"),
        (b"id,name\nada,J\xfcrgen\n", "roster.csv:2: the roster is not UTF-8"),
    ],
)
def test_a_roster_in_another_format_says_how_to_save_it(home, tmp_path, capsys, data, what):
    (tmp_path / "roster.csv").write_bytes(data)
    render = ("render", "quiz", "--roster", tmp_path / "roster.csv", "--out", tmp_path / "out")
    said = fails(capsys, *render, "--bank", home / "bank")
    assert what in said
    assert "'CSV UTF-8'" in said
    assert not (tmp_path / "out").exists()


def test_a_notebook_of_another_exam_is_a_warning(home, tmp_path):
    bank = home / "bank"
    ok("render", "quiz", "--student", "ada", "--out", tmp_path / "other", "--bank", bank)
    given = ("--release", home / "release", "--out", tmp_path / "out", "--bank", bank)
    done = run("grade", tmp_path / "other" / "notebooks", *given)
    assert "warning: ada.ipynb: the notebook is from another release" in done.stderr


def test_scores_without_evidence_are_a_failure(home, tmp_path):
    ok("grade", home / "release" / "notebooks", "--release", home / "release",
       "--out", tmp_path / "out", "--bank", home / "bank")  # fmt: skip
    shutil.rmtree(tmp_path / "out" / "evidence")
    done = run("score", tmp_path / "out", "--bank", home / "bank", "--json")
    assert json.loads(done.stdout)["skipped"]
    assert done.return_value == 1


def test_a_time_zone_with_a_typo_names_the_right_one(tmp_path, capsys):
    (tmp_path / "course.yaml").write_text("id: mls\ntime_zone: America/NewYork\n")
    said = fails(capsys, "course", "check", "--course", tmp_path / "course.yaml")
    assert "course.yaml:2:12: there is no time zone 'America/NewYork'" in said
    assert "did you mean 'America/New_York'?" in said


def test_an_exception_for_an_unknown_student_is_found(home, tmp_path):
    course = tmp_path / "course.yaml"
    shutil.copytree(home / "release", tmp_path / "release")
    course.write_text(
        "id: mls\nsets:\n  quiz: {due: 2026-10-05, release: release}\n"
        "grants:\n  - {student: adda, set: quiz, until: 2026-10-07, why: ill, by: kim}\n"
    )
    done = run("course", "check", "--course", course)
    assert done.return_value == 1
    said = (
        "warning: an exception names 'adda', who is not in the release of 'quiz'; "
        "did you mean 'ada'?\n"
    )
    assert done.stderr == said
    scored = run("score", home / "out", "--course", course, "--dry-run", "--bank", home / "bank")
    assert said in scored.stderr


def test_an_emptied_gradebook_is_not_a_class_without_answers(home, tmp_path, capsys):
    results = shutil.copytree(home / "out", tmp_path / "out")
    for file in results.glob("gradebook.sqlite*"):
        file.unlink()
    (results / "gradebook.sqlite").touch()
    for command in ("mark", "audit", "report"):
        assert "the gradebook is empty" in fails(capsys, command, results)


@pytest.mark.parametrize("kept", ["roster.csv", "release"])
def test_the_demo_replaces_nothing_of_a_class(home, tmp_path, capsys, kept):
    out = tmp_path / "class"
    shutil.copytree(home / "release", out / "release")
    shutil.copytree(home / "out", out / "results")
    if kept == "roster.csv":
        shutil.copy(home / "roster.csv", out / kept)
    before = sorted(out.rglob("*"))
    said = fails(capsys, "demo", "--out", out)
    assert f"class: the demo would replace '{kept}', which it did not make" in said
    assert sorted(out.rglob("*")) == before


@pytest.mark.parametrize("out", ["roster.csv", "roster.csv/release"])
def test_a_file_where_a_folder_should_be_is_called_that(home, capsys, out):
    render = ("render", "quiz", "--roster", home / "roster.csv", "--bank", home / "bank")
    said = fails(capsys, *render, "--out", home / out)
    assert "a file is where a folder should be" in said


@pytest.mark.parametrize(
    ("option", "value", "what"),
    [
        ("--name", "bad host", "'bad host' is not a hostname"),
        ("--proxy", "nonsense", "'nonsense' is not the address of a proxy"),
    ],
)
def test_the_desk_refuses_hosts_that_no_browser_can_reach(home, capsys, option, value, what):
    assert what in fails(capsys, "desk", home / "out", option, value)


@pytest.mark.thorough
def test_the_desk_opens_at_an_ipv6_address(home):
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            pass
    except OSError:
        pytest.skip("there is no IPv6 here")
    command = [sys.executable, "-m", "grader", "desk", str(home / "out"), "--host", "::1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as desk:
        try:
            link = desk.stdout.readline().strip()
            assert link.startswith("http://[::1]:")
            assert until(lambda: opens(link), 30)
        finally:
            desk.terminate()


def opens(link: str) -> bool:
    address, _, path = link.partition("/enter")
    try:
        return Reader(address).get("/enter" + path)[0] == 200
    except OSError:
        return False  # the server has not started yet


@pytest.mark.parametrize("option", [("--only", "deferred"), ("--names", "names.csv")])
def test_options_of_exams_are_refused_for_nbgrader(tmp_path, capsys, option):
    command = ("grade", tmp_path, "--format", "nbgrader", "--source", tmp_path, "--out", tmp_path)
    said = usage_error(capsys, *command, *option)
    assert said == f"Error: {option[0]} can't be used with --format nbgrader."


def test_a_family_is_not_ignored_in_the_list_of_sets(capsys):
    said = usage_error(capsys, "list", "--sets", "--family", "numerics")
    assert said == "Error: --family can't be used with --sets."


def test_results_whose_release_was_moved_say_how_to_go_on(home, tmp_path, capsys):
    results = shutil.copytree(home / "out", tmp_path / "elsewhere" / "out")
    said = fails(capsys, "report", results)
    assert "release.json: the release of these results is not here" in said
    assert "run `grader grade` with its new place: --release FILE" in said


def test_a_name_that_is_defined_elsewhere_says_how_to_use_it(tmp_path):
    more = "  - {id: twice, kind: numeric, ask: 'Twice?', points: 1, unit: GB, answer: 2 * share}\n"
    text = SPEC.replace("explanation: |", more + "explanation: |")
    said = run("verify", "sample", "--bank", a_bank(tmp_path / "bank", text)).stdout
    assert "'share' can't be used in '2 * share'" in said
    assert "fix: add it to 'uses:' of the part 'twice'" in said


PRINTED = {
    "prompt": ("{{ billions }} billion", "{{ billions / (gpus - gpus) }} billion", "prompt: |"),
    "assumptions": ("2 bytes a parameter.", "{{ 2 / (gpus - gpus) }} bytes.", "Weights are bf16"),
    "given": ("prompt: |", "given: {half: 1 / (gpus - gpus)}\nprompt: |", "given:"),
    "ask": ("ask: How", "ask: In {{ 1 / (gpus - gpus) }} units, how", "ask: In"),
    "explanation": ("= {{ share", "= {{ 1 / (gpus - gpus) }} {{ share", "explanation: |"),
}


@pytest.mark.parametrize("place", PRINTED)
def test_a_text_that_no_variant_can_fill_in_is_an_error_of_its_author(tmp_path, capsys, place):
    before, after, line = PRINTED[place]
    spec = SPEC.replace(before, after, 1)
    bank = a_bank(tmp_path, spec)
    number = next(n for n, text in enumerate(spec.splitlines(), 1) if line in text)
    for command in (("show", "sample"), ("render", "quiz", "--student", "ada", "--out", bank)):
        said = fails(capsys, *command, "--bank", bank)
        assert f"sample.yaml:{number}:" in said
        assert "division by zero (with billions = " in said
    found = run("verify", "sample", "--bank", bank, "--no-cache").output
    assert f"sample.yaml:{number}:" in found
    assert "a check raised" not in found


def test_an_answer_without_a_value_can_not_be_printed(tmp_path, capsys):
    why = "  - {id: why, kind: explanation, ask: Why?}\n"
    spec = SPEC.replace("explanation: |\n", f"{why}explanation: |\n  Because of {{{{ why }}}}.\n")
    said = fails(capsys, "show", "sample", "--bank", a_bank(tmp_path, spec))
    assert "the answer of part 'why' can't be printed: it is of kind explanation" in said
