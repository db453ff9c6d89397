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
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from grader.bank.folders import Bank
from grader.cli.check_screen import answer_sentence
from grader.collect.check.run import AnswerStatus, answer_line
from grader.draw import draw, sample_seed, standalone_paper
from grader.kinds import Unreadable, kinds
from grader.kinds.answers import answer_as_python
from grader.kinds.attempts import CodeKey
from grader.kinds.cells import missing_parts
from grader.kinds.code import CodeKind
from grader.kinds.numeric import Integer, Numeric
from grader.kinds.table import Column, Table
from grader.kinds.tolerance import EXACT
from grader.model import Answer, Key, Part, Tolerance, packages
from grader.notebook.render import check, closing, how_to_answer, render
from grader.notebook.render.answer_cells import code_cell, modules_needed, placeholder
from grader.notebook.render.closeness import tolerance_note
from grader.notebook.render.closing import brief
from grader.wire.encoding import encode_answer
from tests.helpers.answers import JOINED, NUMBERS, UNITS, VALUES, WORDS, Sized, function, made_up
from tests.helpers.code import a_code_key
from tests.helpers.commands import ok
from tests.helpers.kinds import PARTS, a_key, a_matching, a_numeric, a_plan
from tests.helpers.roundtrip import NAMES, a_course

TEMPLATES = (Path(__file__).parents[2] / "templates",)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_course(tmp_path_factory.mktemp("public"), "plain", "colab")


ABOUT = ("quiz", "0123456789abcdef", "ada")


def printed(source: str, space: dict[str, Any]) -> str:
    """What the cell prints in a notebook that holds the names of *space*."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        exec(source, space)
    return told.getvalue()


def sign(key: Key, value: object, **space: Any) -> str:
    """What the cell says of one answer: ok, EMPTY, PARTLY, UNCLEAR or MISSING."""
    told = printed(check({"q1_it": key}, ABOUT, TEMPLATES), {"q1_it": value, **space})
    return "ok" if "1 of 1 answers" in told else told.split()[0]


def signs(key: Key, values: Sequence[object]) -> list[str]:
    """The same of many values, each in a name of its own, by one run of the cell."""
    space = {f"q1_v{n}": value for n, value in enumerate(values)}
    told = printed(check(dict.fromkeys(space, key), ABOUT, TEMPLATES), dict(space))
    said = {words[1].rstrip(":"): words[0] for words in map(str.split, told.splitlines())}
    return [said.get(name, "ok") for name in space]


def in_python(raw: Any) -> object:
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


def _nested(value: Any) -> object:
    return [_nested(item) for item in value] if isinstance(value, list) else in_python(value)


def by_grader(key: Key, value: object) -> str:
    """The same from `read` of the answer's kind, which is what grading goes by."""
    kind = kinds.find(key.part.kind)
    try:
        found = kind.read(encode_answer(value), key)
    except Unreadable as reason:
        return "EMPTY" if reason.blank else "UNCLEAR"
    return "PARTLY" if missing_parts(found) else "ok"


CODE = {"code", "measurement"}
ANSWERED = [
    *{
        (part.kind, brief(a_key(part))): part for part in reversed(PARTS) if part.kind not in CODE
    }.values()
]
"""One part of every form that answers have."""


def units_of_the_bank() -> list[str]:
    """Every unit that a number of the package's own bank is asked in."""
    asked = {"", "%", "GB", "s"}
    for problem in Bank.open().problems():
        for part in problem.parts:
            columns = getattr(part, "columns", ())
            asked |= {str(getattr(one, "unit", "")) for one in (part, *columns)}
    return sorted(asked)


def agree(key: Key, values: Sequence[object]) -> None:
    nothing = {"EMPTY", "UNCLEAR"}  # neither of them is an answer; an empty text may be either
    for value, said in zip(values, signs(key, values), strict=True):
        graded = by_grader(key, value)
        assert said == graded or {said, graded} == nothing, repr(value)


@pytest.mark.thorough
@pytest.mark.parametrize("part", ANSWERED, ids=[f"{i}-{p.kind}" for i, p in enumerate(ANSWERED)])
def test_the_cell_reads_what_grading_reads(part) -> None:
    key = a_key(part)
    texts = [*NUMBERS, *WORDS, *(f"5 {unit}" for unit in (*UNITS, *JOINED))]
    for form in ("{1}", "{0}) {1}", "{0}{1}", "{1}x", "Option {1}"):
        texts += [form.format(c.letter, c.text) for c in getattr(key, "choices", ())]
    texts += made_up(1, 300)
    agree(key, [*texts, *VALUES, *([text] for text in texts[:200])])
    for seed in range(3):
        key = a_key(part, seed)
        values: list[object] = []
        for example in kinds.find(part.kind).examples(key):
            with contextlib.suppress(LookupError, TypeError, ValueError):
                values.append(in_python(example.raw))
        agree(key, values)
        assert values


@pytest.mark.thorough
def test_the_cell_knows_every_unit_that_grading_knows() -> None:
    compared = units_of_the_bank()
    assert len(compared) > 12
    for unit in compared:
        part = Numeric(id="it", ask="", answer=0, unit=unit, tolerance=Tolerance(absolute=1))
        agree(a_key(part), [f"5 {name}" for name in (*UNITS, *JOINED)])


def test_the_cell_reads_what_torch_holds() -> None:
    torch = pytest.importorskip("torch")
    values = [torch.tensor(x) for x in (28, 2.5, True, float("nan"), [28.0], [[1.0, 2.0]] * 3)]
    values += [torch.tensor(2.5, dtype=torch.bfloat16), torch.tensor(2.5, requires_grad=True)]
    for part in ANSWERED:
        agree(a_key(part), values)


def test_functions_are_read_and_other_values_are_no_functions() -> None:
    for part in (p for p in PARTS if p.kind in CODE):
        key = a_key(part)
        assert sign(key, function) == sign(key, Sized) == "ok"
        value: object
        for value in (1, "text", None, [], np.float32(1)):
            assert sign(key, value) == "UNCLEAR"
        assert sign(key, ...) == "EMPTY"


ONES = """import numpy

def q1_it(x):
    \"\"\"Return as many ones as x has entries.\"\"\"
    ...
"""


@pytest.mark.parametrize(
    "cell, expected",
    [
        (ONES, "EMPTY"),
        (ONES.replace('    """Return as many ones as x has entries."""\n', "# later\n"), "EMPTY"),
        (ONES.replace("...", "return x  # or:\n    ..."), "ok"),
        (ONES.replace("...", "class Wrong(Exception):\n        ...\n    return x"), "ok"),
        (f"def helper():\n    ...\n{ONES.replace('...', 'return x')}", "ok"),
        (ONES.replace("q1_it(x):", "q1_it(\n    x,\n):").replace("...", "return x"), "ok"),
    ],
)
def test_only_code_that_is_still_the_starter_is_empty(cell: str, expected: str) -> None:
    key = a_key(next(p for p in PARTS if p.kind == "code"))
    assert isinstance(key, CodeKey)
    key = replace(key, starter=ONES.replace("q1_it", key.part.id))
    assert sign(key, function, In=["", ONES, cell]) == expected


def test_every_kind_is_known_to_the_cell() -> None:
    assert {part.kind for part in PARTS} == set(kinds)
    for part in PARTS:
        assert sign(a_key(part), "x") != "UNKNOWN", part.kind


def test_a_kind_that_the_cell_does_not_know_is_not_called_readable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(closing, "_READERS", {})
    told = printed(check({"q1_it": a_key(ANSWERED[0])}, ABOUT, TEMPLATES), {"q1_it": 1})
    assert told.startswith("UNKNOWN  q1_it: there is a value, but this check can't tell")
    assert "0 of 1 answers are there and can be read." in told


@pytest.mark.parametrize("part", PARTS, ids=[f"{i}-{p.kind}" for i, p in enumerate(PARTS)])
def test_the_placeholder_is_empty_and_the_right_answer_is_not(part) -> None:
    key = a_key(part)
    kind = kinds.find(part.kind)
    if part.kind in CODE:
        for written, expected in ((None, "EMPTY"), (answer_as_python(kind, key), "ok")):
            cell = code_cell("q1_it", key, written)
            space: dict[str, Any] = {}
            exec(cell, space)
            assert sign(key, space["q1_it"], In=["", "q1_it = 1\n...", cell]) == expected
        return
    assert sign(key, ast.literal_eval(placeholder(key))) == "EMPTY"
    assert sign(key, ast.literal_eval(answer_as_python(kind, key))) == "ok"


def test_a_table_with_some_cells_is_there_in_part() -> None:
    key = a_key(next(p for p in PARTS if p.kind == "table"))
    blank = ast.literal_eval(placeholder(key))
    some = blank | {next(iter(blank)): [1.0] * len(key.titles)}
    assert sign(key, some) == by_grader(key, some) == "PARTLY"


def test_names_of_python_that_a_student_has_used_up_do_not_matter() -> None:
    key = a_key(next(p for p in PARTS if p.kind == "matching"))
    right = ast.literal_eval(answer_as_python(kinds.find("matching"), key))
    taken = dict.fromkeys(("dict", "float", "len", "list", "print", "set", "str", "sum"), 0)
    assert sign(key, right, **taken) == "ok"
    assert len(taken) == 8
    assert all(hasattr(builtins, name) for name in taken)


def test_no_name_of_the_students_is_changed() -> None:
    space: dict[str, Any] = {"names": 1, "empty": 2, "re": 3, "answers": 4, "found": 5}
    before = dict(space)
    printed(check({"q1_it": a_key(ANSWERED[0])}, ABOUT, TEMPLATES), space)
    assert {name: space[name] for name in before} == before
    assert {n for n in space if not n.startswith("__")} - set(before) == {"_public_check"}


def test_a_value_that_fights_back_is_unclear_and_stops_nothing() -> None:
    class Hostile:
        tolist = None

        def __float__(self) -> float:
            raise RuntimeError("no")

        def __eq__(self, other: object) -> bool:
            raise RuntimeError("no")

        __hash__ = None

    asked = {part.kind: a_key(part) for part in reversed(PARTS)}
    keys = {"q1_a": asked["numeric"], "q1_b": asked["table"], "q1_c": asked["choice"]}
    source = check(keys, ABOUT, TEMPLATES)
    told = printed(source, {"q1_a": Hostile(), "q1_b": [Hostile()], "q1_c": "A"})
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
        assert len(cell.splitlines()) <= 320  # most are functions; editors fold them
        assert max(map(len, cell.splitlines())) <= 120
        data = cell.split("_public_check(\n")[1]
        lines = re.findall(r"^ {4}(\(.*\)),$", data, re.M)
        assert [ast.literal_eval(line)[0] for line in lines][1:] == list(NAMES)
        for line in lines[1:]:
            _, form, how = ast.literal_eval(line)
            assert re.fullmatch(r"\w+( \S+| \d x \d| \d of A-[A-Z])?", form), form
            assert len(how) <= 72


def needing(module: str) -> CodeKey:
    """The key of a code part whose starter imports *module*."""
    key = a_key(next(p for p in PARTS if p.kind == "code"))
    assert isinstance(key, CodeKey)
    return replace(key, starter=f"import {module}\nimport json\n{key.starter}")


def test_a_part_whose_package_is_missing_is_not_left_undone() -> None:
    key = needing("no_such_package_here")
    assert "no_such_package_here" in str(check({"q1_it": key}, ABOUT, TEMPLATES))
    told = printed(check({"q1_it": key}, ABOUT, TEMPLATES), {})
    wanted = "install no_such_package_here (pip install no_such_package_here), then run all cells"
    assert told.startswith(f"MISSING  q1_it: {wanted} again\n")
    sheet = {"name": "q1_it", "kind": "code", "how": "complete the code", **CodeKind().sheet(key)}
    stopped = "code cell 1 stopped with ModuleNotFoundError: No module named 'no_such_package_here'"
    line = answer_line("q1_it", sheet, Answer(name="q1_it", raw=None, absent=stopped))
    assert (line.status, line.text) == (AnswerStatus.MISSING, stopped)
    assert answer_sentence(line).endswith(
        "To do: install no_such_package_here (pip install no_such_package_here), then check again"
    )


def test_a_missing_part_whose_packages_are_there_is_still_to_be_done() -> None:
    told = printed(check({"q1_it": needing("numpy")}, ABOUT, TEMPLATES), {"other": 1})
    assert told.startswith("MISSING  q1_it: complete the code\n")


def test_what_to_install_is_named_as_pip_knows_it() -> None:
    assert packages.packages_for_modules(("json", "numpy")) == ()
    assert packages.packages_for_modules(("no_such_package_here",)) == ("no_such_package_here",)
    assert modules_needed(needing("numpy.linalg")) == ("numpy",)


@pytest.mark.thorough
def test_run_all_reaches_the_check_after_cells_that_stop(course: Path) -> None:
    tree = json.loads((course / "release/notebooks/plain.ipynb").read_text("utf-8"))
    answers = {"q1_share": "q1_share = undefined_name", "q1_bound": "q1_bound = = 3"}
    for cell in tree["cells"]:
        for name, source in answers.items():
            if f"\n{name} = " in "".join(cell["source"]):
                cell["source"] = source
    book = nbformat.reads(json.dumps(tree), as_version=4)
    NotebookClient(book, kernel_name="python3", timeout=60).execute()
    # On a busy machine, what a cell prints may come in several pieces.
    told = "".join(one.text for one in book.cells[-1].outputs).splitlines()
    assert [line.split()[:2] for line in told[:2]] == [
        ["MISSING", "q1_share:"],
        ["EMPTY", "q1_whole:"],
    ]
    assert told[-1] == "This says nothing about whether they are right."


def test_every_code_cell_goes_on_after_an_error_and_the_check_is_folded(course: Path) -> None:
    tree = json.loads((course / "release/notebooks/plain.ipynb").read_text("utf-8"))
    tool, *cells, last = [cell for cell in tree["cells"] if cell["cell_type"] == "code"]
    goes_on, folded = (
        {"tags": ["raises-exception"]},
        {"cellView": "form", "jupyter": {"source_hidden": True}},
    )
    assert all(cell["metadata"] == goes_on for cell in cells)
    assert tool["metadata"] == goes_on | folded
    assert last["metadata"] == folded
    assert all("".join(cell["source"]).startswith("#@title ") for cell in (tool, last))


@pytest.mark.thorough
def test_tools_do_not_break_one_another_and_examples_say_what_differs(tmp_path: Path) -> None:
    """`Counter` is a class of one of the tools, and another one imports that of the library."""
    exam = tmp_path / "both.yaml"
    exam.write_text(
        "id: both\ntitle: Two tools\n"
        "problems: [tree-broadcast, activation-memory-counted, warp-access-counters]\n"
    )
    roster = tmp_path / "roster.csv"
    roster.write_text("id,name\nada,Ada\n")
    ok("render", exam, "--roster", roster, "--out", tmp_path / "release")
    ok("solve", tmp_path / "release", "--student", "ada", "--out", tmp_path / "solved.ipynb")
    for name, said in (("release/notebooks/ada.ipynb", False), ("solved.ipynb", True)):
        book = nbformat.read(tmp_path / name, as_version=4)
        NotebookClient(book, kernel_name="python3", timeout=120).execute()
        tried = [
            "".join(one.get("text", one.get("evalue", "")) for one in cell.outputs)
            for cell in book.cells
            if "print(compare(" in cell.source
        ]
        assert len(tried) >= 3
        assert all(set(text.split()) == {"OK"} for text in tried) is said, tried
        assert not any("Counter" in text for text in tried)


def first_cell(*problems: str) -> str:
    """The first cell of a notebook with the first parts of these problems of the package's bank."""
    bank = Bank.open()
    found = [bank.problem(name) for name in problems]
    first = [replace(problem, parts=problem.parts[:1]) for problem in found]
    variants = [draw(problem, sample_seed(problem.id, 0), bank.facts) for problem in first]
    return render(standalone_paper(variants, "quiz"), TEMPLATES)[0].source


def test_the_first_cell_takes_its_example_from_a_part_that_asks_for_a_number() -> None:
    told = first_cell("online-softmax", "fsdp-state-per-gpu")
    assert "`q2_per_gpu = 3 * 1.5` is as good as `4.5`" in told
    assert "q1_" not in told
    told = first_cell("online-softmax")
    assert "= 3 * 1.5" not in told
    assert "= ..." not in told
    assert "Complete the code and run the cell." in told


def numeric(**changes: Any) -> Numeric:
    return Numeric(id="it", ask="", answer=1, **changes)


def test_the_first_cell_says_how_near_a_number_must_come() -> None:
    def told(*parts: Part) -> object:
        return how_to_answer({f"q1_{n}": part for n, part in enumerate(parts)})["tolerance"]

    whole = Integer(id="n", ask="", answer=1)
    near = "A number is accepted within 1% of the key"
    assert told(numeric(), numeric(tolerance=Tolerance(relative=0.01, because="why"))) == f"{near}."
    assert told(numeric(), whole) == f"{near}; a whole number must be exact."
    assert told(whole) == "A whole number must be exact."
    assert told(numeric(tolerance=Tolerance(relative=0.01, absolute=1))) == told() == ""
    wide, loose = numeric(tolerance=Tolerance(relative=0.02)), Tolerance(absolute=1)
    other = "unless its question says otherwise"
    assert told(numeric(), numeric(), wide) == f"{near} {other}."
    mixed = told(numeric(), replace(whole, tolerance=loose))
    assert mixed == f"{near}; a whole number must be exact, {other}."


def test_a_question_names_another_tolerance() -> None:
    common = Tolerance(relative=0.01)
    assert tolerance_note(numeric(), common) == ""
    assert tolerance_note(Integer(id="n", ask="", answer=1), common) == ""
    wide = numeric(tolerance=Tolerance(relative=0.02, absolute=0.5))
    assert tolerance_note(wide, common) == "accepted within 2% or within 0.5"
    assert tolerance_note(numeric(), None) == "accepted within 1%"
    figure = Tolerance(significant_figures=1)
    assert tolerance_note(numeric(tolerance=figure), common) == "accepted to 1 significant figure"
    assert tolerance_note(numeric(tolerance=Tolerance(because="why")), common) == ""
    columns = (
        Column(id="a", title="", answer=1),
        Column(id="b", title="", answer=1, tolerance=EXACT),
    )
    table = Table(id="t", ask="", row="n", rows=(1,), columns=columns)
    assert tolerance_note(table, common, ("Time", "Calls")) == "Time: within 1%; Calls: exactly"


@pytest.mark.parametrize(
    ("absolute", "unit", "words"),
    [
        ("weights / gpus / 50", "GB", "an absolute distance"),
        ("500 * MB", "GB", "0.5 GB"),
        (0.5, "us", "0.5 µs"),
        (1, "%", "1 percentage point"),
        ("2 * 3", "", "6"),
    ],
)
def test_an_absolute_tolerance_has_its_unit_but_no_formula(
    absolute: str | float, unit: str, words: str
) -> None:
    part = numeric(unit=unit, tolerance=Tolerance(absolute=absolute))
    assert tolerance_note(part, None) == f"accepted within {words}"


def test_columns_with_the_same_distance_in_different_units_are_told_apart() -> None:
    half = Tolerance(absolute=0.5)
    columns = tuple(Column(id=u, title=u, answer=1, unit=u, tolerance=half) for u in ("s", "GB"))
    table = Table(id="t", ask="", row="n", rows=(1,), columns=columns)
    assert (
        tolerance_note(table, None, ("Time", "Size")) == "Time: within 0.5 s; Size: within 0.5 GB"
    )


def test_the_check_reads_periods_repeated_items_and_written_truth_as_grading_does() -> None:
    agree(a_key(a_numeric(unit="%", answer=0.25)), ["25%.", "25 %.", "25.", "25%.."])
    agree(a_key(a_matching()), ["1A 2B 1C", {1: "A", "1": "B"}, {1: "A", 2: "B", 3: "C"}])
    plan = a_plan(
        choose={"fused": (False, True), "tp": (1, 2)},
        values={},
        require=(),
        cost="(3 - tp if fused else 4) * ms",
        shortcomings=(),
    )
    agree(a_key(plan), [{"fused": fused, "tp": "2"} for fused in (True, "true", "yes", 1)])


def test_a_function_is_renamed_after_characters_that_end_lines_elsewhere() -> None:
    key = a_code_key()
    source = "# one\u2028two\x0cthree\ndef scaled(x, by=2):\n    return x * by\n"
    assert code_cell("q1_it", key, source).endswith(
        "# one\u2028two\x0cthree\ndef q1_it(x, by=2):\n    return x * by\n"
    )
