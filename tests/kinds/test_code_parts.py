"""Code parts in real kernels: what is right earns, what is wrong does not, and nothing gets out."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from grader.gradebook import Gradebook
from grader.kinds import kinds
from grader.kinds.hidden.source import functions_of
from grader.model import Judgment, Limits, Mark, Outcome, Verdict
from grader.runtime.execute import calls
from tests.helpers.banks import a_roster
from tests.helpers.code import (
    SCALED,
    STARTER,
    a_code_key,
    defined,
    judged,
    ran,
    verdicts,
    with_solution,
)
from tests.helpers.commands import fails, ok
from tests.helpers.kernels import WAYS, on_linux

KEY = a_code_key()
WALL_FIRST = pytest.mark.parametrize(
    "way",
    [
        pytest.param(way, id=name, marks=pytest.mark.slow if number else ())
        for number, (name, way) in enumerate(WAYS.items())
    ],
)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that are late are so at once."""
    monkeypatch.setattr(calls, "_OVERHEAD_SECONDS", 0.2)


def shares(found: dict[str, Judgment]) -> dict[str, float | None]:
    return {name: judgment.share for name, judgment in found.items()}


RIGHT = {
    "product": "return x * by",
    "sum": "return sum([x] * by, np.zeros_like(x))",
    "loop": "return np.array([v * by for v in x.tolist()], dtype=x.dtype)",
    "copied": "y = x.copy()\ny *= by\nreturn y",
    "view": "return (x * by)[::-1][::-1]",
    "big_endian": "return (x * by).astype('>f8')",
    "subclass": "return (x * by).view(type('Mine', (np.ndarray,), {}))",
    "printing": "print('x' * 100_000)\nreturn x * by",
    "threads": "import threading\nt = threading.Thread(target=print)\nt.start()\nreturn x * by",
    "stateful": "global calls\ncalls = globals().get('calls', 0) + 1\nreturn x * by",
    "nan": "return x * np.float64(by)",
}
WRONG = {
    "added": "return x + by",
    "list": "return (x * by).tolist()",
    "single": "return (x * by).astype(np.float32)",
    "nothing": "x * by",
    "printed": "print(x * by)",
    "generator": "yield from x * by",
    "function": "return lambda: x * by",
    "itself": "return q1_itself",
    "object": "return type('Spy', (), {})()",
    "longer": "return np.append(x * by, 0)",
    "column": "return (x * by)[:, None]",
    "nested": "return [x * by]",
    "raising": "raise ValueError(x)",
    "nowhere": "return undefined",
    "leaving": "import sys\nsys.exit(0)",
    "interrupted": "raise KeyboardInterrupt",
    "huge": "return np.zeros(10**7)",
    "wide": "return np.broadcast_to(x[:1], (10**12, 1))",
    "deep": "a = x\nfor _ in range(99): a = [a]\nreturn a",
    "recursive": "a = []\na.append(a)\nreturn a",
    "in_place": "x *= by\nreturn x",
    "exception": "return ValueError(x)",
    "async": "import asyncio\nreturn asyncio.sleep(0, x * by)",
}
# Right for what has been seen, and no more than that.
CACHED = {
    "by_shape": "c = globals().setdefault('c1', {})\nreturn c.setdefault(x.shape, x * by)",
    "by_count": "global n\nn = globals().get('n', 0) + 1\nreturn x * by if n < 4 else x",
    "of_the_last": "global last\nlast, old = x * by, globals().get('last', x)\nreturn old",
    "of_the_first": "global one\none = globals().get('one', x * by)\nreturn one",
    "by_sum": "c = globals().setdefault('c2', {})\nreturn c.get(float(x.sum()), x)",
}


@pytest.mark.thorough
@WALL_FIRST
def test_right_earns_all_and_wrong_does_not(way: dict[str, Any]) -> None:
    found = verdicts({**RIGHT, **WRONG, **CACHED}, KEY, **way)
    assert {name for name, judgment in found.items() if judgment.share == 1} == {*RIGHT}
    for name in WRONG:
        assert found[name].verdict is Verdict.INCORRECT, name
    for judgment in found.values():
        assert judgment.note.isprintable()


def test_what_went_wrong_is_said_by_group() -> None:
    found = verdicts(
        {
            "two": "return x * 2",
            "raising": "\n\nreturn x / 0 if x.size == 5 else undefined",
            "huge": "return np.zeros(10**7)",
        },
        KEY,
    )
    assert found["two"].note == (
        "0 of 2 groups of hidden cases pass. Edge cases: the result has wrong values. Random "
        "cases: the result has wrong values."
    )
    assert "Edge cases: NameError was raised." in found["raising"].note
    assert "the result can't be read: more than 4 MB" in found["huge"].note
    assert found["two"].cells == {"edge cases": "incorrect", "random cases": "incorrect"}


DIES = "import os, signal\nif x.size == 0: {how}\nreturn x * by"
DEATHS = {
    "exit": "os._exit(0)",
    "segfault": "__import__('ctypes').string_at(0)",
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "abort": "os.abort()",
}


@pytest.mark.thorough
@WALL_FIRST
def test_a_call_that_dies_costs_its_case_alone(way: dict[str, Any]) -> None:
    how = {name: DIES.format(how=how) for name, how in list(DEATHS.items())[:3]}
    found = verdicts({**how, "other": "return x * by"}, KEY, **way)
    assert shares(found) == {"exit": 0.5, "segfault": 0.5, "killed": 0.5, "other": 1.0}
    assert "Edge cases: a call ended the kernel." in found["exit"].note  # not with which status
    assert "Edge cases: a call ended the kernel." in found["segfault"].note


def test_a_function_may_not_end_kernels_for_ever_and_costs_no_other() -> None:
    body = {"always": "import os\nos._exit(1)", "half": DIES.format(how="os._exit(1)")}
    found = verdicts({**body, "after": "return x * by"}, KEY)
    assert shares(found) == {"always": 0.0, "half": 0.5, "after": 1.0}
    late = next(word for word in found["always"].note.split("Random cases: ")[1:])
    assert "ended the kernel" in late
    assert len(KEY.cases) > calls.MOST_DEATHS


def test_state_of_the_cells_is_there_again_after_a_death() -> None:
    before = "import numpy as np\ntable = []\nfor i in range(10): table.append(float(i))"
    dies = DIES.format(how="os._exit(0)").replace("x * by", "x * table[by]")
    found = verdicts({"dies": dies, "after": "return x * table[by]"}, KEY, before=before)
    assert shares(found) == {"dies": 0.5, "after": 1.0}


@pytest.mark.thorough
@pytest.mark.usefixtures("impatient")
@WALL_FIRST
def test_a_call_that_never_returns_costs_its_case_alone(way: dict[str, Any]) -> None:
    key = a_code_key(seconds=0.2)
    found = verdicts(
        {
            "endless": "while x.size == 0: pass\nreturn x * by",
            "deaf": "import time\nwhile x.size == 0:\n    try: time.sleep(9)\n"
            "    except KeyboardInterrupt: pass\nreturn x * by",
            "always": "while True: pass",
            "after": "return x * by",
        },
        key,
        **way,
    )
    assert shares(found) == {"endless": 0.5, "deaf": 0.5, "always": 0.0, "after": 1.0}
    assert "a call took longer than 0.2 s" in found["endless"].note
    assert found["always"].cells == {"edge cases": "incorrect", "random cases": "incorrect"}


def test_exceptions_that_must_be_raised() -> None:
    solution = """
def scaled(x, by=2):
    if x < 0:
        raise ValueError
    return x * by

def scaled_cases(rng, given):
    yield "negative", {"x": -1.0}
    yield "negative", {"x": -2.5}
    yield "usual", {"x": 1.0}
    yield "usual", {"x": 2.5}
"""
    found = verdicts(
        {
            "right": "if x < 0: raise ValueError('no')\nreturn x * by",
            "another": "if x < 0: raise TypeError\nreturn x * by",
            "derived": "if x < 0: b'\\xff'.decode()\nreturn x * by",  # a UnicodeDecodeError is one
            "above": "if x < 0: raise Exception\nreturn x * by",
            "none": "return x * by",
            "returned": "return ValueError() if x < 0 else x * by",
        },
        a_code_key(solution),
    )
    earned = {"right": 1.0, "derived": 1.0}
    assert shares(found) == {**dict.fromkeys(found, 0.5), **earned}
    assert "ValueError should have been raised" in found["none"].note


CLASS = """
class Counter:
    def __init__(self, start):
        self.n = start

    def add(self, k):
        self.n += k

def counter_cases(rng, given):
    for start in (0, 3, 7, -4):
        yield "runs", {"start": start, "steps": rng.integers(0, 9, size=4).tolist()}

counter = Counter
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


def test_a_class_through_a_driver() -> None:
    key = a_code_key(CLASS, id="counter", driver=DRIVER, starter="class counter:\n    ...")
    wrong = CLASS.replace("self.n += k", "self.n = k")
    keys = dict.fromkeys(("q1_right", "q1_wrong", "q1_no_class"), key)
    evidence = ran(
        CLASS.partition("def counter_cases")[0] + "q1_right = Counter",
        wrong.partition("def counter_cases")[0].replace("Counter", "Other") + "q1_wrong = Other",
        "def q1_no_class(start): return start",
        keys=keys,
    )
    found = {name: judged(evidence, name, key).share for name in keys}
    assert found == {"q1_right": 1.0, "q1_wrong": 0.0, "q1_no_class": 0.0}


def test_inputs_may_be_changed_where_that_is_asked_for() -> None:
    solution = SCALED.replace("return x * by\n", "x *= by\n    return x\n", 1)
    body = {"in_place": "x *= by\nreturn x"}
    assert verdicts(body, a_code_key(solution, mutates=True))["in_place"].share == 1
    assert verdicts(body, a_code_key(solution))["in_place"].share == 0


def test_groups_and_all_or_nothing() -> None:
    body = {"half": "return x * by if x.size != 5 else x"}
    groups = {"edge": 0.25, "random": 0.75}
    assert verdicts(body, a_code_key(groups=groups))["half"].share == 0.25
    assert verdicts(body, a_code_key(all_or_nothing=True))["half"].share == 0


def test_answers_that_are_no_functions_say_so() -> None:
    evidence = ran("q1_a = 3", "q1_b = 'text'", keys={"q1_a": KEY, "q1_b": KEY, "q1_c": KEY})
    kind = kinds.find("code")
    for name in ("q1_a", "q1_b"):
        with pytest.raises(Exception, match="function or class"):
            kind.read(evidence.answers[name].raw, KEY)
    assert evidence.answers["q1_c"].absent == "no cell sets q1_c"
    evidence = ran(STARTER.replace("scaled", "q1_a"), keys={"q1_a": KEY})
    with pytest.raises(Exception, match="starter code is unchanged"):
        kind.read(evidence.answers["q1_a"].raw, KEY)


# -- rules

FORBIDS = a_code_key(forbid=("numpy.multiply", "loops"))
HIDING = {
    "plain": ["import numpy as np\ndef q1_f(x, by=2): return np.multiply(x, by)"],
    "helper": ["def q1_f(x, by=2): return h(x, by)", "from numpy import multiply as h"],
    "renamed": ["import numpy as np", "g = np\ndef q1_f(x, by=2): return g.multiply(x, by)"],
    "help": ["import numpy as np\ndef q1_f(x, by=2): return np.multiply(x, by)\nprint?"],
    "prompt": [">>> import numpy as np\n>>> def q1_f(x, by=2): return np.multiply(x, by)"],
    "separators": ["import numpy as np\n'\u2028\u2028\x1c'\ndef q1_f(x, by=2):\n"
                   "    return np.multiply(x, by)\n# a\n# b\n# c"],
    "long text": ["import numpy as np\ndef q1_f(x, by=2):\n    '''" + "x" * 50_000 + "'''\n"
                  "    return np.multiply(x, by)"],
    "long notebook": ["'" + "x" * 250_000 + "'",
                      "import numpy as np\ndef q1_f(x, by=2): return np.multiply(x, by)"],
    "evaluated": ["import numpy as np\nq1_f = eval('lambda x, by=2: np.' + 'multiply(x, by)')"],
    "patched": ["import numpy as np\nnp.double = np.multiply\n"
                "def q1_f(x, by=2): return np.double(x, by)"],
    "set": ["import numpy as np\nsetattr(np, 'double', np.multiply)\n"
            "def q1_f(x, by=2): return np.double(x, by)"],
    "global": ["def prepare():\n    global h\n    from numpy import multiply as h\nprepare()",
               "def q1_f(x, by=2): return h(x, by)"],
    "by key": ["import numpy as np\ndef loud(x, by): return np.multiply(x, by)",
               "def q1_f(x, by=2): return globals()['lo' + 'ud'](x, by)"],
    "elsewhere": ["from numpy.ma import multiply as m\ndef q1_f(x, by=2): return m(x, by).data"],
    "by the main module": ["import numpy as np\ndef loud(x, by): return np.multiply(x, by)",
                           "import __main__\ndef q1_f(x, by=2): return __main__.loud(x, by)"],
    "by its globals": ["import numpy as np\ndef loud(x, by): return np.multiply(x, by)",
                       "def q1_f(x, by=2): return q1_f.__globals__['loud'](x, by)"],
    "made name": ["import numpy as np\nname = 'multi' + 'ply'\n"
                  "def q1_f(x, by=2): return getattr(np, name)(x, by)"],
    "another alias": ["import numpy as np\nn = np\nn.double = np.multiply",
                      "import numpy\ndef q1_f(x, by=2): return numpy.double(x, by)"],
    "imported inside": ["import numpy as np\nnp.double = np.multiply",
                        "def q1_f(x, by=2):\n    import numpy\n    return numpy.double(x, by)"],
    "of modules": ["import numpy as np, sys\nsys.modules['numpy'].double = np.multiply",
                   "def q1_f(x, by=2): return np.double(x, by)"],
    "by its dict": ["import numpy as np\nvars(np).update(double=np.multiply)",
                    "def q1_f(x, by=2): return np.double(x, by)"],
    "by a star": ["from numpy import *", "def q1_f(x, by=2): return multiply(x, by)"],
    "starmap": ["import numpy as np\nfrom itertools import starmap\ndef one(v, by): return v * by\n"
                "def q1_f(x, by=2):\n"
                "    pairs = np.stack([x, np.full(x.shape, by)], -1).tolist()\n"
                "    return np.array(list(starmap(one, pairs)), dtype=float)"],
    "map": ["import numpy as np\n"
            "def q1_f(x, by=2): return np.array(list(map(lambda v: v * by, x)), dtype=float)"],
    "branch": ["import numpy as np\nif True:\n    def q1_f(x, by=2): return np.multiply(x, by)"],
}  # fmt: skip
FROM_NOWHERE = {
    "executed": ["exec('import numpy as np\\ndef q1_f(x, by=2): return np.multiply(x, by)')"],
    "from nowhere": ["import numpy as np\nget_ipython().push({'h': np.multiply})",
                     "def q1_f(x, by=2): return h(x, by)"],
    "output": ["import numpy as np", "np.multiply", "def q1_f(x, by=2, h=_): return h(x, by)"],
    "among the builtins": ["import builtins\nimport numpy as np\nbuiltins.double = np.multiply",
                           "def q1_f(x, by=2): return double(x, by)"],
}  # fmt: skip
KEEPING = {
    "right": ["def q1_f(x, by=2): return x * by"],
    "help": ["def q1_f(x, by=2): return x * by\nprint?"],
    "tests": ["import numpy as np\ndef q1_f(x, by=2):\n    expected = x * by\n    return expected",
              "for x in (np.ones(2), np.zeros(3)):\n    expected = np.multiply(x, 2)\n"
              "    np.testing.assert_allclose(q1_f(x), expected)"],
    "notes": ["import numpy as np\nseen = {}\nseen['numpy'] = np.multiply(2, 3)\n"
              "seen.update(other=[np.multiply(i, 2) for i in range(3)])",
              "def q1_f(x, by=2): return np.asarray(x) * by"],
    "star": ["from math import *\nfrom numpy import *",
             "def q1_f(x, by=2): return asarray(x) * by if inf > by else None"],
    "class": ["class Scaled:\n    def __init__(self, by): self.by = by\n"
              "    def __call__(self, x): return x * self.by",
              "def q1_f(x, by=2):\n    try:\n        return Scaled(by)(x)\n"
              "    except ValueError as error:\n        raise error from None"],
}  # fmt: skip


@pytest.mark.parametrize("cells", HIDING.values(), ids=HIDING)
def test_what_is_forbidden_is_found_wherever_it_is(cells: list[str]) -> None:
    evidence = ran(*cells, keys={"q1_f": FORBIDS})
    judgment = judged(evidence, "q1_f", FORBIDS)
    assert judgment.share == 0
    assert "must be solved without" in judgment.note or "forbids" in judgment.note, judgment
    # Without the rule it is right: it did run.
    assert judged(evidence, "q1_f", KEY).share == 1


@pytest.mark.parametrize("cells", KEEPING.values(), ids=KEEPING)
def test_what_is_not_forbidden_is_not_found(cells: list[str]) -> None:
    assert judged(ran(*cells, keys={"q1_f": FORBIDS}), "q1_f", FORBIDS).share == 1


@pytest.mark.parametrize("cells", FROM_NOWHERE.values(), ids=FROM_NOWHERE)
def test_what_no_cell_defines_is_for_a_person_to_look_at(cells: list[str]) -> None:
    evidence = ran(*cells, keys={"q1_f": FORBIDS})
    judgment = judged(evidence, "q1_f", FORBIDS)
    assert (judgment.share, judgment.verdict) == (None, Verdict.UNSETTLED)
    assert "a person will review it" in judgment.note
    assert judged(evidence, "q1_f", KEY).share == 1


def test_what_is_wrong_anyway_is_for_nobody_to_look_at() -> None:
    cell = "def q1_f(x, by=2): return no_such_name"
    assert judged(ran(cell, keys={"q1_f": FORBIDS}), "q1_f", FORBIDS).share == 0


LOUD = "import numpy as np\ndef loud(x, by=2): return np.multiply(x, by)"
REBOUND = {
    "by globals": "globals().update(q1_f=loud)",
    "by the module": "import sys; setattr(sys.modules['__main__'], 'q1_f', loud)",
    "by its code": "q1_f.__code__ = loud.__code__",
}  # fmt: skip
DYING = """
import os
if len(x) == 2:
    os._exit(1)
return None"""


@pytest.mark.parametrize("rebinding", REBOUND.values(), ids=REBOUND)
def test_what_was_looked_at_is_what_is_called(rebinding: str) -> None:
    cells = [LOUD, "def q1_f(x, by=2): return None", rebinding]
    judgment = judged(ran(*cells, keys={"q1_f": FORBIDS}), "q1_f", FORBIDS)
    assert (judgment.share, judgment.verdict) == (0, Verdict.INCORRECT)


def test_what_was_looked_at_is_called_in_a_kernel_made_anew_too() -> None:
    body = DYING.replace("\n", "\n    ")
    cells = [LOUD, f"def q1_f(x, by=2):{body}", "globals().update(q1_f=loud)"]
    assert judged(ran(*cells, keys={"q1_f": FORBIDS}), "q1_f", FORBIDS).share == 0


@pytest.mark.thorough
def test_what_only_does_something_is_not_done_again() -> None:
    cells = ["import builtins\nassert not hasattr(builtins, 'done')\nbuiltins.done = 1",
             "import torch\ntorch.set_num_interop_threads(1)\nfor factor in (1, 2): pass\n"
             "used = []\nused.append(factor)",
             "def q1_f(x, by=2): return x * used[0] * torch.tensor(by).item() / 2"]  # fmt: skip
    assert judged(ran(*cells, keys={"q1_f": FORBIDS}), "q1_f", FORBIDS).share == 1


def test_a_definition_that_fails_when_run_again_is_left_to_a_person() -> None:
    cells = ["import builtins",
             "def q1_f(x, by=1 / (1 - getattr(builtins, 'twice', 0.5))): return x * by",
             "builtins.twice = 1"]  # fmt: skip
    judgment = judged(ran(*cells, keys={"q1_f": FORBIDS}), "q1_f", FORBIDS)
    assert (judgment.share, judgment.verdict) == (None, Verdict.UNSETTLED)
    assert "its definition could not be run by itself; a person will review it" in judgment.note


ODD = {
    "counts its calls": ["def q1_f(x, by=2):\n    q1_f.calls += 1\n    return x * by",
                         "q1_f.calls = 0"],
    "partial": ["import functools\ndef q1_f(x, by, plus): return x * by + plus\n"
                "q1_f = functools.partial(q1_f, by=2, plus=0)"],
    "wrapped by hand": ["def whole(f): return lambda x, by=2: f(x, by)",
                        "def q1_f(x, by): return x * by\nq1_f = whole(q1_f)"],
    "an object": ["class q1_f:\n    def __call__(self, x, by=2): return x * by\nq1_f = q1_f()"],
    "a name used again": ["def factor(): return 1.0\nfactor = factor()",
                          "def q1_f(x, by=2): return x * by * factor"],
    "members of an Enum": ["import enum, operator\nclass Op(enum.Enum): TIMES = 1\n"
                           "TABLE = {Op.TIMES: operator.mul}",
                           "def q1_f(x, by=2): return TABLE[Op.TIMES](x, by)"],
    "a kept object": ["class One: pass\none = One()",
                      "def q1_f(x, by=2): return x * by if isinstance(one, One) else None"],
}  # fmt: skip


@pytest.mark.parametrize("cells", ODD.values(), ids=ODD)
def test_what_is_right_is_right_when_it_is_defined_again(cells: list[str]) -> None:
    assert judged(ran(*cells, keys={"q1_f": FORBIDS}), "q1_f", FORBIDS).share == 1


def test_a_long_chain_of_classes_is_looked_at_in_no_time() -> None:
    chain = [f"class a{n}: b = a{n - 1 if n else n}" for n in range(4000)]
    source = "\n".join([*chain, "x = a3999", "def f(): return x"])
    begun = time.process_time()
    assert functions_of(source).strip() == "def f(): return x"
    assert time.process_time() - begun < 20  # a third of a second; each class anew takes minutes


# -- forged answers

# Finds the module that answers, by the frames above a call, and replaces what it says.
PATCH = """\
import base64, json, sys
said, told = {said!r}, []

def patch():
    frame = sys._getframe()
    while frame is not None and "perform_safely" not in frame.f_globals:
        frame = frame.f_back
    space = frame.f_globals
    space["perform_safely"] = lambda asked, names: json.loads(said)
    space["perform"] = lambda asked, names: json.loads(said)
"""
ARRAY = '{"t": "array", "dtype": "float64", "shape": [0], "v": ""}'
LIES = {
    "right": '{"is": "returned", "v": {"t": "str", "v": "right"}, "share": 1, "correct": true}',
    "empty": f'{{"is": "returned", "v": {ARRAY}}}',
    "raised": '{"is": "raised", "type": "CORRECT", "what": "1.0"}',
    "unmade": '{"is": "unmade", "what": "our fault"}',
    "nan": '{"is": "returned", "v": {"t": "float", "v": NaN}}',
    "deep": '{"is": "returned", "v": {"t": "list", "v": ' + "[" * 900 + "]" * 900 + "}}",
    "dict": '{"is": "returned", "v": {"t": "dict", "v": 5}}',
    "key": '{"is": "returned", "v": {"t": "dict", "v": [[{"t": "list", "v": []}, {"t": []}]]}}',
    "shape": '{"is": "returned", "v": {"t": "array", "dtype": "f8", "shape": [1e99], "v": ""}}',
    "surrogate": '{"is": "returned", "v": {"t": "object", "type": "\\\\ud800\\\\u0000\\\\u202e"}}',
    "large": '{"is": "returned", "v": {"t": "list", "v": [' + '{"t": "none"}, ' * 9_000 +
             '{"t": "none"}]}}',
}  # fmt: skip


@pytest.mark.thorough
@on_linux
@pytest.mark.parametrize("said", LIES.values(), ids=LIES)
def test_forged_answers_earn_nothing_and_cost_nobody_else(said: str, tmp_path: Path) -> None:
    cells = defined(q1_first="return x * by", q1_liar="patch()\nreturn x * by")
    keys = {"q1_first": KEY, "q1_liar": KEY}
    evidence = ran(PATCH.format(said=said), *cells, "q2_b = 2", keys=keys)
    assert judged(evidence, "q1_first", KEY).share == 1
    liar = judged(evidence, "q1_liar", KEY)
    assert liar.share == 0
    assert liar.note.isprintable()
    with Gradebook.open(tmp_path / "book", create=True) as book:
        kept = book.put_evidence(evidence, "x")
        assert book.find_evidence(evidence.submission_sha256, "x") == kept == evidence


THREAD = """\
import threading, sys, time
kernel = get_ipython().kernel
def answer_all():
    while True:
        time.sleep(0.0005)
        parent = getattr(kernel, "_to", None)
        if parent:
            for said in ("", "AAAA", "eyJpcyI6ICJyZXR1cm5lZCJ9"):
                kernel.session.send(
                    kernel._requests, "said", {"said": said}, parent=parent[1], ident=parent[0]
                )
threading.Thread(target=answer_all, daemon=True).start()
"""


@on_linux
def test_a_thread_that_answers_in_our_place_harms_itself_alone() -> None:
    right = verdicts({"f": "return x * by"}, KEY)
    assert right["f"].share == 1
    evidence = ran(THREAD, *defined(q1_f="time.sleep(0.01)\nreturn x * by"), keys={"q1_f": KEY})
    if evidence.answers["q1_f"].raw is not None:
        assert judged(evidence, "q1_f", KEY).share in (0, 0.5, 1)  # lies about itself, or the truth
    assert evidence.outcome in (Outcome.FINISHED, Outcome.CRASHED)


REPLAY = """\
import sys
old = []
def replay():
    frame = sys._getframe()
    while frame is not None and "perform_safely" not in frame.f_globals:
        frame = frame.f_back
    space = frame.f_globals
    if "real" not in space:
        space["real"] = space["perform_safely"]
        def outcome(asked, names):
            old.append(space["real"](asked, names))
            return old[0]
        space["perform_safely"] = outcome
"""


@on_linux
def test_an_earlier_answer_does_not_stand_for_a_later_one() -> None:
    body = {"f": "replay()\nreturn x * by"}
    # The reply that is repeated may be right for the cases that come first.
    assert verdicts(body, KEY, before=REPLAY)["f"].cells["random cases"] == "incorrect"


# -- what gets out

MARK = "SECRET-OF-THE-SOLUTION"
LOOK = """\
import gc, glob, os, re
import numpy as np
half, other = b"SECRET-OF-", b"THE-SOLUTION"

done = []

def found():
    try:
        lines = open("/proc/self/maps").read().splitlines()
        memory = open("/proc/self/mem", "rb", 0)
    except OSError:
        return [1]  # not seen
    seen = 0
    for line in [] if done else lines:
        places, rights = line.split()[:2]
        if "r" not in rights or "[v" in line:
            continue
        start, end = (int(n, 16) for n in places.split("-"))
        try:
            memory.seek(start)
            data = memory.read(end - start)
        except OSError:
            continue
        for place in re.finditer(re.escape(half), data):
            seen += data[place.end():][:len(other)] == other
    done.append(seen)
    return ["SEEN"] if done[0] else []

control = (half + other).decode()  # what the search must find when it is there
"""


@pytest.mark.slow
@on_linux
def test_the_solution_is_nowhere_in_the_memory_of_the_kernel() -> None:
    assert MARK in SCALED
    key = a_code_key(SCALED.replace("x * by\n", "[]\n", 1))  # the right answer is "nothing seen"
    body = {"f": "return found()"}
    off = {"sandbox": "off"}
    seen = verdicts(body, key, before=LOOK, **off)["f"]
    assert seen.share == 0  # with the control in memory it is found
    clean = verdicts(body, key, before=LOOK.partition("control")[0], **off)["f"]
    assert clean.share == 1


TOKEN = "s3cr3t"
SPIED = f'''
def scaled(x, by=2):
    return len(x)

def scaled_cases(rng, given):
    for n in range(4):
        yield "texts", {{"x": "{TOKEN}"}}
'''
SPIES = {
    "message": "raise ValueError(x)",
    "class": "raise type(x, (Exception,), {})(x)",
    "known_class": "raise type('ValueError', (Exception,), {})(x)",
    "returned_class": "return type(x, (), {'__module__': x, '__qualname__': x})()",
    "key": "return {x: 1}",
    "text": "return x",
    "list": "return [x, {x: x}]",
    "shape": "import numpy as np\nreturn np.zeros((0, *x.encode()))",
    "file": "exec(compile('raise ValueError(x)', '<driver>', 'exec'), {'x': x})",
    "line": "exec(compile('\\n' * 99_999 + 'raise ValueError', '<ipython-input-1>', 'exec'))",
    "printed": "print(x)",
    "warned": "import warnings\nwarnings.warn(x)",
    "raised_name": "e = ValueError(x)\ne.add_note(x)\nraise e",
    "dead": "import sys\nsys.exit(x)",
}


def test_feedback_tells_nothing_of_hidden_inputs() -> None:
    key = a_code_key(SPIED)
    found = verdicts(SPIES, key)
    for name, judgment in found.items():
        assert judgment.share == 0
        assert TOKEN not in repr(judgment), name
        assert not all(str(code) in judgment.note for code in TOKEN.encode()), name
        assert "9999" not in judgment.note


def test_feedback_on_visible_examples_tells_nothing_of_another_part() -> None:
    spied = a_code_key(SPIED)
    example = {"call": "scaled(1)", "gives": "2"}
    shown = a_code_key(examples=(kinds_example(example),))
    keys = {"q1_spy": spied, "q1_tell": shown}
    tell = "if seen: raise ValueError(seen[0])\nreturn seen"
    cells = defined(q1_spy="seen.append(x)\nreturn len(x)", q1_tell=tell)
    evidence = ran("seen = []", *cells, keys=keys)
    assert judged(evidence, "q1_spy", spied).share == 1
    told = judged(evidence, "q1_tell", shown)
    assert "0 of 1 visible examples pass" in told.note
    assert TOKEN not in repr(told)


def kinds_example(fields: dict[str, str]) -> object:
    from grader.kinds.attempts import CodeExample

    return CodeExample(**fields)


@pytest.mark.thorough
def test_evidence_stays_small_whatever_is_returned() -> None:
    body = {f"f{n}": "return np.zeros(400_000)" for n in range(2)}
    keys = {f"q1_{name}": KEY for name in body}
    evidence = ran(*defined(**{f"q1_{n}": b for n, b in body.items()}), keys=keys)
    for name in keys:
        raw = evidence.answers[name].raw
        assert raw is not None
        assert len(json.dumps(raw)) < calls.MOST_SAID
        assert "more than 4 MB" in judged(evidence, name, KEY).note


# -- the whole way

SPEC = """\
id: twice
title: Twice
family: training
prompt: Write a function.
parts:
  - id: scaled
    kind: code
    ask: Scale x.
    points: 4
    starter: |
      import numpy as np

      def scaled(x, by=2):
          ...
    examples:
      - call: scaled(np.array([1.5]))
        gives: np.array([3.0])
"""


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A folder with a bank, a release and a folder for what is handed in."""
    bank = tmp_path / "bank"
    for name, text in (
        ("problems/training/twice.yaml", SPEC),
        ("problems/sets/lab.yaml", "id: lab\ntitle: Lab\nproblems: [twice]\n"),
        ("solutions/training/twice.py", SCALED),
    ):
        (bank / name).parent.mkdir(parents=True, exist_ok=True)
        (bank / name).write_text(text)
    roster = a_roster(tmp_path, "id\nann\n")
    ok("render", "lab", "--roster", roster, "--out", tmp_path / "release", "--bank", bank)
    (tmp_path / "handed").mkdir()
    return tmp_path


def hand_in(course: Path, body: str) -> Path:
    """Ann's notebook with this body of the function."""
    blank = json.loads((course / "release" / "notebooks" / "ann.ipynb").read_text())
    for cell in blank["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and "def q1_scaled" in source:
            cell["source"] = source.replace("    ...", f"    {body}")
    path = course / "handed" / "ann.ipynb"
    path.write_text(json.dumps(blank))
    return path


def graded(course: Path, *more: object) -> Mark:
    folders = (course / "handed", "--release", course / "release", "--out", course / "results")
    ok("grade", *folders, *more)
    with Gradebook.open(course / "results") as book:
        (grade,) = book.grades()
    (mark,) = grade.marks
    return mark


def test_a_students_notebook_holds_nothing_that_is_hidden(course: Path) -> None:
    text = (course / "release" / "notebooks" / "ann.ipynb").read_text()
    assert "def q1_scaled" in text
    for secret in (
        MARK,
        "scaled_cases",
        "_wrong_",
        "_right_",
        "x * by",
        "edge",
        "np.inf",
        "inputs",
    ):
        assert secret not in text
    released = json.loads((course / "release" / "release.json").read_text())
    assert released["solutions"] == {"twice": SCALED}


@pytest.mark.thorough
def test_check_runs_the_visible_examples(course: Path) -> None:
    right = ok("check", hand_in(course, "return x * by")).output
    assert "1 of 1 visible examples pass" in right
    said = ok("check", hand_in(course, "return x + by"))
    wrong = " ".join(said.output.split())
    assert said.return_value == 1
    assert "FAIL q1_scaled read as code, 0 of 1 visible examples pass" in wrong
    assert "FAIL `scaled(np.array([1.5]))` gives [3.5]" in wrong


def test_a_release_with_another_solution_is_refused(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hand_in(course, "return x * by")
    file = course / "release" / "release.json"
    edited = file.read_text().replace("return x * by", "return x + by", 1)
    assert edited != file.read_text()
    file.write_text(edited)
    where = ("grade", course / "handed", "--release", course / "release", "--out", course / "out")
    assert "changed after it was made" in fails(capsys, *where)


@pytest.mark.thorough
def test_with_other_cases_old_evidence_is_unsettled_and_made_again(course: Path) -> None:
    hand_in(course, "return x * 2")
    assert graded(course).points == 0
    fixed = SCALED.replace('"by": 3}', '"by": 2}').replace("rng.integers(2, 9)", "2")
    (course / "bank" / "solutions" / "training" / "twice.py").write_text(fixed)
    ok(
        "score", course / "results", "--specs", "current", "--bank", course / "bank",
        "--unverified", "--why", "test",
    )  # fmt: skip
    with Gradebook.open(course / "results") as book:
        (grade,) = book.grades()
    assert grade.marks[0].verdict is Verdict.UNSETTLED
    assert "run again" in grade.marks[0].feedback
    assert graded(course).points == 4  # the next run calls the new cases
    assert graded(course).points == 4


def test_the_reference_by_another_seed_has_other_cases() -> None:
    one, other = (a_code_key(seed=seed).call_plan("scaled").digests for seed in (1, 2))
    assert one == a_code_key(seed=1).call_plan("scaled").digests
    assert not set(one[-3:]) & set(other[-3:])
    assert len(one) == len(KEY.cases) == 10  # two of them once more
    changed = with_solution(KEY, SCALED.replace("size=5", "size=6"))
    assert changed.call_plan("scaled").digests != KEY.call_plan("scaled").digests


@pytest.mark.thorough
def test_a_slow_notebook_leaves_time_for_its_functions() -> None:
    limits = Limits(cell_seconds=5.0, notebook_seconds=1.5)
    evidence = ran(
        *defined(q1_f="return x * by"), "import time\ntime.sleep(30)", keys={"q1_f": KEY},
        limits=limits,
    )  # fmt: skip
    assert judged(evidence, "q1_f", KEY).share == 1
