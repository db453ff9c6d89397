"""Measurements in real kernels: speed earns when it is there, and no trick takes its place.

Nothing hangs on exact times: what is slow sleeps, and is a hundred times as slow as what is fast.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.kinds import kinds, ratios
from grader.kinds.prediction import Prediction
from grader.model import Judgment, Verdict
from grader.runtime.execute import agreement, measure
from grader.runtime.kernels import USUAL, KernelOptions, Session, kernels
from grader.wire.values import digest_of_result
from tests.helpers.code import a_draw, a_race_key, judged, ran
from tests.helpers.kernels import EVERY_WAY

SETUP = """
import time
import numpy as np

def prepare(seed):
    return (np.random.default_rng(seed).normal(size=1000),)

def baseline(x):
    time.sleep(0.04)
    return 2 * x
"""
SOLUTION = """
import numpy as np

def scaled(x, by=2):
    return by * x

def scaled_cases(rng, given):
    for _ in range(4):
        yield "random", {"x": rng.normal(size=5)}
"""
KEY = a_race_key(SOLUTION, SETUP)
SLOW = "time.sleep(0.04)\nreturn by * x"
RIGHT_ALONE = 0.4
"""The share for being right, however slow."""


def raced(
    body: str, *before: str, key: Any = KEY, **changes: Any
) -> tuple[Judgment, dict[str, Any]]:
    """The judgment on `scaled` with this body, and its measurement.

    A measurement that other work on the machine left unclear is made again, as in a batch.
    """
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    cell = f"import time\nimport numpy as np\ndef q1_scaled(x, by=2):\n{lines}"
    for _ in range(3):
        evidence = ran(*before, cell, keys={"q1_scaled": key}, **changes)
        raw = evidence.answers["q1_scaled"].raw
        assert raw is not None
        race: Any = raw["race"]
        judgment = judged(evidence, "q1_scaled", key)
        if "will be measured again" not in judgment.note:
            break
    return judgment, race


# -- honest code

FAST = {
    "right": "return by * x",
    "loop": "return np.array([by * value for value in x])",
    "sleeping when nobody looks": "if len(x) < 10: time.sleep(0.05)\nreturn by * x",
    "other order": "return x[::-1][::-1] * by",
    "stateful": "global n\nn = globals().get('n', 0) + 1\nreturn by * x",
    "rounded": "return (by * x.astype(np.longdouble)).astype(float)",
}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(body, id=name, marks=() if name in ("right", "loop") else pytest.mark.slow)
        for name, body in FAST.items()
    ],
)
def test_what_is_right_and_fast_earns_all(body: str) -> None:
    judgment, race = raced(body)
    assert judgment.share == 1, judgment.note
    assert race["wrong"] == 0
    assert len(race["rounds"]) >= measure.FEWEST


@pytest.mark.thorough
@EVERY_WAY
def test_what_is_right_and_slow_earns_its_part(way: dict[str, Any]) -> None:
    judgment, _ = raced(SLOW, **way)
    assert judgment.share == RIGHT_ALONE
    assert judgment.verdict is Verdict.PARTIAL
    assert "times as fast as the baseline. A ratio of 5 earns more" in judgment.note


@pytest.mark.slow
def test_a_cold_kernel_measures_too() -> None:
    assert raced("return by * x", sandbox="off", kernel="cold")[0].share == 1


@pytest.mark.thorough
def test_a_kernel_that_can_not_be_closed_costs_no_measurement(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    started = []
    usual = kernels.find(USUAL)

    def clinging(options: KernelOptions) -> Session:
        session = usual(options)
        started.append(session)
        close = session.close

        def failing() -> None:
            close()
            raise OSError("still there")

        session.close = failing  # type: ignore[method-assign]
        return session

    monkeypatch.setitem(kernels._registered, "clinging", clinging)
    judgment, race = raced("return by * x", kernel="clinging")
    assert judgment.share == 1, judgment.note
    assert len(race["rounds"]) >= measure.FEWEST
    # The notebook's, and two of each measurement: a busy machine may need more than one.
    assert len(started) in {3, 5, 7}
    assert caplog.text.count("still there") == len(started)


@pytest.mark.thorough
def test_what_is_slow_beyond_all_bounds_is_right_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measure, "_OVERTIME_SECONDS", 0.3)
    monkeypatch.setattr(measure, "ATTEMPTS", 1)
    key = a_race_key(SOLUTION, SETUP, seconds=0.3)
    judgment, race = raced("time.sleep(60 if len(x) > 10 else 0)\nreturn by * x", key=key)
    assert "late" in race
    assert judgment.share == RIGHT_ALONE
    assert "took more than" in judgment.note


STATE = [
    "table = []\nfor i in range(9): table.append(float(i))",
    "import numpy as np\nclass Config: pass\nsettings = {}",
    "settings['by'] = 2\nConfig.offset = 0\n1 / 0",
    "def prepare_all():\n    global ready\n    ready = True\nprepare_all()",
]


@pytest.mark.thorough
def test_code_is_measured_with_all_that_it_uses_of_the_notebook() -> None:
    body = "assert ready\nreturn settings['by'] * x + Config.offset + table[0] * 0"
    judgment, race = raced(body, *STATE)
    assert judgment.share == 1, (judgment.note, race)


@pytest.mark.slow
def test_a_notebook_too_slow_to_be_run_again_leaves_the_mark_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("grader.runtime.execute.measure._NOTEBOOK_SECONDS", 1.0)
    fill = "def fill(of):\n    import time\n    time.sleep(1.5)\n    of['by'] = 2"
    judgment, race = raced(
        "return settings['by'] * x", f"settings = {{}}\n{fill}", "fill(settings)"
    )
    assert judgment.share is None, race
    assert "running the notebook again took too long" in judgment.note


@pytest.mark.thorough
def test_a_result_that_may_only_be_too_wide_leaves_the_mark_open() -> None:
    setup = SETUP.replace("size=1000", "size=600_000").replace("2 * x", "(2 * x).astype('f4')")
    judgment, race = raced("return by * x", key=a_race_key(SOLUTION, setup))
    assert judgment.share is None, race
    assert "the result is too large" in judgment.note


# -- tricks

WRONG = {
    "by call stack": "import sys\nf = sys._getframe(1).f_code.co_name\n"
                     "return x if f == '_perform_round' else by * x",
    "by size": "return by * x if len(x) < 100 else x",
    "by count": "global n\nn = globals().get('n', 0) + 1\nreturn by * x if n < 7 else x",
    "cached": "c = globals().setdefault('c', [])\nc += [by * x] * (len(x) > 10)\n"
              "return c[0] if len(x) > 10 else by * x",
    "of the last": "global last\nold, last = globals().get('last', x), by * x\n"
                   "return old if len(x) > 10 else last",
    "half": "if len(x) > 10: x[:500] *= by\nreturn by * x if len(x) < 10 else x",
    "one wrong": "y = by * x\nif len(x) > 10: y[7] = 0\nreturn y",
    "single precision": "if len(x) > 10: return (by * x.astype(np.float32)).astype(float) * "
                        "(1 + 1e-5)\nreturn by * x",
    "another type": "return by * x if len(x) < 10 else list(by * x)",
    "nothing": "return by * x if len(x) < 10 else None",
    "raising": "if len(x) > 10: raise ValueError\nreturn by * x",
    "dying": "import os\nif len(x) > 10: os._exit(0)\nreturn by * x",
    "huge": "return by * x if len(x) < 10 else np.zeros(10**7)",
    "lazy": "class Lazy:\n    def __array__(self, *a, **k):\n        time.sleep(0.04)\n"
            "        return by * x\nreturn by * x if len(x) < 10 else Lazy()",
    "generator": "return by * x if len(x) < 10 else (by * v for v in x)",
    "thread": "import threading\nif len(x) < 10: return by * x\ny = np.zeros_like(x)\n"
              "def work():\n    time.sleep(0.01)\n    np.multiply(x, by, out=y)\n"
              "threading.Thread(target=work).start()\nreturn y",
    "process": "import mmap, os\nif len(x) < 10: return by * x\nm = mmap.mmap(-1, x.nbytes)\n"
               "y = np.frombuffer(m)\nif os.fork() == 0:\n    time.sleep(0.02)\n"
               "    y[:] = by * x\n    os._exit(0)\nreturn y",
}  # fmt: skip


_QUICK = ("by size", "cached", "one wrong", "lazy", "thread", "dying")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(body, id=name, marks=() if name in _QUICK else pytest.mark.slow)
        for name, body in WRONG.items()
    ],
)
def test_what_is_wrong_in_the_timed_runs_earns_nothing(body: str) -> None:
    judgment, race = raced(body)
    assert judgment.share == 0
    assert "All hidden cases pass, but" in judgment.note
    assert race.get("wrong") or "failed" in race


# All of these are as slow as the baseline; what is in front of them is meant to hide that.
FORGERIES = {
    "clocks": """\
import time, signal, threading
real, threading.Timer = time.sleep, None
for name in ("perf_counter", "time", "monotonic", "process_time", "perf_counter_ns", "time_ns"):
    setattr(time, name, lambda: 0)
signal.setitimer = signal.alarm = lambda *a: None
""",
    "numbers made ready": """\
import time
import numpy as np
real, kept = np.random.default_rng, {}
def default_rng(seed):
    rng = real(seed)
    class Ready:
        def normal(self, **k):
            x = rng.normal(**k)
            time.sleep(0.04)
            kept[id(x)] = 2 * x
            return x
    return Ready() if "_perform_round" in str(__import__("sys")._getframe(2).f_code) else rng
np.random.default_rng = default_rng
""",
    "prepared by another": """\
import sys, time
kept = {}
def patch():
    frame = sys._getframe()
    while frame is not None and "_perform_round" not in frame.f_globals:
        frame = frame.f_back
    space = frame.f_globals
    if "real" in space:
        return
    space["real"] = real = space["_perform_round"]
    def _perform_round(asked, names, around):
        if asked["round"] == "run":
            (x,) = around["prepare"](int(asked["seed"]))
            time.sleep(0.04)
            kept["y"] = 2 * x
        return real(asked, names, around)
    space["_perform_round"] = _perform_round
""",
    "a promise and a thread": """\
import sys, threading, time
def patch():
    frame = sys._getframe()
    while frame is not None and "_perform_round" not in frame.f_globals:
        frame = frame.f_back
    space = frame.f_globals
    if "real" in space:
        return
    space["real"] = real = space["_perform_round"]
    done = []
    def _perform_round(asked, names, around):
        if asked["round"] == "run":
            done[:] = [threading.Thread(target=real, args=(asked, names, around))]
            done[0].start()
            return {"is": "returned", "v": {"t": "str", "v": "0" * 32}}
        done and done[0].join()
        return real(asked, names, around)
    space["_perform_round"] = _perform_round
""",
}


@pytest.mark.thorough
@pytest.mark.parametrize("before", FORGERIES.values(), ids=FORGERIES)
def test_forgeries_do_not_make_it_fast(before: str) -> None:
    body = f"'patch' in globals() and patch()\nif 'kept' in globals() and kept:\n    pass\n{SLOW}"
    if "kept[id" in before:
        body = "return kept.pop(id(x)) if id(x) in kept else by * x"
    elif 'kept["y"]' in before:
        body = "patch()\nreturn kept.pop('y') if kept else by * x"
    judgment, race = raced(body, before)
    assert judgment.share in (0, RIGHT_ALONE), (judgment.note, race)


MATRIX_SETUP = """
import time
import numpy as np

def prepare(seed):
    time.sleep(0.06)  # what a large product takes
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(200, 1)) * rng.normal(size=500),)

def baseline(x):
    time.sleep(0.04)
    return 2 * x.sum(axis=0)
"""
NO_MATRIX = """\
import sys
def factors(seed):
    rng = np.random.default_rng(seed)
    return ((rng.normal(size=(200, 1)), rng.normal(size=500)),)
tools = sys._getframe(1).f_locals.get("tools", {})
if "prepare" in tools:
    tools["prepare"] = factors
if isinstance(x, tuple):
    return by * x[0].sum() * x[1]
time.sleep(0.04)
return by * x.sum(axis=0)"""


@pytest.mark.thorough
def test_inputs_that_are_never_made_are_not_raced_with() -> None:
    solution = SOLUTION.replace("return by * x", "return by * x.sum(axis=0)")
    solution = solution.replace("size=5", "size=(3, 5)")
    key = a_race_key(solution, MATRIX_SETUP)
    honest, race = raced("return by * x.sum(axis=0)", key=key)
    assert (honest.share, race["wrong"]) == (1, 0), honest.note
    judgment, race = raced(NO_MATRIX, key=key)
    assert (judgment.share, race["wrong"]) == (0, "inputs"), judgment.note
    assert "a timed run did not use the inputs it was given" in judgment.note


# Keeps all processors busy, except while the student's own function runs.
BURNER = """\
import ctypes, multiprocessing, os, time
import numpy as np
flag = multiprocessing.Value(ctypes.c_int, 1, lock=False)
def burn():
    end = time.monotonic() + 60
    while time.monotonic() < end:
        while not flag.value:
            time.sleep(0.0005)
        sum(range(2000))
for _ in range(4 * os.cpu_count()):
    if os.fork() == 0:
        burn()
        os._exit(0)
"""
BUSY_SETUP = SETUP.replace("time.sleep(0.04)", "sum(i * i for i in range(300_000))")


@pytest.mark.thorough
def test_slowing_the_baseline_down_earns_nothing() -> None:
    key = a_race_key(SOLUTION, BUSY_SETUP, ratio=2.5)
    body = "flag.value = 0\nsum(i * i for i in range(200_000 if len(x) > 10 else 0))\n"
    judgment, race = raced(f"{body}y = by * x\nflag.value = 1\nreturn y", BURNER, key=key)
    assert judgment.share in (None, RIGHT_ALONE), (judgment.note, race)


@pytest.mark.slow
def test_tensors_that_are_computed_when_somebody_looks() -> None:
    pytest.importorskip("torch")
    setup = """
import time, torch
def prepare(seed):
    return (torch.full((1000,), float(seed)),)
def baseline(x):
    time.sleep(0.04)
    return 2 * x
"""
    solution = """
import torch
def scaled(x, by=2):
    return by * x
def scaled_cases(rng, given):
    for n in range(4):
        yield "random", {"x": torch.full((3,), float(n))}
"""
    lazy = """\
import time, torch
class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        time.sleep(0.01)
        with torch._C.DisableTorchFunctionSubclass():
            return func(*[2 * a.as_subclass(torch.Tensor) if isinstance(a, Lazy) else a
                          for a in args], **(kwargs or {}))
"""
    key = a_race_key(solution, setup)
    assert raced("return by * x", "import torch", key=key)[0].share == 1
    judgment, race = raced("return x.as_subclass(Lazy)", lazy, key=key)
    assert judgment.share in (0, RIGHT_ALONE), (judgment.note, race)


# -- what is ours


@pytest.mark.thorough
def test_a_baseline_that_fails_is_no_fault_of_the_student(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "ATTEMPTS", 1)
    for broken in ("raise ValueError", "import os\n    os._exit(1)", "return np.zeros(10**7)"):
        key = a_race_key(SOLUTION, SETUP.replace("time.sleep(0.04)", broken))
        judgment, race = raced("return by * x", key=key)
        assert judgment.verdict is Verdict.UNSETTLED
        assert "baseline" in str(race["unmade"])


@pytest.mark.thorough
def test_what_is_not_right_is_not_worth_measuring() -> None:
    judgment, _ = raced("return by + x")
    assert judgment.share == 0
    assert "Speed counts only if all groups pass" in judgment.note


def a_prediction(**changes: Any) -> Any:
    usual = {"id": "sum", "kind": "prediction", "ask": "?", "unit": "", "answer": "45"}
    part = Prediction(**{**usual, "factor": 2.0, **changes})
    return kinds.find("prediction").key(part, a_draw(""))


COUNT = "def prepare(seed):\n    return (range(10),)\n\ndef measure(x):\n    return sum(x)\n"


@pytest.mark.parametrize(
    "answer, share",
    [("45", 1.0), ("45.2", 1.0), ("60", 0.4), ("-45", 0.0), ("0", 0.0), ("1000", 0.0)],
)  # fmt: skip
def test_a_prediction_is_held_against_the_model_and_the_count(answer: str, share: float) -> None:
    key = a_prediction(setup=COUNT)
    patched = "import builtins\nbuiltins.sum = lambda *a: 60"  # reaches no kernel but its own
    evidence = ran(patched, f"q1_sum = {answer}", keys={"q1_sum": key})
    assert evidence.answers["q1_sum"].raw is not None
    assert evidence.answers["q1_sum"].raw["race"] == {"counted": [45.0] * 3}
    judgment = judged(evidence, "q1_sum", key)
    assert judgment.share == pytest.approx(share)


def test_a_count_of_nothing_is_not_near_to_anything() -> None:
    key = a_prediction(setup=COUNT.replace("sum(x)", "0"))
    for answer, share in (("45", 0.6), ("0", 0.4)):
        evidence = ran(f"q1_sum = {answer}", keys={"q1_sum": key})
        assert judged(evidence, "q1_sum", key).share == pytest.approx(share)


# -- what a race comes to


def a_race(mine: float, baseline: float, **changes: Any) -> dict[str, Any]:
    """A measurement without any noise: seconds of each, with a millisecond for the asking."""
    return {
        "idle": [0.001] * 9,
        "alone": [baseline + 0.001] * 3,
        "after": [baseline + 0.001] * 3,
        "rounds": [[mine + 0.001, baseline + 0.001]] * 8,
        "wrong": 0,
        **changes,
    }


def test_the_ratio_is_that_of_the_net_times() -> None:
    found = ratios.time_ratio(a_race(0.01, 0.05))
    assert (found.low, found.middle, found.high) == pytest.approx((5, 5, 5))
    assert found.is_at_least(4.9) is True
    assert found.is_at_least(5.1) is False


def test_noise_widens_the_interval_and_moves_it_little() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        noise = 0.05 * rng.exponential(size=(24, 2)) * (rng.random((24, 2)) < 0.4)
        rounds = np.add(noise, [0.011, 0.101]).tolist()
        found = ratios.time_ratio(a_race(0.01, 0.1, rounds=rounds))
        assert found.low * 0.999 <= 10 <= found.high * 1.001
        assert found.is_at_least(2) is True
        assert found.is_at_least(40) is False


def test_a_baseline_that_is_slow_beside_the_student_alone_proves_nothing() -> None:
    beside = [[0.011, 0.101]] * 8  # ten times as fast; but as fast as the baseline when alone
    for when in ("alone", "after"):
        found = ratios.time_ratio(a_race(0.01, 0.1, rounds=beside, **{when: [0.011] * 3}))
        assert found.is_at_least(3) is None
        assert found.is_at_least(0.5) is True
        assert found.is_at_least(20) is False
        assert ratios.is_busy(a_race(0.01, 0.1, rounds=beside, **{when: [0.011] * 3}))
    assert not ratios.is_busy(a_race(0.01, 0.1))


def test_what_is_shorter_than_can_be_seen_is_fast_but_not_endlessly() -> None:
    found = ratios.time_ratio(a_race(0.0, 0.05))
    assert found.is_at_least(100) is True
    assert found.is_at_least(10_000) is None or found.is_at_least(10_000) is False


@pytest.mark.parametrize(
    "race, error",
    [
        ({}, ratios.NotMeasuredError),
        ({"unmade": "x"}, ratios.NotMeasuredError),
        (a_race(1, 1, rounds=[]), ratios.NotMeasuredError),
        (a_race(1, 1, rounds=[[1]]), ratios.NotMeasuredError),
        (a_race(1, 1, rounds=[[1, float("nan")]]), ratios.NotMeasuredError),
        (a_race(1, 1, idle=["x"]), ratios.NotMeasuredError),
        (a_race(1, 1, alone=None), ratios.NotMeasuredError),
        (a_race(1, 1, wrong=1), ratios.RanWrongError),
        ({"failed": "x"}, ratios.RanWrongError),
        ({"late": 5.0}, ratios.TooSlowError),
    ],
)
def test_what_came_to_nothing_says_so(race: Mapping[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        ratios.time_ratio(race)


def test_results_are_as_near_as_their_type_allows() -> None:
    from grader.wire import encoding

    def agree(mine: Any, right: Any) -> bool:
        theirs, ours = encoding.encode_result(mine), encoding.encode_result(right)
        return agreement.results_match({"t": "str", "v": digest_of_result(theirs)}, theirs, ours)

    rng = np.random.default_rng(0)
    for dtype, near, far in (
        ("float64", 1e-8, 1e-4), ("float32", 1e-5, 1e-2), ("float16", 1e-3, 1e-1),
        ("complex64", 1e-5, 1e-2),
    ):  # fmt: skip
        right = rng.normal(size=1000).astype(dtype)
        for off, alike in ((near, True), (far, False)):
            mine = right + (off * rng.normal(size=1000)).astype(dtype)
            assert agree([mine, 3], [right, 3]) is alike
    mixed = [1, "x", None, np.zeros(3, int)]
    assert agree(mixed, mixed)
    assert not agree([1, "x", None, np.array([0, 0, 1])], mixed)
    ours = encoding.encode_result(right)
    assert not agreement.results_match({"t": "str", "v": "0" * 64}, ours, ours)
    assert not agreement.results_match(None, ours, ours)


def test_seeds_are_new_every_time() -> None:
    assert len({measure._new_seed() for _ in range(100)}) == 100
    assert secrets.randbelow(2) in (0, 1)
    assert Path(measure.__file__).read_text().count("randbelow") == 1
