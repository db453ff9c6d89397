"""The last cell of a notebook, which checks it with nothing installed, beside `grader check`."""

from __future__ import annotations

import ast
import builtins
import contextlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from grader import probe
from grader.kinds import Unreadable, kinds
from grader.model import Key, Raw
from grader.render import _form
from tests.builders_kinds import PARTS, a_key
from tests.builders_roundtrip import NAMES, a_course

CELL = Path(__file__).parent.parent / "templates/notebook/closing.py.j2"
SOURCE = CELL.read_text(encoding="utf-8").split("_public_check(\n")[0]


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_course(tmp_path_factory.mktemp("public"), "plain", "colab")


def printed(answers: list[tuple[str, str, str]], space: dict[str, object]) -> str:
    """What the cell prints in a notebook that holds the names of *space*."""
    exec(SOURCE, space)
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        space["_public_check"](("quiz", "0123456789abcdef", "ada"), *answers)
    return told.getvalue()


def sign(key: Key, value: object, **space: object) -> str:
    """What the cell says of one answer: ok, EMPTY, PARTLY, UNCLEAR or MISSING."""
    line = ast.literal_eval(_form("q1_it", key))
    told = printed([line], {"q1_it": value, **space})
    return "ok" if "1 of 1 answers" in told else told.split()[0]


def in_python(raw: Raw) -> object:
    """The value that a kernel would describe as *raw*; raises LookupError where there is none."""
    value = raw.get("v")
    match raw["t"]:
        case "int":
            return int(value)
        case "float":
            return float(value)
        case "bool" | "str":
            return value
        case "none":
            return None
        case "ellipsis":
            return ...
        case "complex":
            return complex(value)
        case "list":
            return [in_python(item) for item in value]
        case "set":
            return {in_python(item) for item in value}
        case "dict":
            return {in_python(name): in_python(item) for name, item in value}
        case "array" if isinstance(value, list):
            return np.array(_nested(value))
        case "measured":
            return in_python(raw["value"])
        case "object" if "function" in str(raw["type"]):
            return lambda: 1
    raise LookupError(raw["t"])


def _nested(value: object) -> object:
    return [_nested(item) for item in value] if isinstance(value, list) else in_python(value)


def by_grader(key: Key, value: object) -> str:
    """The same from `read` of the answer's kind, which is what grading goes by."""
    kind = kinds.find(key.part.kind)
    try:
        found = kind.read(probe.encode(value), key)
    except Unreadable as reason:
        return "EMPTY" if reason.blank else "UNCLEAR"
    return "PARTLY" if kind.lacks(found, key) else "ok"


CODE = {"code", "measurement"}
VALUES = [part for part in PARTS if part.kind not in CODE]
EXTRA = (28, 28.0, "28", " 28 GB", "~28", "$12", "A", "b)", "Z", "(C)", True, "", "...", [], ["A"])


@pytest.mark.parametrize("part", VALUES, ids=[f"{i}-{p.kind}" for i, p in enumerate(VALUES)])
def test_the_cell_raises_no_alarm_where_grading_reads_the_answer(part) -> None:  # type: ignore[no-untyped-def]
    compared = 0
    for seed in range(3):
        key = a_key(part, seed)
        values = list(EXTRA)
        for example in kinds.find(part.kind).examples(key):
            with contextlib.suppress(LookupError, KeyError, TypeError, ValueError):
                values.append(in_python(example.raw))
        for value in values:
            said, graded = sign(key, value), by_grader(key, value)
            compared += 1
            if graded == "ok":
                assert said == "ok", value
            if graded == "EMPTY":
                assert said != "ok", value
    assert compared > 3 * len(EXTRA)


# How much of what grading can't read the cell says so of: all but texts with a wrong unit, options
# written out, and what only a list of units or options tells.
SEEN = {
    "numeric": ["twelve", "GB 12", [28], True, None, float("nan"), float("inf"), 2j, {}, object()],
    "integer": ["many", True, None, [4]],
    "choice": ["Z", 1, None, True, ["A"], 2.5],
    "multi_choice": [1, [1, 2], {"A": 1}, True],
    "ordering": [3, [1, 2, 3], True],
    "matching": [3, {1: 2, 2: 3, 3: 1}, True],
    "table": [{2: [True], 4: ["x"]}, "none"],
    "true_false": [1, 0, None, 0.5, []],
    "short_text": [1, True, ["x"], None],
    "explanation": [1, None],
    "code": [1, "text", None],
    "prediction": ["many", None],
}


@pytest.mark.parametrize("name", SEEN)
def test_the_cell_sees_what_is_no_such_answer(name: str) -> None:
    part = next(p for p in PARTS if p.kind == name)
    key = a_key(part)
    for value in SEEN[name]:
        assert sign(key, value) in ("UNCLEAR", "EMPTY", "PARTLY"), value


def test_every_kind_is_known_to_the_cell() -> None:
    for part in PARTS:
        known = kinds.find(part.kind).brief(a_key(part)) == "text"
        assert known or f'"{part.kind}"' in SOURCE, part.kind
    assert {part.kind for part in PARTS} == set(kinds)


@pytest.mark.parametrize("part", PARTS, ids=[f"{i}-{p.kind}" for i, p in enumerate(PARTS)])
def test_the_placeholder_is_empty_and_the_right_answer_is_not(part) -> None:  # type: ignore[no-untyped-def]
    key = a_key(part)
    kind = kinds.find(part.kind)
    if part.kind in CODE:
        for written, expected in ((None, "EMPTY"), (kind.literal(key), "ok")):
            cell = kind.definition("q1_it", key, written)
            space: dict[str, object] = {}
            exec(cell, space)
            assert sign(key, space["q1_it"], In=["", "q1_it = 1\n...", cell]) == expected
        return
    assert sign(key, ast.literal_eval(kind.placeholder(key))) == "EMPTY"
    assert sign(key, ast.literal_eval(kind.literal(key))) == "ok"


def test_a_table_with_some_cells_is_there_in_part() -> None:
    key = a_key(next(p for p in PARTS if p.kind == "table"))
    placeholder = ast.literal_eval(kinds.find("table").placeholder(key))
    first = next(iter(placeholder))
    placeholder[first] = [1.0] * len(key.titles)
    assert sign(key, placeholder) == by_grader(key, placeholder) == "PARTLY"


def test_names_of_python_that_a_student_has_used_up_do_not_matter() -> None:
    key = a_key(next(p for p in PARTS if p.kind == "matching"))
    right = ast.literal_eval(kinds.find("matching").literal(key))
    taken = dict.fromkeys(("dict", "float", "len", "list", "print", "set", "str", "sum"), 0)
    assert sign(key, right, **taken) == "ok"
    assert len(taken) == 8
    assert all(hasattr(builtins, name) for name in taken)


def test_no_name_of_the_students_is_changed() -> None:
    space: dict[str, object] = {"names": 1, "empty": 2, "re": 3, "answers": 4, "found": 5}
    before = dict(space)
    printed([("q1_it", "numeric GB", "a number")], space)
    assert {name: space[name] for name in before} == before
    assert {n for n in space if not n.startswith("__")} - set(before) == {"_public_check"}


def test_a_value_that_fights_back_is_unclear_and_stops_nothing() -> None:
    class Hostile:
        tolist = None

        def __float__(self) -> float:
            raise RuntimeError("no")

        def __eq__(self, other: object) -> bool:
            raise RuntimeError("no")

        __hash__ = None  # type: ignore[assignment]

    lines = [("q1_a", "numeric GB", "a"), ("q1_b", "table 1 x 1", "b"), ("q1_c", "choice A-C", "c")]
    told = printed(lines, {"q1_a": Hostile(), "q1_b": [Hostile()], "q1_c": "A"})
    assert [line.split()[0] for line in told.splitlines()][:2] == ["UNCLEAR", "UNCLEAR"]
    assert "1 of 3 answers" in told


def test_it_runs_in_a_python_that_has_nothing(course: Path, tmp_path: Path) -> None:
    notebook = json.loads((course / "release/notebooks/plain.ipynb").read_text("utf-8"))
    cell = "".join(notebook["cells"][-1]["source"])
    program = tmp_path / "cell.py"
    program.write_text(f"q1_share = '3.25 GB'\nq1_bound = 'E'\n{cell}", encoding="utf-8")
    # -I and -S: neither installed packages nor this project are found.
    done = subprocess.run([sys.executable, "-I", "-S", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("MISSING  q1_whole: a whole number")
    assert "UNCLEAR  q1_bound: one letter, A to C, in quotes" in lines
    assert not any("q1_share" in line for line in lines)
    assert lines[-2].endswith(f"for plain: 1 of {len(NAMES)} answers are there and can be read.")
    assert lines[-1] == "This says nothing about whether they are right."


def test_the_cell_is_small_and_holds_no_answer(course: Path) -> None:
    for student in ("plain", "colab"):
        notebook = json.loads((course / f"release/notebooks/{student}.ipynb").read_text("utf-8"))
        cell = "".join(notebook["cells"][-1]["source"])
        assert len(cell.splitlines()) <= 60 + len(NAMES)
        assert max(map(len, cell.splitlines())) <= 120
        data = cell.split("_public_check(\n")[1]
        lines = re.findall(r"^ {4}(\(.*\)),$", data, re.M)
        assert [ast.literal_eval(line)[0] for line in lines][1:] == list(NAMES)
        for line in lines[1:]:
            _, form, how = ast.literal_eval(line)
            assert re.fullmatch(r"\w+( \S+| \d x \d| \d of A-[A-Z])?", form), form
            assert len(how) <= 72
