"""Results that properties alone decide: their form comes first, and the gate tries weak ones."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from grader.bank.folders import Bank
from grader.errors import SetupError
from grader.kinds import kinds
from grader.kinds.code import CodeKind
from grader.kinds.hidden.compare import Closeness, form_difference
from grader.kinds.hidden.forbidden_use import find_forbidden_use
from grader.model import Verdict
from grader.verify import verify_problem
from tests.helpers.banks import a_bank
from tests.helpers.code import CODE_EXAM, CODE_SPEC, a_code_key, verdicts
from tests.helpers.scores import graded

# An author's properties as they are easily written: each comparison holds for what is empty or
# NaN, or makes the one shape fit the other.
HELD = """\
import numpy as np


def held(x, by=2):
    return {"values": x * by, "count": 3, "each": [1.5, -2.5]}


def held_right_other(x, by=2):
    return {"values": by * x, "count": 2, "each": np.array([1.5, -2.5])}


def held_expected(x, by):
    return ...


def held_holds(inputs, result):
    if not np.allclose(result["values"], inputs["x"] * inputs["by"]):
        yield "the values are wrong"
    if result["count"] > 3:
        yield "too many"
    if abs(sum(result["each"]) + 1) > 1e-6:
        yield "each is wrong"


def held_cases(rng, given):
    for size in (1, 5, 40, 4000):
        yield "all", {"x": rng.normal(size=size), "by": 2}


def held_wrong_values(x, by=2):
    return {**held(x, by), "values": x}


def held_wrong_count(x, by=2):
    return {**held(x, by), "count": 4}


def held_wrong_each(x, by=2):
    return {**held(x, by), "each": [1.5, 1.5]}
"""
KEY = a_code_key(HELD, id="held", forbid=("torch.softmax",))
RESULT = "found = {'values': x * by, 'count': 3, 'each': [1.5, -2.5]}\n{}\nreturn found"
RIGHT = {
    "as it is": "pass",
    "fewer": "found['count'] = 0",
    "a count as a fraction": "found['count'] = 2.0",
    "a count of numpy": "found['count'] = np.int32(1)",
    "a tuple": "found['each'] = (-2.5, 1.5)",
    "an array of them": "found['each'] = np.array([1.5, -2.5])",
    "whole numbers": "found['each'] = [0, -1]",
    "single precision": "found['values'] = found['values'].astype(np.float32)",
    # More digits than Python writes out; in code that is never reached.
    "a long literal": f"if by == 0: print('soft' + 0x{'f' * 6000})",
}
WRONG = {
    "column": (
        "found['values'] = found['values'][:, None]",
        "'values' of the result has a wrong shape",
    ),
    "row": ("found['values'] = found['values'][None]", "'values' of the result has a wrong shape"),
    "empty": (
        "found['values'] = np.zeros((0, len(x)))",
        "'values' of the result has a wrong shape",
    ),
    "list": ("found['values'] = found['values'].tolist()", "'values' of the result is a list"),
    "complex": (
        "found['values'] = found['values'] + 0j",
        "'values' of the result has a wrong dtype",
    ),
    "NaN count": ("found['count'] = float('nan')", "'count' of the result is not finite"),
    "infinite count": ("found['count'] = -float('inf')", "'count' of the result is not finite"),
    "negative count": ("found['count'] = -1", "'count' of the result is negative"),
    "no count": ("found['count'] = None", "'count' of the result is None, not a whole number"),
    "true count": ("found['count'] = True", "'count' of the result is True or False"),
    "NaN item": (
        "found['each'][0] = float('nan')",
        "an item of 'each' of the result is not finite",
    ),
    "more items": ("found['each'].append(0)", "'each' of the result has a wrong number of items"),
    "column of items": ("found['each'] = np.array([[1.5], [-2.5]])", "an item of 'each'"),
    "another key": ("found['more'] = 1", "the result has an unexpected key"),
    "no key": ("del found['each']", "the result lacks 'each'"),
    "a list of it": ("found = [found]", "the result is a list, not a dict"),
}


def named(bodies: dict[str, str]) -> dict[str, str]:
    return {name.replace(" ", "_"): RESULT.replace("{}", body, 1) for name, body in bodies.items()}


@pytest.mark.thorough
def test_a_result_has_the_form_of_the_references_own() -> None:
    # No literal braces are left for str.format: the bodies are put in by hand.
    wrong = {name: body for name, (body, _) in WRONG.items()}
    found = verdicts({**named(RIGHT), **named(wrong)}, KEY)
    shares = {name: judgment.share for name, judgment in found.items()}
    assert shares == dict.fromkeys(named(RIGHT), 1.0) | dict.fromkeys(named(wrong), 0.0)
    for name, (_, why) in WRONG.items():
        assert f"All cases: {why}" in found[name.replace(" ", "_")].note, name


def test_a_forged_shape_takes_no_memory_of_ours() -> None:
    kind = kinds.find("code")
    assert isinstance(kind, CodeKind)
    body = RESULT.replace("{}", WRONG["column"][0], 1).replace("\n", "\n    ")
    raw = kind.simulate_run(KEY, "held", f"import numpy as np\ndef held(x, by=2):\n    {body}")
    value = kind.read(raw, KEY)
    assert KEY.expected_results  # what is made once for all students is not counted
    tracemalloc.start()
    try:
        assert kind.judge(value, KEY).share == 0
        assert tracemalloc.get_traced_memory()[1] < 30e6  # all pairs are 16 million
    finally:
        tracemalloc.stop()


def test_what_is_left_to_the_author() -> None:
    near = Closeness()
    same = [
        ([1.0, 2.0], [-5.0, 7.0]),
        (-1e-9, 0.0),
        (-1.0, -2.0),
        (float("nan"), float("inf")),
        ("a text", "another"),
        (10**400, 1),
        (3, 2.5),
        (2.0, 1j),
        ((), []),
    ]
    assert [form_difference(got, want, near) for got, want in same] == [None] * len(same)
    assert form_difference(-1e-3, 0.0, near) == "the result is negative"
    assert form_difference(1j, 2.0, near) == "the result is a complex number, not a number"


FORM = """

def held_form(inputs, result):
    {}
    if False:
        yield ""
"""


@pytest.mark.thorough
def test_an_author_may_say_what_form_is_right() -> None:
    longer = {"longer": RESULT.replace("{}", "found['each'].append(0)", 1)}
    asked = 'if len(result["each"]) > {}:\n        yield "there are too many"'
    for most, share, why in ((3, 1.0, ""), (2, 0.0, "All cases: there are too many.")):
        key = a_code_key(HELD + FORM.format(asked.format(most)), id="held")
        found = verdicts(longer, key)["longer"]
        assert found.share == share
        assert why in found.note


def weak(folder: Path, solution: str) -> list[str]:
    """What the gate's check of properties says of the solution."""
    spec = CODE_SPEC.replace("scaled", "held")
    bank = a_bank(folder, spec, f"{solution}\n\ndef solve(given):\n    return {{}}\n", CODE_EXAM)
    result = verify_problem(Bank.open([bank]), "twice", 2, code_seeds=1)
    assert not result.errors
    assert {f.check for f in result.findings} <= {"properties"}, [*map(str, result.findings)]
    assert all("held_holds" in f.fix for f in result.findings)
    return [f.what.removeprefix("part 'held': ") for f in result.findings]


def test_properties_that_refuse_what_is_forged_pass_the_gate(tmp_path: Path) -> None:
    assert weak(tmp_path, HELD) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'if not np.allclose(result["values"], inputs["x"] * inputs["by"]):',
            'if (np.abs(result["values"]) > np.abs(inputs["x"] * inputs["by"])).any():',
            ["a result in which 'values' of the result is full of zeros passes in every case"],
        ),
        (
            'if result["count"] > 3:',
            "if False:",
            ["a result in which 'count' of the result is 0 or 1e+12 passes in every case"],
        ),
        (
            'if abs(sum(result["each"]) + 1) > 1e-6:',
            "if False:",
            [f"a result in which an item of 'each' of the result is {how} passes in every case"
             for how in ("-1", "0 or 1e+12")],
        ),
    ],
    ids=["values", "count", "items"],
)  # fmt: skip
def test_weak_properties_do_not_pass_the_gate(
    old: str, new: str, said: list[str], tmp_path: Path
) -> None:
    assert old in HELD
    wrong = {"values": '"values": x}', "count": '"count": 4}', "each": '"each": [1.5, 1.5]}'}
    solution = HELD.replace(old, new)
    for name, made in wrong.items():  # which the gate would find otherwise
        if name in old:
            solution = solution.replace(made, '"each": []}')
    assert weak(tmp_path, solution) == said


@pytest.mark.thorough
def test_who_says_what_form_is_right_has_to_refuse_others(tmp_path: Path) -> None:
    start = "a result in which"
    shapes = ("an empty array", "a column of its numbers", "a row of its numbers")
    assert weak(tmp_path / "all", HELD + FORM.format("pass")) == [
        f"{start} 'values' of the result is {how} passes (all cases)" for how in shapes
    ]
    form = 'if np.shape(result["values"]) != inputs["x"].shape:\n        yield "another shape"'
    assert weak(tmp_path / "counts", HELD + FORM.format(form)) == [
        f"{start} 'count' of the result is {how} passes (all cases)" for how in ("NaN", "-1")
    ] + [f"{start} an item of 'each' of the result is NaN passes (all cases)"]
    form += '\n    if not 0 <= result["count"] < 99 or np.isnan(result["each"]).any():\n'
    assert weak(tmp_path / "good", HELD + FORM.format(form + '        yield "no"')) == []


@pytest.mark.parametrize("form", ["getattr(x, {})", "getattr(x, 'x' + {})", "vars()['x' + {}]"])
def test_numbers_of_many_digits_in_code_are_no_fault_of_ours(form: str) -> None:
    source = "def f(x):\n    return " + form.format(f"0x{'f' * 6000}")
    assert find_forbidden_use(source, ["torch.softmax", "loops"]) is None
    assert find_forbidden_use("getattr(x, 'soft' + 'max')", ["torch.softmax"]) == "`torch.softmax`"


def test_a_judge_that_fails_leaves_one_mark_open(monkeypatch: pytest.MonkeyPatch) -> None:
    choice = kinds.find("choice")

    def fails(*_: object) -> None:
        raise RuntimeError("the key is 42")

    answers: dict[str, Any] = {"share": 1.75, "time": 1.75, "fits": "A"}
    before = graded(**answers)
    monkeypatch.setattr(type(choice), "judge", fails)
    marks = graded(**answers)
    assert marks["fits"].verdict is Verdict.UNSETTLED
    assert marks["fits"].points is None
    assert "an internal error" in marks["fits"].feedback
    assert "42" not in marks["fits"].feedback
    assert {p: m for p, m in marks.items() if p != "fits"} == {
        p: m for p, m in before.items() if p != "fits"
    }


def test_what_builds_on_an_answer_that_we_failed_to_judge_is_open_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    numeric = kinds.find("numeric")
    judge = type(numeric).judge

    def fails(self: object, value: object, key: object) -> object:
        if key.part.id == "share":  # type: ignore[attr-defined]
            raise RecursionError
        return judge(self, value, key)  # type: ignore[arg-type]

    monkeypatch.setattr(type(numeric), "judge", fails)
    wrong = graded(share=3.5, time=3.5, fits="A")
    assert [wrong[part].points for part in ("share", "time")] == [None, None]
    right = graded(share=1.75, time=1.75, fits="A")
    assert [right[part].points for part in ("share", "time")] == [None, 4]


def test_what_is_true_for_the_whole_batch_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise SetupError("the disk is full")

    monkeypatch.setattr(type(kinds.find("numeric")), "judge", fails)
    with pytest.raises(SetupError):
        graded(share=1.75)
