"""Known-wrong implementations that call the reference, and the gate that sees why they fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.bank.folders import Bank
from grader.draw import draw, sample_seed
from grader.kinds import kinds
from grader.kinds.attempts import CodeExample, CodeKey
from grader.kinds.code import CodeKind
from grader.model import Judgment
from grader.verify import verify_problem
from tests.helpers.banks import a_bank
from tests.helpers.code import CODE_EXAM, CODE_SPEC, SCALED, a_code_key, a_race_key


def as_written(function: str, key: CodeKey) -> Judgment:
    """The judgment on a student who wrote that function of the solution file."""
    kind = kinds.find(key.part.kind)
    assert isinstance(kind, CodeKind)
    return kind.judge(kind.read(kind.raw(key, function), key), key)


# Each calls the reference, and changes the factor by *off*: with 0 it is right for that reason.
LEANING = {
    "function": "def scaled_wrong_it(x, by=2):\n    return scaled(x, by + {off})",
    "twice": ("def scaled_wrong_it(x, by=2):\n    return scaled(x=scaled(x, 1), by=by + {off})"),
    "by a helper": (
        "def helper(x, by):\n    return scaled(x, by + {off})\n\n"
        "def scaled_wrong_it(x, by=2):\n    return helper(x, by)"
    ),
    "lambda": "scaled_wrong_it = lambda x, by=2: scaled(x, by + {off})",
    "made by a maker": (
        "def made(off):\n    def inner(x, by=2):\n        return scaled(x, by + off)\n"
        "    return inner\n\nscaled_wrong_it = made({off})"
    ),
    "decorated": (
        "import functools\n\ndef shifted(function):\n    @functools.wraps(function)\n"
        "    def inner(x, by=2):\n        return scaled(function(x, 1), by + {off})\n"
        "    return inner\n\n@shifted\ndef scaled_wrong_it(x, by=2):\n    return scaled(x, by)"
    ),
    "generator inside": (
        "def scaled_wrong_it(x, by=2):\n"
        "    return np.array(list(scaled(v, by + {off}) for v in x), dtype=x.dtype)"
    ),
    "a recursion that is meant": (
        "def scaled_wrong_it(x, by=2):\n"
        "    if by > 1:\n        return scaled_wrong_it(x, by - 1) + x\n"
        "    return scaled(x, by + {off})"
    ),
    "a local variable of that name": (
        "def helper(x, by):\n    return scaled(x, by + {off})\n\n"
        "def scaled_wrong_it(x, by=2):\n    scaled = helper(x, by)\n    return scaled"
    ),
}


@pytest.mark.parametrize("form", LEANING)
def test_the_name_of_the_reference_means_the_reference(form: str) -> None:
    def judged(off: int) -> Judgment:
        return as_written(
            "scaled_wrong_it", a_code_key(f"{SCALED}\n\n{LEANING[form].format(off=off)}\n")
        )

    assert judged(0).share == 1
    assert judged(1).share == 0
    assert "wrong values" in judged(1).note
    assert "RecursionError" not in judged(1).note


COUNTER = """
class counter:
    def __init__(self, start):
        self.n = start

    def add(self, k):
        self.n += k

    def copy(self):
        return counter(self.n)

class counter_wrong_it(counter):
    def add(self, k):
        super(counter_wrong_it, self).add(k + {off})
        assert type(self.copy()) is not counter_wrong_it


def counter_wrong_made(start):
    return counter(start + {off})

def counter_wrong_steps(start):
    class Inner(counter):
        def add(self, k):
            counter.add(self, k + {off})

    return Inner(start)

def counter_cases(rng, given):
    for start in (0, 3, 7, -4):
        yield "runs", {{"start": start, "steps": rng.integers(0, 9, size=4).tolist()}}
"""
DRIVER = """
def drive(answer, start, steps):
    counter = answer(start)
    seen = [counter.n]
    for k in steps:
        counter.add(k)
        seen.append(counter.n)
    return seen
"""


@pytest.mark.parametrize("name", ["it", "made", "steps"])
def test_a_wrong_class_and_the_class_of_the_reference(name: str) -> None:
    def judged(off: int) -> Judgment:
        return as_written(
            f"counter_wrong_{name}",
            a_code_key(
                COUNTER.format(off=off), id="counter", driver=DRIVER,
                starter="class counter:\n    ...",
            ),
        )  # fmt: skip

    assert judged(0).share == 1
    assert judged(1).note == (
        "0 of 1 groups of hidden cases pass. Runs cases: an item of the result has a wrong value."
    )


def test_a_measurement_has_the_reference_too() -> None:
    setup = "def prepare(seed):\n    return ()\n\ndef baseline():\n    return None\n"
    key = a_race_key(f"{SCALED}\n\n{LEANING['function'].format(off=0)}\n", setup)
    assert as_written("scaled_wrong_it", key).share == 1


def test_a_visible_example_calls_the_wrong_one() -> None:
    shown = CodeExample(call="scaled(3)", gives="6")
    key = a_code_key(f"{SCALED}\n\n{LEANING['function'].format(off=1)}\n", examples=(shown,))
    kind = kinds.find("code")
    assert isinstance(kind, CodeKind)
    found = {
        name: kind.example_results(kind.read(kind.raw(key, name), key), key)[0].fault
        for name in ("scaled", "scaled_wrong_it")
    }
    assert found["scaled"] == ""
    assert found["scaled_wrong_it"].startswith("`scaled(3)` gives 9")


def faults(folder: Path, more: str) -> list[str]:
    """What the gate finds in the solution with that at its end."""
    bank = a_bank(folder, CODE_SPEC, f"{SCALED}\n\n{more}\n", CODE_EXAM)
    result = verify_problem(Bank.open([bank]), "twice", 2, code_seeds=1)
    assert not result.errors
    return [f.what for f in result.findings if f.check == "implementations"]


def test_what_is_right_by_the_reference_is_seen_to_pass(tmp_path: Path) -> None:
    assert faults(tmp_path / "sound", LEANING["function"].format(off=1)) == []
    (what,) = faults(tmp_path / "passes", LEANING["function"].format(off=0))
    assert what == "part 'scaled': 'scaled_wrong_it' passes all hidden cases"


ENDLESS = "def scaled_wrong_it(x, by=2):{doc}\n    return scaled_wrong_it(x, by){more}"


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        (ENDLESS.format(doc="", more=""), True),
        (ENDLESS.format(doc="", more=" if x.size else x"), True),
        (ENDLESS.format(doc="\n    '''Its recursion never ends.'''", more=""), False),
        (ENDLESS.format(doc="", more="").replace("_it", "_endless_recursion"), False),
        # Half of its cases fail by what it is wrong in.
        (ENDLESS.format(doc="", more=" if x.size == 5 else x + 1"), False),
    ],
    ids=["always", "for some", "docstring", "name", "and otherwise"],
)
def test_failing_only_by_recursion_is_refused_unless_it_is_said(
    text: str, refused: bool, tmp_path: Path
) -> None:
    found = faults(tmp_path, text)
    what = "part 'scaled': 'scaled_wrong_it' fails only by RecursionError, not by its intended"
    assert [one.startswith(what) for one in found] == [True] * refused


@pytest.mark.parametrize(
    "text",
    [
        "def scaled_right_it(x, by=2):\n    return scaled(x, by)",
        LEANING["by a helper"].format(off=0).replace("_wrong_", "_right_"),
        "scaled_right_it = scaled",
    ],
    ids=["itself", "helper", "alias"],
)
def test_what_calls_the_reference_does_not_confirm_it(text: str, tmp_path: Path) -> None:
    (what,) = faults(tmp_path, text)
    assert what == ("part 'scaled': 'scaled_right_it' calls the reference, so it confirms nothing")


def test_a_right_one_may_call_itself_and_use_helpers_of_the_reference(tmp_path: Path) -> None:
    text = (
        "def scaled_right_steps(x, by=2):\n    scaled = x * 1\n"
        "    return scaled_right_steps(x, by - 1) + scaled if by > 1 else scaled"
    )
    assert faults(tmp_path, text) == []


def test_indices_of_the_round_before_fail_by_their_indices() -> None:
    bank = Bank.open()
    name = "cluster_wrong_indices_of_the_round_before"
    for seed in range(12):
        problem, _ = bank.locate("weight-clustering")
        key = draw(problem, sample_seed(problem.id, seed), bank.facts).keys["cluster"]
        assert isinstance(key, CodeKey)
        judged = as_written(name, key)
        assert judged.cells["random cases"] == "incorrect"
        assert "Random cases: an item of the result has wrong values" in judged.note
