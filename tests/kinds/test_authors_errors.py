"""What an author may not write in a part or in its solution is an error with a reason."""

from __future__ import annotations

import pytest

from grader import units
from grader.errors import PackageError
from grader.kinds import Unreadable, kinds
from grader.kinds.answers import right_value
from grader.kinds.code import CodeKind
from grader.kinds.hidden.solutions import Given
from grader.kinds.measurement import Step, Work
from grader.kinds.options import AnswerOption
from grader.kinds.plan_outcomes import Requirement
from grader.kinds.short_text import ShortText
from grader.model import Part, packages
from tests.helpers.code import SCALED, a_code_key
from tests.helpers.kinds import (
    FORMATS,
    a_choice,
    a_code,
    a_key,
    a_matching,
    a_measurement,
    a_plan,
    a_prediction,
    a_short_text,
    a_table,
)

IMPOSSIBLE = Requirement(id="never", that="tp > 4", feedback="No.")
PREPARES = "def prepare(seed):\n    return ()\n"


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (a_choice(options=(*FORMATS, AnswerOption(text="?!"))), "needs an 'id'"),
        (a_code(starter="def scale(x): ..."), "defines no function or class 'scaled'"),
        (a_code(tools=("triton_blocks",)), r"add needs: \[triton\]"),
        (a_matching(items=()), "there are no items to match"),
        (a_measurement(speed=()), "'speed' is empty"),
        (a_measurement(backward=True), "'backward' requires by: launches"),
        (a_measurement(least=3), "'least' is for counts"),
        (a_measurement(by="launches", work=Work(flops=1)), "'work' is for times"),
        (a_plan(require=(IMPOSSIBLE,)), "no plan meets all requirements"),
        (a_plan(values={}, require=(), cost="-1 * ms", shortcomings=()), "must be positive"),
        (a_prediction(setup="x = 1"), "'setup' defines no function 'prepare"),
        (a_prediction(setup=PREPARES, unit="GB"), "expected a time in s, got a size"),
    ],
)
def test_a_part_that_makes_no_sense_is_an_error(part: Part, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        a_key(part)


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (a_code(groups={"edge": 0, "random": 0}), "'groups' gives no group any points"),
        (a_measurement(groups={"edge": 0}), "'groups' gives no group any points"),
        (a_measurement(speed=(Step(ratio=2, share=0.5),)), "'speed' has a share below 1"),
        (a_plan(choose={"tp": (1, "2")}), "'tp' offers the text '2'"),
    ],
)
def test_a_fault_that_shows_without_numbers_is_found_when_the_spec_is_loaded(
    part: Part, said: str
) -> None:
    ((_, what, fix),) = part.iter_faults()
    assert said in what
    assert fix


@pytest.mark.parametrize("part", [a_code(), a_code(groups={"edge": 1}), a_measurement(), a_plan()])
def test_a_sound_part_has_no_faults(part: Part) -> None:
    assert list(part.iter_faults()) == []
    assert list(a_measurement(speed=()).iter_faults()) == []


def test_a_right_answer_that_no_student_could_give_is_an_error() -> None:
    part: ShortText = a_short_text(accept=("",))
    with pytest.raises(ValueError, match="its right answer can't be read: The answer is an empty"):
        right_value(kinds.find("short_text"), a_key(part))


CASES = SCALED[: SCALED.index("def scaled_cases")]
TWO = 'def scaled_cases(rng, given):\n    yield "a", {"x": 1, "by": 2}\n'


@pytest.mark.parametrize(
    ("solution", "said"),
    [
        ("", "there is no solution file"),
        ("def scaled(:", r"the solution can't be loaded \(line 1\): SyntaxError"),
        ("x = 1\n1 / 0", r"the solution can't be loaded \(line 2\): ZeroDivisionError"),
        (CASES, r"the solution has no function 'scaled_cases\(rng, given\)'"),
        (f"{CASES}def scaled_cases(rng, given):\n    yield 1 / 0", "'scaled_cases' raised ZeroDiv"),
        (f"{CASES}def scaled_cases(rng, given):\n    raise ValueError('odd')", "odd"),
        (
            f"{CASES}def scaled_cases(rng, given):\n"
            "    for x in range(10_000):\n        yield 'a', {'x': x}",
            "'scaled_cases' yields more than",
        ),
        (
            f"{CASES}def scaled_cases(rng, given):\n    yield 'a', {{'x': object()}}",
            "'scaled_cases' yields an input that can't be serialized",
        ),
    ],
)
def test_a_solution_that_gives_no_cases_is_an_error(solution: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        _ = a_code_key(solution).cases


def test_a_reference_without_a_result_is_an_error() -> None:
    solution = f"def scaled(x, by=2):\n    return object()\n\n\n{TWO}"
    with pytest.raises(ValueError, match="the reference's result can't be serialized"):
        _ = a_code_key(solution).expected_results


@pytest.mark.parametrize(
    "solution",
    [
        f"def scaled(x, by=2):\n    import torch_of_nobody\n\n\n{TWO}",
        f"def scaled(x, by=2):\n    return x\n\n\n{TWO}\n\n"
        "def scaled_expected(x, by):\n    import torch_of_nobody\n",
        f"import torch_of_nobody\n\n\n{TWO}",
    ],
    ids=["when called", "in what is expected", "when loaded"],
)
def test_a_solution_that_needs_a_missing_package_is_no_error_of_the_author(
    solution: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "missing_package_of", lambda _: "torch_of_nobody")
    with pytest.raises(PackageError, match="'scaled' can't be judged here"):
        _ = a_code_key(solution).expected_results


def test_weights_of_other_groups_than_those_of_the_cases_are_an_error() -> None:
    key = a_code_key(groups={"edge": 1, "typical": 2})
    kind = kinds.find("code")
    raw = CodeKind().raw(key, "scaled")
    with pytest.raises(ValueError, match="must name the groups of the hidden cases: edge, random"):
        kind.judge(kind.read(raw, key), key)


def test_facts_are_plain_numbers_in_the_unit_that_is_asked_for_or_text() -> None:
    given = Given(
        {"memory": units.quantity(80, "GB"), "name": "H100"},
        {"h100": {"memory": units.quantity(80, "GB"), "name": "H100"}},
    )
    assert (given["memory"], given["name"]) == (80, "H100")
    assert (given.fact("h100", "memory", "MB"), given.fact("h100", "name")) == (80_000, "H100")
    with pytest.raises(units.DimensionError, match=r"write given\.fact\('h100', 'memory', 'GB'\)"):
        given.fact("h100", "memory")


def test_a_property_that_can_not_be_asked_of_a_result_does_not_hold() -> None:
    asked = "\n\ndef scaled_holds(inputs, result):\n    yield from result.missing\n"
    key = a_code_key(f"{SCALED}{asked}")
    functions, call = key.solution_functions, key.cases[0].call
    wrong = "the result does not have the expected type"
    assert functions.ask("holds", call, {"t": "int", "v": "3"}) == wrong
    assert functions.ask("form", call, {"t": "int", "v": "3"}) is None


@pytest.mark.parametrize("kind", ["matching", "plan", "table"])
def test_a_damaged_dict_is_no_answer(kind: str) -> None:
    key = a_key({"matching": a_matching(), "plan": a_plan(), "table": a_table()}[kind])
    with pytest.raises(Unreadable):
        kinds.find(kind).read({"t": "dict", "v": 5}, key)


def test_tools_may_need_a_package_that_the_part_declares() -> None:
    assert a_key(a_code(tools=("triton_blocks",), needs=("triton",))).needs == ("triton",)
