"""What students write in code parts beyond plain functions, and calls that come to nothing."""

from __future__ import annotations

from typing import Any

import pytest

from grader.kinds.attempts import CodeExample
from grader.kinds.code import CodeKind
from grader.kinds.hidden import analysis, source
from grader.kinds.hidden.compare import count_numbers
from grader.kinds.hidden.doubtful_use import find_doubtful_use
from grader.kinds.hidden.judging import check_example, describe_exception
from grader.kinds.hidden.source import TooLongError, extract_definition, functions_of
from grader.wire.encoding import encode_result
from grader.wire.values import decode_result
from tests.helpers.code import a_code_key

RULES = ("torch.optim",)


def example_call(**changes: Any) -> tuple[dict[str, Any], Any]:
    """A call of the visible example that went well, changed so, and its key."""
    key = a_code_key(examples=(CodeExample(call="scaled(3)", gives="6"),))
    raw: Any = CodeKind().raw(key, "scaled")
    return {**raw["calls"][0], **changes}, key


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, None),
        ({"call": "another"}, "it was not run"),
        ({"is": "raised", "type": "ValueError", "what": "odd"}, "raises ValueError: odd"),
        ({"is": "late"}, "a call took longer than 5 s"),
        ({"v": encode_result([1.0, 2.0])}, "gives 1.0: the result has a wrong value"),
        ({"v": encode_result([1.0, 2.0, 3.0])}, "the result could not be read"),
        ({"v": {"t": "array", "v": 5}}, "the result could not be read"),
    ],
)
def test_a_visible_example_says_how_it_failed(changes: dict[str, Any], said: str | None) -> None:
    fault = check_example(*example_call(**changes))
    assert (fault is None) if said is None else (fault is not None and fault.endswith(said))


def test_messages_of_a_driver_are_shown_without_their_values() -> None:
    driver = (
        "def check(n):\n    if n < 0:\n        raise ValueError(f'{n} is negative')\n"
        "    raise ValueError(3)\n    raise errors.OwnError('x')\n"
    )
    assert describe_exception("ValueError", "-3 is negative", (driver,)) == (
        "ValueError",
        "… is negative",
    )
    assert describe_exception("ValueError", "3", (driver,)) == ("ValueError", "")


@pytest.mark.parametrize("error", [MemoryError(), RecursionError()])
def test_code_beyond_what_python_can_analyze_is_left_to_a_person(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(analysis, "FUNCTIONS", {"review": fails})
    key = a_code_key(forbid=RULES)
    judgment = CodeKind().judge(CodeKind().read(CodeKind().raw(key, "scaled"), key), key)
    assert judgment.share is None
    assert "too large or nested too deeply to be analyzed" in judgment.note


@pytest.mark.thorough
def test_code_that_needs_too_much_other_code_is_too_long_wherever_it_is_analyzed() -> None:
    cells = [f"TABLE = [{'1, ' * source.MOST_CHARACTERS}]", "def f(): return TABLE"]
    with pytest.raises(TooLongError):
        extract_definition(cells, "f")
    found, why = analysis._call_analysis("extract_definition", cells, "f")
    assert found is None
    assert why == "it needs more than 100,000 characters of code"


def test_a_process_that_analyzes_ends_with_the_last_reference_to_it() -> None:
    worker = analysis._AnalysisProcess()
    worker.end()  # before it was ever started
    assert worker.ask("extract_definition", ["f = 1"], "f") == "f = 1"
    process = worker._process
    assert process
    del worker
    assert process.wait(10) == -9


def test_numbers_are_counted_in_every_part_of_a_result() -> None:
    assert count_numbers(decode_result(encode_result([1, {3}, {"a": [2.0, "x"]}]))) == 0
    import numpy as np

    made = decode_result(encode_result([np.zeros((2, 3)), {"a": (np.zeros(4), None)}]))
    assert count_numbers(made) == 10


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def f(x): return vars(x)['size']", "`vars`"),
        ("def f(x):\n    x.__class__ = dict", "a new `__class__` of an object"),
        ("def f(x): return x.__class__.__name__", None),
        ("class A:\n    size = 1\ndef f(): return vars(A())['size']", None),
        ("def f(x):\n    match x:\n        case {'a': 1, **rest}: return rest", None),
        (
            "class A:\n    @staticmethod\n    def g(x): return x.size\n"
            "    def h(): return 1\n    def k(self):\n        self = 3\n        return self.size\n"
            "def f(x): return A.g(x)",
            "`.size` of an object",
        ),
    ],
)
def test_what_may_reach_a_forbidden_name_is_in_doubt(code: str, said: str | None) -> None:
    found = find_doubtful_use(code, ("torch.size",))
    assert (found is None) if said is None else (found is not None and said in found)


@pytest.mark.parametrize(
    ("cells", "needed"),
    [
        (
            ["x = 1", "x = [2]; y = 3", "z = 4", "def f(): return y"],
            "x = 1\nx = [2]; y = 3\ndef f(): return y",
        ),
        (["match 3:\n    case int() as n: pass", "def f(): return n"], None),
        (["g()[0] = 1", "def f(): return 1"], "def f(): return 1"),
        (["def f(a, a): return 1"], "def f(a, a): return 1"),
    ],
)
def test_definitions_hold_what_a_function_needs(cells: list[str], needed: str | None) -> None:
    assert extract_definition(cells, "f") == ("\n".join(cells) if needed is None else needed)


def test_what_only_changed_a_class_that_is_left_out_is_left_out_too() -> None:
    kept = ["def g(): return 1", "g.more = 2"]
    text = "\n".join(["class A: pass", "A.size = 3", "things = [A()]", *kept])
    assert functions_of(text).split("\n") == ["", "", "", *kept]


def test_what_a_class_and_a_function_share_is_run_again_for_the_function() -> None:
    kept = ["def g(): return 1", "g.more = A.size = 2"]
    text = "\n".join(["class A: pass", "things = [A()]", *kept])
    assert functions_of(text).split("\n") == ["", "", *kept]
    assert functions_of("def g(): return [0]\ng()[0] = 1") == "def g(): return [0]\n"


def test_a_statement_that_can_not_be_written_again_is_left_out() -> None:
    too_long_in_decimal = f"0x{'f' * 5000}"
    text = f"def g(): return 1\ng.more = {too_long_in_decimal}; g()"
    assert functions_of(text) == "def g(): return 1\n"
