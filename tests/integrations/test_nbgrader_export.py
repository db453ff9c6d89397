"""A set as an assignment of nbgrader: its cells, its hidden tests, and what is refused."""

from __future__ import annotations

import ast
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from grader.cli import grader
from grader.errors import SetupError
from grader.integrations.nbgrader.answer_cells import answer_of, reading_code
from grader.integrations.nbgrader.cells import TEXT_STUB
from grader.integrations.nbgrader.export import Nbgrader, notebook_cells
from grader.integrations.quiz_items import quiz_items
from grader.model import Part
from grader.model.item import (
    ChoiceItem,
    EssayItem,
    Item,
    NumberItem,
    OrderItem,
    PairsItem,
)
from grader.model.quiz import Quiz
from tests.helpers.kinds import (
    PARTS,
    a_choice,
    a_code,
    a_key,
    a_multi_choice,
    a_numeric,
    a_true_false,
    an_explanation,
)
from tests.helpers.quizzes import a_field, a_quiz, an_asked, judged_share, near_a_cut, replies

IDS = [f"{i}-{part.kind}" for i, part in enumerate(PARTS)]
REQUIRED = {"schema_version", "grade", "locked", "solution"}
OPTIONAL = {"task", "grade_id", "points", "checksum", "cell_type"}


def quiz_of(*parts: Part, seed: int = 0) -> Quiz:
    fields = [
        a_field(a_key(part, seed), part=f"p{i}", letter="ab"[i % 2]) for i, part in enumerate(parts)
    ]
    return a_quiz([an_asked(*fields)])


def sources(quiz: Quiz) -> dict[str, str]:
    return {cell.grade_id: cell.source for cell in notebook_cells(quiz)}


def run(source: str, space: dict[str, Any]) -> object:
    """What a cell puts out: the value of its last expression."""
    tree = ast.parse(source)
    last = tree.body[-1]
    if not isinstance(last, ast.Expr):
        exec(compile(tree, "cell", "exec"), space)
        return None
    exec(compile(ast.Module(tree.body[:-1], []), "cell", "exec"), space)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), space)


def earned(cells: dict[str, str], name: str, value: object) -> float:
    """What an answer earns by the cell of tests, run as a kernel would."""
    space: dict[str, Any] = {}
    exec(reading_code(), space)
    space[name] = value
    try:
        points = run(cells[f"{name}-tests"], space)
    except AssertionError:
        return 0.0
    assert isinstance(points, float), "part credit is a bare float"
    return points


def as_typed(items: tuple[Item, ...], given: object) -> object:
    """A neutral answer as a student types it into the exported notebook."""
    first = items[0]
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    match first, given:
        case NumberItem(row=""), (number,):
            return number
        case NumberItem(), tuple():
            rows: dict[str, list[object]] = {}
            for item, number in zip(items, given, strict=True):
                rows.setdefault(item.row, []).append(number)  # type: ignore[union-attr]
            return rows
        case ChoiceItem(several=True), frozenset():
            return [letters[i] for i in sorted(given)]
        case ChoiceItem(), int():
            words = [choice.text for choice in first.choices]
            return given == 0 if words == ["True", "False"] else letters[given]
        case PairsItem(), tuple():
            return {n: letters[i] for n, i in enumerate(given, 1)}
        case OrderItem(), tuple():
            answer = answer_of("q", items)
            right = ast.literal_eval(answer.right)
            return [right[i] for i in given]
    return given


@pytest.mark.thorough
@pytest.mark.parametrize("part", PARTS, ids=IDS)
def test_hidden_tests_give_what_the_judge_of_the_kind_gives(part: Part) -> None:
    for seed in range(2):
        key = a_key(part, seed)
        items = quiz_items(key)
        if not items or isinstance(items[0], EssayItem):
            continue
        cells, shares = sources(quiz_of(part, seed=seed)), set()
        for reply in replies(key, random.Random(seed)):
            if near_a_cut(key, reply.given):
                continue
            got = earned(cells, "q1_p0", as_typed(items, reply.given))
            assert got == pytest.approx(2 * judged_share(key, reply), abs=2e-6), reply
            shares.add(got)
        assert len(shares) > 1, "the answers should not all earn the same"


@pytest.mark.parametrize("part", PARTS, ids=IDS)
def test_the_source_is_solved_and_the_notebook_of_students_earns_nothing(part: Part) -> None:
    items = quiz_items(a_key(part))
    if not items or isinstance(items[0], EssayItem):
        return
    cells = sources(quiz_of(part))
    space: dict[str, Any] = {}
    run(cells["q1_p0"], space)
    assert earned(cells, "q1_p0", space["q1_p0"]) == 2.0
    blank: dict[str, Any] = {}
    run(cells["q1_p0"].partition("### BEGIN SOLUTION")[0], blank)
    assert earned(cells, "q1_p0", blank["q1_p0"]) == 0.0


@pytest.mark.parametrize(
    "answer",
    [..., None, "", "...", "many", "28 GB GB", [28], True, 1j, float("nan"), float("inf"), {}],
)
def test_what_is_no_number_earns_nothing(answer: object) -> None:
    assert earned(sources(quiz_of(a_numeric())), "q1_p0", answer) == 0.0


def test_a_number_may_have_a_unit() -> None:
    part = a_numeric(slips=False)
    (item,) = quiz_items(a_key(part))
    assert isinstance(item, NumberItem)
    right, unit = item.ranges[0].value, item.unit
    assert unit == "GB"
    cells = sources(quiz_of(part))
    for text in (f"{right} GB", f"{right}", f" {right * 1000:.0f} MB ", f"{right * 1e9:,.0f} B"):
        assert earned(cells, "q1_p0", text) == 2.0, text
    assert earned(cells, "q1_p0", f"{right} MB") == 0.0
    assert earned(cells, "q1_p0", f"{right} s") == 0.0


def test_letters_may_be_written_in_several_ways() -> None:
    cells = sources(quiz_of(a_choice()))
    space: dict[str, Any] = {}
    run(cells["q1_p0"], space)
    right = str(space["q1_p0"])
    for text in (right, right.lower(), f"({right})", f" {right}. "):
        assert earned(cells, "q1_p0", text) == 2.0
    for wrong in ("Z", right * 2, 1, [right]):
        assert earned(cells, "q1_p0", wrong) == 0.0
    cells = sources(quiz_of(a_multi_choice()))
    run(cells["q1_p0"], space)
    letters = space["q1_p0"]
    assert isinstance(letters, list)
    for several in (letters, set(letters), ", ".join(letters), "".join(letters).lower()):
        assert earned(cells, "q1_p0", several) == 2.0


def test_metadata_is_version_3_of_nbgraders() -> None:
    exported = Nbgrader(version="A").export(quiz_of(a_numeric(), an_explanation(), a_true_false()))
    for path, data in exported.files.items():
        seen: set[str] = set()
        for cell in json.loads(data)["cells"]:
            about = cell["metadata"]["nbgrader"]
            assert set(about) >= REQUIRED
            assert set(about) <= REQUIRED | OPTIONAL
            assert about["schema_version"] == 3
            assert re.fullmatch(r"[a-zA-Z0-9_\-]+", about["grade_id"])
            assert about["grade_id"] not in seen
            seen.add(about["grade_id"])
            assert ("points" in about) == about["grade"]
            assert ("checksum" in about) == path.startswith("students/")
            if cell["cell_type"] == "markdown":
                assert about["grade"] == about["solution"]
        assert {"title", "reading", "q1", "q1_p0-ask", "q1_p0", "q1_p0-tests", "q1_p1"} <= seen


def test_what_students_get_holds_nothing_of_the_key() -> None:
    part = a_numeric(slips=False)
    (item,) = quiz_items(a_key(part))
    assert isinstance(item, NumberItem)
    exported = Nbgrader(version="A").export(quiz_of(part, an_explanation()))
    source, students = (exported.files[f"{f}/quiz-A/quiz.ipynb"] for f in ("source", "students"))
    key = repr(item.ranges[0].value).encode()
    assert key in source
    assert b"BEGIN HIDDEN TESTS" in source
    for secret in (key, b"HIDDEN TESTS", b"SOLUTION", b"_share()"):
        assert secret not in students
    assert TEXT_STUB.encode() in students
    assert b"raise NotImplementedError()" in students


def test_what_cant_be_tested_is_refused_by_name_and_points() -> None:
    runner = CliRunner()
    quiz = quiz_of(a_code(), a_numeric())
    with pytest.raises(Exception, match=r"q1_p0 \(2\)"):
        Nbgrader(version="A").export(quiz)
    exported = Nbgrader(version="A", leave_out=True).export(quiz)
    assert any(note.startswith("left out q1_p0 (2 points): ") for note in exported.notes)
    assert b"q1_p1" in exported.files["source/quiz-A/quiz.ipynb"]
    assert b"q1_p0" not in exported.files["source/quiz-A/quiz.ipynb"]
    assert runner.invoke(grader, ["export", "nbgrader", "--help"]).exit_code == 0


@pytest.mark.thorough
def test_the_command_writes_a_version_that_can_be_made_again(tmp_path) -> None:
    def made(version: str, where: str) -> bytes:
        done = CliRunner().invoke(
            grader,
            ["export", "nbgrader", "midterm", "--version", version, "--private-key", "k",
             "--leave-out", "--json", "--out", str(tmp_path / where)],
        )  # fmt: skip
        assert done.exit_code == 0, done.output
        assert "nbgrader can't give students individual numbers" in done.output
        path = tmp_path / where / "source" / f"midterm-{version}" / "midterm.ipynb"
        return path.read_bytes()

    assert made("A", "one") == made("A", "two")
    assert made("A", "one") != made("B", "one")


def test_a_version_that_is_there_gets_no_other_numbers(tmp_path: Path) -> None:
    made = [
        "export",
        "nbgrader",
        "midterm",
        "--version",
        "A",
        "--leave-out",
        "--out",
        str(tmp_path),
    ]
    assert CliRunner().invoke(grader, made).exit_code == 0
    before = (tmp_path / "source/midterm-A/midterm.ipynb").read_bytes()
    again = CliRunner().invoke(grader, made)
    assert isinstance(again.exception, SetupError)
    assert "would get different numbers" in again.exception.what
    assert (tmp_path / "source/midterm-A/midterm.ipynb").read_bytes() == before
