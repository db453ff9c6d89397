"""Feedback says nothing of hidden inputs: whatever they are, a wrong answer reads the same."""

from __future__ import annotations

import re

import pytest

from grader.bank.folders import Bank
from grader.draw import draw, sample_seed
from grader.grading.reveal import run_summary
from grader.kinds import kinds
from grader.kinds.attempts import CodeKey
from grader.kinds.code import CodeKind
from grader.kinds.hidden.compare import hide_unknown_keys
from grader.model import CellRun, Evidence, Outcome
from tests.helpers.code import a_code_key
from tests.helpers.report import a_mark

KIND = CodeKind()
NUMBERS = """
import numpy as np

def scaled(n):
    return {results}

def scaled_cases(rng, given):
    yield "some", {{"n": int(rng.integers(3, 90))}}
"""
RESULTS = {
    "an array": "np.arange(100.0)",
    "a list": "[float(i) for i in range(100)]",
    "pairs": "[(i, np.zeros(i)) for i in range(1, 100)]",
    "a dict": "{f'layer{i}': i for i in range(100)}",
    "a flag": "n == 0",
}
SPIES = {
    "shape": "np.zeros((n, 2 * n))",
    "dimensions": "np.zeros([1] * (n % 30 + 1))",
    "empty": "np.zeros((0, n))",
    "length": "list(range(n))",
    "dtype": "np.arange(100).astype(['int8', 'int16', 'int32', 'uint8', 'uint64'][n % 5])",
    "how many": "np.where(np.arange(100) < n, -1.0, np.arange(100.0))",
    "which item": "[float(i) if i != n else -1.0 for i in range(100)]",
    "which nested": "[(i, np.zeros(i + (i == n))) for i in range(1, 100)]",
    "which key": "{f'layer{i}': i for i in range(100) if i != n}",
    "which value": "{f'layer{i}': i if i != n else -1 for i in range(100)}",
    "flag": "n > 40",
    "line": "exec(compile('\\n' * n + 'raise ValueError', '<ipython-input-1>', 'exec'))",
    "message": "int('x' * n)",
    "type": "type(f'E{n}', (Exception,), {})()",
}


def notes(results: str, spy: str) -> set[str]:
    """What is said to a student who wrote *spy*, with ten different hidden inputs."""
    found = set()
    for seed in range(10):
        key = a_code_key(NUMBERS.format(results=results), seed, starter="def scaled(n):\n    ...")
        source = f"import numpy as np\ndef scaled(n):\n    return {spy}\n"
        judgment = KIND.judge(KIND.read(KIND.simulate_run(key, "scaled", source), key), key)
        assert judgment.share in (0, 1)
        found |= {judgment.note} if judgment.share == 0 else set()
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("results", RESULTS.values(), ids=RESULTS)
@pytest.mark.parametrize("spy", SPIES.values(), ids=SPIES)
def test_no_spy_tells_a_hidden_input(results: str, spy: str) -> None:
    found = notes(results, spy)
    assert len(found) <= 1
    assert not any(re.search(r"\d", note.replace("0 of 1 groups", "")) for note in found)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name",
    ["n-m-pruning", "tiled-transpose", "memory-planner", "blocked-transpose", "block-reduction"],
)
def test_no_number_is_said_to_the_known_wrong(name: str) -> None:
    bank, said = Bank.open(), 0
    for key in draw(bank.problem(name), sample_seed(name, 0), bank.facts).keys.values():
        if not isinstance(key, CodeKey):
            continue
        kind = kinds.find(key.part.kind)
        assert isinstance(kind, CodeKind)
        for wrong in key.solution_functions.functions_of_kind("wrong"):
            raw = kind.raw(key, f"{key.part.id}_wrong_{wrong}")
            note = kind.judge(kind.read(raw, key), key).note
            plain = re.sub(r"\d+ of \d+ (groups of hidden cases|visible examples)", "", note)
            assert not re.search(r"(?<![\w.])\d", plain), note
            said += 1
    assert said


def test_a_key_is_named_when_an_author_wrote_it() -> None:
    why = "'values' of 'layer7' of the result has a wrong shape"
    assert hide_unknown_keys(why, {"values"}) == (
        "'values' of one of the keys of the result has a wrong shape"
    )


def test_the_time_of_hidden_calls_is_not_told() -> None:
    cell = CellRun(index=0, outcome=Outcome.FINISHED, seconds=0.5)
    evidence = Evidence(
        submission_sha256="0" * 64, outcome=Outcome.FINISHED, answers={}, cells=(cell, cell),
        seconds=123.4,
    )  # fmt: skip
    assert run_summary(evidence).seconds == 1.0


# -- characters that can't be seen


@pytest.mark.parametrize(
    "written, read",
    [
        ("28 \u202eBG", r"28 \u202eBG"),
        ("a\u200bb\u2066c\x1b[2Jd\x00", r"a\u200bb\u2066c\x1b[2Jd\x00"),
        ("two\nlines\tand é, 你好, 1\xa0000", "two\nlines\tand é, 你好, 1\xa0000"),
        ("\ud800", r"\ud800"),
    ],
)
def test_what_can_not_be_seen_is_written_out(written: str, read: str) -> None:
    mark = a_mark(answer=written, feedback=f"'{written}' is odd.")
    assert (mark.answer, mark.feedback) == (read, f"'{read}' is odd.")
    cell = CellRun(index=0, outcome=Outcome.FINISHED, seconds=0.1, error=f"E: {written}")
    assert cell.trouble == f"E: {read}"
