"""Strict loading: everything that is wrong is named with file, line, column and what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.bank.folders import Bank
from grader.bank.problem import load_problem, problem_from
from grader.bank.schema import json_schema
from grader.bank.yaml12 import parse_yaml, scalar
from grader.errors import GraderError, Location, SetupError, SpecError, SpecErrors
from grader.model import Student
from grader.release.file import add_students_to, load_release, new_release, release_bytes
from grader.release.roster import load_roster
from tests.helpers.banks import SET, SPEC, a_bank
from tests.helpers.figures import ASKED


def errors_of(text: str) -> list[SpecError]:
    with pytest.raises(SpecErrors) as caught:
        problem_from(parse_yaml(text.encode(), "sample.yaml"))
    return list(caught.value.errors)


def only_error(text: str) -> SpecError:
    errors = errors_of(text)
    assert len(errors) == 1, [str(e) for e in errors]
    return errors[0]


def line_of(text: str, fragment: str) -> int:
    return next(i for i, line in enumerate(text.splitlines(), 1) if fragment in line)


# --- YAML 1.2


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3e8", 3e8),
        ("1e3", 1000.0),
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("12:30", "12:30"),
        ("0o17", 15),
        ("0x1F", 31),
        ("017", 17),
        ("1_000", "1_000"),
        ("true", True),
        ("~", None),
        (".5", 0.5),
        ("2026-11-01", "2026-11-01"),
        ("1%", "1%"),
    ],
)
def test_plain_scalars_mean_what_yaml_1_2_says(text: str, value: object) -> None:
    seen = scalar(text)
    assert seen == value
    assert type(seen) is type(value)


def test_quoted_numbers_stay_text() -> None:
    assert parse_yaml(b"a: '3e8'", "f").data == {"a": "3e8"}


@pytest.mark.parametrize(
    ("text", "what", "line"),
    [
        ("a: 1\na: 2", "duplicate key 'a'", 2),
        ("a: 1\nb: &x [1]\nc: *x", "anchors and aliases", 2),
        ("a: 1\nb: !!python/object:os.system x", "unknown tag", 2),
        ("a: 1\n---\nb: 2", "a second document", 2),
        ("a: [" * 60, "nested more than", 1),
        ("a: 1\n\tb: 2", "not YAML", 2),
        ("a: b: c", "not YAML", 1),
        ("a: 1\n? [x, y]\n: 2", "a key must be text", 2),
        ("a: 1\nb:2\nc: 3", "could not find expected ':'", 2),
    ],
)
def test_yaml_that_is_not_used_here_is_refused_with_its_line(
    text: str, what: str, line: int
) -> None:
    with pytest.raises(SpecError) as caught:
        parse_yaml(text.encode(), "f.yaml")
    assert what in caught.value.what
    assert isinstance(caught.value.where, Location)
    assert caught.value.where.line == line
    assert caught.value.fix


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("a: 1\nb:2\nc: 3", "a space after the colon"),
        ("a: 1\n<<<<<<< HEAD\nb: 2\n=======", "resolve the merge conflict"),
        ('a: 1\nb: "x\nc: |\n  $2 \\cdot x$', "close the quote opened in line 2"),
        ("a: 1\nb: [x, y\nc: 2", "close the bracket opened in line 2"),
        ("a: 1\nb: {x: 1\nc: 2", "close the bracket opened in line 2"),
        ("a:\n  - b: 1\n   \u00a0c: 2", "no-break spaces"),
    ],
)
def test_a_slip_that_the_parser_notices_later_is_named_where_it_is(text: str, fix: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_yaml(text.encode(), "f.yaml")
    assert fix in (caught.value.fix or "")


@pytest.mark.parametrize(
    ("parts", "seen"), [("", "nothing"), (" []", "an empty list"), (" {}", "keys and values")]
)
def test_a_problem_without_parts_is_an_error(parts: str, seen: str) -> None:
    text = SPEC[: SPEC.index("parts:")] + f"parts:{parts}\n"
    assert only_error(text).what == f"'parts' should be a list of parts, saw {seen}"


def test_an_unknown_name_is_found_on_its_line_of_a_block_and_at_the_start_of_other_texts() -> None:
    old = "explanation: |\n"
    wrong = "  First {{ gpus }}.\n\n  Then {{ wieghts }} and {{ wieghts }}.\n"
    for style, line in (("|", "Then"), (">", "explanation")):
        text = SPEC.replace(old, f"explanation: {style}\n{wrong}")
        error = only_error(text)
        assert isinstance(error.where, Location)
        assert error.where.line == line_of(text, line)


def test_an_id_that_is_no_name_is_one_error() -> None:
    text = SPEC.replace("id: bound", "id: the-bound")
    assert "is not a valid id of a part" in only_error(text).what


def test_a_file_that_is_not_utf_8_is_refused_with_its_line() -> None:
    with pytest.raises(SpecError, match="0xff is not UTF-8") as caught:
        parse_yaml(b"a: 1\nb: \xff", "f.yaml")
    assert str(caught.value.where) == "f.yaml:2"


def test_deep_nesting_is_refused_at_once() -> None:
    with pytest.raises(SpecError, match="nested more than"):
        parse_yaml(b"[" * 500_000, "f.yaml")


@given(st.binary(max_size=300))
def test_no_bytes_make_the_loader_fail_in_any_other_way(raw: bytes) -> None:
    try:
        problem_from(parse_yaml(raw, "f.yaml"))
    except GraderError as error:
        assert error.where is not None or isinstance(error, SpecErrors)


@given(st.data())
def test_a_spec_with_a_stretch_cut_out_loads_or_says_why(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(SPEC)))
    length = data.draw(st.integers(0, 40))
    try:
        problem_from(parse_yaml((SPEC[:start] + SPEC[start + length :]).encode(), "f.yaml"))
    except GraderError as error:
        assert str(error)


# --- Problems


def test_a_sound_spec_loads() -> None:
    problem = problem_from(parse_yaml(SPEC.encode(), "sample.yaml"))
    assert [p.id for p in problem.parts] == ["share", "bound"]


@pytest.mark.parametrize(
    ("old", "new", "what", "fix", "at"),
    [
        ("tolerance:", "toleranse:", "unknown key 'toleranse'", "'tolerance'", "toleranse"),
        ("relative: 1%", "relativ: 1%", "unknown key 'relativ'", "'relative'", "relativ"),
        ("kind: numeric", "kind: numerc", "kind 'numerc' does not exist", "'numeric'", "numerc"),
        ("family: memory-math", "family: memory", "'family' can't be", "'memory-math'", "family"),
        ("minutes: 4", "minutes: four", "should be a number", "", "minutes"),
        ("unit: GB", "unit: GBs", "GBs", "", "unit: GBs"),
        ("answer: weights", "answer: wieghts", "unknown name 'wieghts'", "'weights'", "wieghts"),
        ("{{ gpus }} GPUs.", "{{ gpu }} GPUs.", "unknown name 'gpu'", "'gpus'", "{{ gpu }}"),
        ("credit: 25%", "credit: lots", "a share such as 25%", "", "credit"),
        ("points: 2", "points: 0", "can't be worth 0 points", "", "points: 0"),
        ("  gpus: {choice", "  GB: {choice", "'GB' is already a unit", "another name", "GB: {"),
        ("id: share", "id: Share", "is not a valid id of a part", "", "id: Share"),
        ("id: share", f"id: {'x' * 51}", "is not a valid id of a part", "up to 50", "id: xx"),
        ("choice: [8, 16, 32]", "integer: [8, 4]", "is reversed: 8 to 4", "", "gpus:"),
        ("choice: [8, 16, 32]", "real: [8, 16]", "has no step", "", "gpus:"),
        ("choice: [8, 16, 32]", "integer: [8, 16], step: 0.5", "not a whole", "'real:'", "gpus:"),
        ("[8, 16, 32]}", '[8], unit: "%"}', "can't be in percent", "| percent", "gpus:"),
        ("minutes: 4", "minutes: -4", "can't take -4 minutes", "", "minutes"),
        ("{relative: 1%}", "1%", "should be keys and values", "{relative: 1%}", "tolerance"),
        ("{relative: 1%}", "{absolute: 3 GB}", "can't read", "3 * GB", "tolerance"),
        ("{relative: 1%}", "{factor: 0.5}", "only the key", "greater than 1", "tolerance"),
        ("{id: fp8, text", "{id: fp32, text", "have the id 'fp32'", "rename", "8-bit"),
        ("title: Weights", "titel: Weights", "unknown key 'titel'", "'title'", "titel"),
    ],
)  # fmt: skip
def test_each_slip_of_an_author_is_named_at_its_line(
    old: str, new: str, what: str, fix: str, at: str
) -> None:
    text = SPEC.replace(old, new, 1)
    assert text != SPEC
    found = [e for e in errors_of(text) if what in e.what]
    assert found, [str(e) for e in errors_of(text)]
    error = found[0]
    assert fix in (error.fix or "")
    assert isinstance(error.where, Location)
    assert error.where.line == line_of(text, at)
    assert error.where.column is not None or "{{" in at


PLAN = """\
  - id: layout
    kind: plan
    ask: Choose a layout.
    choose:
      tp: [1, 2, 4]
      mode: [none, full]
    values: {memory: 100 / tp}
    require: [{id: fits, that: memory <= 30, feedback: It does not fit.}]
    cost: tp
explanation:"""
TABLE = """\
  - id: days
    kind: table
    ask: Fill in.
    row: n
    rows: [1, 2]
    columns: [{id: hours, title: hours, answer: 24 * n}]
explanation:"""


@pytest.mark.parametrize(
    ("added", "old", "new", "what"),
    [
        (PLAN, "{memory: 100", "{share: 100", "the name 'share' is already used"),
        (PLAN, "{memory: 100", "{weights: 100", "the name 'weights' is already used"),
        (PLAN, "tp: [1", "memory: [1", "the name 'memory' is already used"),
        (PLAN, "tp: [1", "gpus: [1", "the name 'gpus' is already used"),
        (PLAN, "tp: [1", "GB: [1", "'GB' is already a unit"),
        (TABLE, "row: n", "row: day", "'day' is already a unit"),
        (TABLE, "row: n", "row: gpus", "the name 'gpus' is already used"),
        (TABLE, "row: n", "row: max", "'max' is already a function"),
        (PLAN, "none, full", '"8", full', "offers the text '8', which later parts would misread"),
        (PLAN, "none, full", '"a, b", full', "offers the text 'a, b'"),
        (PLAN, "none, full", '"a = b", full', "offers the text 'a = b'"),
        (PLAN, "none, full", '"True", full', "offers the text 'True'"),
    ],
)
def test_names_and_choices_of_a_part_that_would_be_misread_are_errors(
    added: str, old: str, new: str, what: str
) -> None:
    text = SPEC.replace("explanation:", added)
    problem_from(parse_yaml(text.encode(), "sample.yaml"))
    errors = errors_of(text.replace(old, new))
    assert any(what in error.what for error in errors)
    assert all(isinstance(error.where, Location) and error.where.line for error in errors)


@pytest.mark.parametrize(
    ("answer", "is_direct"),
    [("weights / gpus", True), ("billions * byte", True), ("bound * GB", False), ("(", False)],
)
def test_a_rounded_input_must_occur_in_the_answer_or_in_its_values(
    answer: str, is_direct: bool
) -> None:
    text = SPEC.replace("{relative: 1%}", "{input_rounding: [billions]}")
    text = text.replace("answer: weights / gpus", f"answer: {answer}")
    if is_direct:
        problem_from(parse_yaml(text.encode(), "sample.yaml"))
        return
    words = " ".join(error.what for error in errors_of(text))
    assert ("the rounding of 'billions' has no effect" in words) is (answer != "(")


@pytest.mark.parametrize(
    ("part", "figure", "others"),
    [("figure_flow", "flow", ""), ("figure_a_b", "a-b", ""), ("bound", "a_b", ASKED)],
)
def test_a_figure_and_a_part_whose_cells_would_have_one_id_are_an_error(
    part: str, figure: str, others: str
) -> None:
    text = SPEC.replace("id: bound", f"id: {part}") + ASKED.replace("memory", figure)
    text += others.removeprefix("figures:\n").replace("memory", "a-b")
    assert "rename one" in (only_error(text).fix or "")
    problem_from(parse_yaml(text.replace("show: prompt", "show: explanation").encode(), "f"))
    problem_from(parse_yaml(text.replace(f"id: {figure}", "id: other").encode(), "f"))


def test_a_released_spec_is_not_checked_again() -> None:
    text = SPEC.replace("explanation:", TABLE.replace("row: n", "row: day"))
    assert problem_from(parse_yaml(text.encode(), "sample.yaml"), checked=True).id == "sample"


def test_all_errors_of_a_file_come_at_once_in_the_order_of_its_lines() -> None:
    text = SPEC.replace("minutes: 4", "minutes: x").replace("tolerance:", "toleranse:")
    text = text.replace("points: 1", "points: '1'")
    errors = errors_of(text)
    lines = [e.where.line for e in errors if isinstance(e.where, Location)]
    assert len(errors) == 3
    assert lines == sorted(lines)


def test_what_can_not_be_read_does_not_hide_what_is_wrong_elsewhere() -> None:
    text = SPEC.replace("title:", "titel:").replace("kind: numeric", "kind: numerik")
    text = text.replace("{{ gpus }} GPUs", "{{ gpu }} GPUs").replace("points: 1", "points: x")
    words = " ".join(e.what for e in errors_of(text))
    for one in ("'title' is missing", "'titel'", "'numerik'", "'gpu'", "'points'"):
        assert one in words
    assert len(errors_of(text)) == 5


def test_a_key_that_is_missing_is_named() -> None:
    error = only_error(SPEC.replace("title: Weights of a model on one GPU\n", ""))
    assert error.what == "'title' is missing"


def test_an_answer_of_a_later_part_can_not_be_used() -> None:
    text = SPEC.replace("    points: 2\n", "    points: 2\n    uses: [bound]\n")
    assert "'bound' is not an earlier part" in only_error(text).what


def test_an_answer_can_not_be_printed_in_a_later_ask() -> None:
    text = SPEC.replace("Which number format is it?", "With {{ share }}, which format is it?")
    error = only_error(text)
    assert error.what == "the text of 'ask' can't print the answer 'share'"
    assert "in the problem's 'explanation:'" in str(error.fix)


def test_the_file_name_must_be_the_id(tmp_path: Path) -> None:
    path = tmp_path / "other.yaml"
    path.write_text(SPEC)
    with pytest.raises(SpecErrors, match="not the file name 'other'"):
        load_problem(path)


def test_a_missing_file_is_an_error_without_a_traceback(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="can't read the file"):
        load_problem(tmp_path / "nothing.yaml")


# --- Sets, rosters, banks


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (SET.replace("sample", "sampel"), "there is no problem 'sampel'"),
        (SET + "  - sample\n", "is in this set twice"),
        (SET + "  - {pool: [sample], problem: sample}\n", "either a problem or a pool"),
        (SET.replace("  - sample", "  - {pool: [sample], choose: 2}"), "can't choose 2"),
        (SET.replace("minutes", "minuts"), "unknown key 'minuts'"),
    ],
)
def test_a_set_that_can_not_be_rendered_says_why(text: str, what: str, tmp_path: Path) -> None:
    bank = Bank.open([a_bank(tmp_path, exam=text)])
    with pytest.raises(SpecErrors) as caught:
        bank.exam("quiz")
    assert what in str(caught.value)


def test_a_set_must_have_the_name_of_its_file(tmp_path: Path) -> None:
    bank = Bank.open([a_bank(tmp_path, exam=SET.replace("id: quiz", "id: other"))])
    with pytest.raises(SpecErrors) as caught:
        bank.exam("quiz")
    assert "not the file name 'quiz'" in str(caught.value)


def test_a_named_bank_is_what_is_listed_and_its_sets_may_use_the_packages_problems(
    tmp_path: Path,
) -> None:
    bank = Bank.open([a_bank(tmp_path, exam=SET + "  - kv-cache-size\n")])
    assert bank.listed_problems == ("sample",)
    assert bank.exam("quiz").problem_ids == ("sample", "kv-cache-size")


def test_an_unknown_problem_gets_a_near_miss(tmp_path: Path) -> None:
    bank = Bank.open([a_bank(tmp_path)])
    with pytest.raises(SetupError) as caught:
        bank.problem("sampel")
    assert caught.value.fix == "did you mean 'sample'?"


def test_a_problem_in_place_of_a_set_is_one_error(tmp_path: Path) -> None:
    folder = a_bank(tmp_path)
    file = next(folder.glob("problems/*/sample.yaml"))
    with pytest.raises(SpecErrors) as caught:
        Bank.open([folder]).exam(str(file))
    (error,) = caught.value.errors
    assert error.what == "this file is a problem, and a set is needed"


def test_a_set_takes_more_than_no_time(tmp_path: Path) -> None:
    folder = a_bank(tmp_path, exam="id: quiz\ntitle: A quiz\nminutes: -5\nproblems: [sample]\n")
    with pytest.raises(SpecErrors, match="a set can't take -5 minutes"):
        Bank.open([folder]).exam("quiz")


def test_a_private_bank_hides_a_problem_of_the_same_name(tmp_path: Path) -> None:
    first = a_bank(tmp_path / "one", SPEC.replace("Weights of", "My weights of"))
    second = a_bank(tmp_path / "two")
    assert Bank.open([first, second]).problem("sample").title.startswith("My weights")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "roster.csv:1: the roster is empty"),
        ("id\n", "the roster has no students"),
        ("id,name,id\nada,Ada,a1\n", "two columns are named 'id'"),
        ("id,name\nbo,Bo\nada,Okafor, Ada\n", "roster.csv:3: this row has 3 cells"),
        ('id,name\nada,"Ada\nbo,Bo\n', "not CSV"),
        ("id\nada\nADA\n", "'ada' and 'ADA' differ only in case"),
        ("id\nweiß\nweiss\n", "differ only in case or in the writing of a letter"),
        ("id\nZo\u00eb\nZoe\u0308\n", "look the same"),
        ("id\n../etc\n", "can't be a file name"),
        ("id,name\n,Ada\n", "this row has no id"),
        (f"id\n{'漢' * 90}\n", "can't be a file name"),
        ("studnet,name\nada,Ada\n", "no column 'id'"),
    ],
)
def test_a_roster_that_can_not_be_used_says_why(tmp_path: Path, text: str, what: str) -> None:
    (tmp_path / "roster.csv").write_text(text)
    with pytest.raises(SpecError) as caught:
        load_roster(tmp_path / "roster.csv")
    assert what in str(caught.value)


def test_rosters_come_with_marks_semicolons_and_other_names_for_columns(tmp_path: Path) -> None:
    path = tmp_path / "roster.csv"
    path.write_bytes('\ufeffName;GitHub_Username;Email\n"Ek; Bo";bo;b@x\n\n'.encode())
    assert load_roster(path) == (Student(id="bo", name="Ek; Bo", email="b@x"),)
    path.write_text("id,name,first_name,last_name\nada,,Ada,Okafor\n")
    assert load_roster(path) == (Student(id="ada", name="Ada Okafor"),)


# --- Releases


def a_release(tmp_path: Path, students: tuple[Student, ...] = (Student(id="ada"),)):
    bank = Bank.open([a_bank(tmp_path)])
    return new_release(bank, bank.exam("quiz"), students, b"k" * 32)


def test_a_release_survives_its_file(tmp_path: Path) -> None:
    release = a_release(tmp_path)
    file = tmp_path / "release.json"
    file.write_bytes(release_bytes(release))
    again = load_release(file)
    assert release_bytes(again) == release_bytes(release)
    assert again.problems == release.problems


def test_adding_a_student_keeps_the_release(tmp_path: Path) -> None:
    release = a_release(tmp_path)
    assert add_students_to(release, (Student(id="bo"),)).id == release.id


def test_a_release_that_was_edited_is_refused(tmp_path: Path) -> None:
    data = json.loads(release_bytes(a_release(tmp_path)))
    data["problems"]["sample"]["parts"][0]["points"] = 200
    file = tmp_path / "release.json"
    file.write_text(json.dumps(data))
    with pytest.raises(SetupError, match="was changed after it was made"):
        load_release(file)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "other"}', "\x00"])
def test_a_file_that_is_not_a_release_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "release.json"
    file.write_text(text)
    with pytest.raises(SetupError):
        load_release(file)


# --- The schema for editors


def test_the_schema_knows_every_kind_and_describes_its_fields() -> None:
    schema = json_schema()
    parts = {
        ref["$ref"].split("part-")[1] for ref in schema["properties"]["parts"]["items"]["oneOf"]
    }
    assert {"numeric", "choice", "table", "ordering"} <= parts
    assert "description" in schema["$defs"]["part-numeric"]["properties"]["uses"]
    assert schema["additionalProperties"] is False
