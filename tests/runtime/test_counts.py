"""Measurements that count: kernel launches in the kernel, and what the system counts from outside.

Where this machine counts no instructions, those tests see that nobody loses anything by it, and
the same way is gone with page faults, which the system itself counts.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.cli.doctor_report import examine
from grader.kinds import kinds, ratios
from grader.model import Judgement, Limits, Raw, Verdict
from grader.runtime.execute import counts, measure
from grader.runtime.machine import counters
from grader.runtime.machine.calibrate import Settings, calibrate
from tests.helpers.code import a_draw, a_race_key, judged, ran
from tests.helpers.kernels import EVERY_WAY

LAUNCHES = """
import torch

def prepare(seed):
    torch.manual_seed(seed)
    return (torch.randn(6, 50),)

def baseline(x):
    rows = [row * 2 for row in x]
    return torch.stack([row + 1 for row in rows])
"""
# A few small maps each time: memory that is kept for later, or comes in large pages, has no faults.
TOUCHED = """
import mmap

def touched(pages):
    for _ in range(pages // 100):
        room = mmap.mmap(-1, 100 * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        room[:: 4096] = b"x" * 100
"""
PAGES = f"""
{TOUCHED}
import numpy as np

def prepare(seed):
    return (np.random.default_rng(seed).normal(size=600),)

def baseline(x):
    touched(len(x))
    return 2 * x
"""
LAUNCHED = """
import torch

def scaled(x):
    return 2 * x + 1

def scaled_cases(rng, given):
    for _ in range(4):
        yield "random", {"x": torch.from_numpy(rng.normal(size=(2, 3)))}
"""
PAGED = """
import numpy as np

def scaled(x):
    return 2 * x

def scaled_cases(rng, given):
    for _ in range(4):
        yield "random", {"x": rng.normal(size=5)}
"""
RIGHT_ALONE = 0.4
BY_LAUNCHES = a_race_key(LAUNCHED, LAUNCHES, by="launches", least=1)
BY_PAGES = a_race_key(PAGED, PAGES, by="page_faults")
needs_instructions = pytest.mark.skipif(
    counters.find_counter_error("instructions") is not None,
    reason="this machine counts no instructions",
)
needs_page_faults = pytest.mark.skipif(
    counters.find_counter_error("page_faults") is not None,
    reason="perf_event_open is refused here",
)


def counted(body: str, *before: str, key: Any, **changes: object) -> tuple[Judgement, Raw]:
    """The judgement on `scaled` with this body, and what was counted."""
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    cell = f"import torch\nimport numpy as np\ndef q1_scaled(x):\n{lines}"
    limits = Limits(cell_seconds=60, notebook_seconds=120)  # a cold kernel has torch to import
    evidence = ran(*before, cell, keys={"q1_scaled": key}, **{"limits": limits, **changes})
    raw = evidence.answers["q1_scaled"].raw
    assert raw is not None, (evidence.note, evidence.answers["q1_scaled"].absent)
    race = raw["race"]
    assert isinstance(race, dict)
    return judged(evidence, "q1_scaled", key), race


# -- kernel launches


@pytest.mark.thorough
@EVERY_WAY
def test_a_fused_way_needs_fewer_launches(way: dict[str, str]) -> None:
    judgement, race = counted("return torch.add(1, x, alpha=2)", key=BY_LAUNCHES, **way)
    # 6 products, 6 additions and a copy, against one fused operator.
    assert race["counts"] == [[1, 13]] * counts.FEWEST
    assert (judgement.share, judgement.verdict) == (1, Verdict.CORRECT)
    assert "1 kernel launches, and the baseline 13" in judgement.note


def test_a_chain_that_is_not_fused_earns_for_being_right() -> None:
    body = "y = torch.zeros_like(x)\nfor row in range(len(x)): y[row] = x[row] * 2 + 1\nreturn y"
    judgement, race = counted(body, key=BY_LAUNCHES)
    # A fill; of each row a product, an addition, a copy (of two rows 7, of six 19).
    assert race["counts"][0] == [19, 13]
    assert judgement.share == RIGHT_ALONE
    assert "19 kernel launches, and the baseline 13" in judgement.note
    assert "A ratio of 5 earns more" in judgement.note


def test_the_backward_pass_counts_when_it_is_asked_for() -> None:
    setup = LAUNCHES.replace("50),)", "50, requires_grad=True),)")
    forward = a_race_key(LAUNCHED, setup, by="launches")
    both = a_race_key(LAUNCHED, setup, by="launches", backward=True)
    _, race = counted("return 2 * x + 1", key=forward)
    assert race["counts"][0] == [2, 13]
    judgement, race = counted("return 2 * x + 1", key=both)
    mine, ours = race["counts"][0]
    assert mine == 3  # the product's gradient is another product
    assert ours > 13 + 6
    assert judgement.share == 1


def test_a_result_that_was_cut_off_from_its_gradient_is_wrong() -> None:
    setup = LAUNCHES.replace("50),)", "50, requires_grad=True),)")
    both = a_race_key(LAUNCHED, setup, by="launches", backward=True)
    judgement, race = counted("return 2 * x.detach() + 1", key=both)
    assert race["wrong"] == "result"
    assert judgement.share == 0


HIDDEN = {
    "in another thread": "import threading\nout = []\n"
    "t = threading.Thread(target=lambda: out.append(torch.stack([r * 2 + 1 for r in x])))\n"
    "t.start(); t.join()\nreturn out[0]",
    "where modes are off": "from torch.utils._python_dispatch import _disable_current_modes\n"
    "with _disable_current_modes(): return torch.stack([r * 2 + 1 for r in x])",
}


@pytest.mark.parametrize("body", HIDDEN.values(), ids=HIDDEN.keys())
def test_launches_that_are_hidden_are_counted_all_the_same(body: str) -> None:
    judgement, race = counted(body, key=BY_LAUNCHES)
    assert race["counts"][0][0] >= 13
    assert judgement.share == RIGHT_ALONE


PATCHES = {
    "the mode is never entered": "import torch.utils._python_dispatch as d\n"
    "d.TorchDispatchMode.__enter__ = lambda self: self\n"
    "d.TorchDispatchMode.__exit__ = lambda self, *_: None",
    "the profiler sees nothing": "import torch.autograd.profiler as p\n"
    "p.profile.__enter__ = lambda self: self\np.profile.__exit__ = lambda self, *_: None",
    "the mode is popped": "import torch.utils._python_dispatch as d\nd._push_mode = lambda m: None",
}


@pytest.mark.parametrize("patch", PATCHES.values(), ids=PATCHES.keys())
def test_a_patched_counter_makes_nothing_fewer(patch: str) -> None:
    judgement, _ = counted(
        f"{patch}\nreturn torch.stack([r * 2 + 1 for r in x])", patch, key=BY_LAUNCHES
    )
    assert judgement.share != 1
    assert judgement.share in (None, 0, RIGHT_ALONE)


def test_what_needs_no_torch_at_all_is_for_a_person_to_look_at() -> None:
    judgement, race = counted("return torch.from_numpy(2 * x.numpy() + 1)", key=BY_LAUNCHES)
    assert race["counts"][0][0] == 0
    assert (judgement.share, judgement.verdict) == (None, Verdict.UNSETTLED)
    assert "every solution needs at least 1" in judgement.note


def test_wrong_results_on_counted_inputs_earn_nothing() -> None:
    judgement, race = counted("return x if len(x) == 6 else 2 * x + 1", key=BY_LAUNCHES)
    assert race["wrong"] == "result"
    assert judgement.share == 0


# -- what is counted from outside


@pytest.mark.thorough
@needs_page_faults
@EVERY_WAY
def test_page_faults_are_counted_from_outside(way: dict[str, str]) -> None:
    judgement, race = counted("return 2 * x", key=BY_PAGES, **way)
    mine, ours = ratios.median_counts(race)
    assert 550 < ours < 750
    assert mine < 60
    assert judgement.share == 1, judgement.note
    assert len(race["counts"]) == counts.FEWEST < measure.FEWEST


@needs_page_faults
def test_what_another_thread_touches_counts() -> None:
    body = (
        "import threading\nt = threading.Thread(target=touched, args=(len(x) // 100 * 100,))\n"
        "t.start(); t.join()\nreturn 2 * x"
    )
    judgement, race = counted(body, TOUCHED, key=BY_PAGES)
    assert ratios.median_counts(race)[0] > 500
    assert judgement.share == RIGHT_ALONE


@needs_page_faults
def test_what_a_process_touches_counts_and_nobody_inside_can_stop_it() -> None:
    body = (
        "import ctypes, os\n"
        "ctypes.CDLL(None).prctl(31, 0, 0, 0, 0)  # PR_TASK_PERF_EVENTS_DISABLE\n"
        "if os.fork() == 0:\n"
        "    touched(6 * len(x))\n"
        "    os._exit(0)\n"
        "os.wait()\nreturn 2 * x"
    )
    judgement, race = counted(body, TOUCHED, key=BY_PAGES)
    assert ratios.median_counts(race)[0] > 3600
    assert judgement.share == RIGHT_ALONE


@needs_instructions
def test_instructions_are_counted_from_outside() -> None:
    body = "return np.array([2 * value for value in x.tolist()])"
    key = a_race_key(PAGED, PAGES.replace("size=600", "size=100_000"), by="instructions")
    judgement, race = counted("return 2 * x", key=key)
    assert judgement.share == 1
    slow, loop = counted(body, key=key)
    assert ratios.median_counts(loop)[0] > 5 * ratios.median_counts(race)[0]
    assert slow.share == RIGHT_ALONE


@pytest.mark.skipif(
    counters.find_counter_error("instructions") is None, reason="this machine counts instructions"
)
def test_where_nothing_counts_instructions_the_mark_waits() -> None:
    key = a_race_key(PAGED, PAGES, by="instructions")
    judgement, race = counted("return 2 * x", key=key)
    assert set(race) == {"uncounted"}
    assert (judgement.share, judgement.verdict) == (None, Verdict.UNSETTLED)
    assert "waits for a machine that counts instructions" in judgement.note
    assert "No points are deducted" in judgement.note
    wrong, _ = counted("return x", key=key)
    assert (wrong.share, wrong.verdict) == (0, Verdict.INCORRECT)  # which needs no counter


@needs_page_faults
def test_a_counter_counts_what_happens_between_start_and_stop() -> None:
    def touch(pages: int) -> None:
        # Fresh pages: what the allocator has kept from before would fault no more.
        with mmap.mmap(-1, pages * mmap.PAGESIZE) as room:
            for place in range(0, len(room), mmap.PAGESIZE):
                room[place] = 1

    with counters.open_counter("page_faults", os.getpid()) as counter:
        touch(100)
        assert counter.read() == 0
        counter.start()
        touch(300)
        counter.stop()
        first = counter.read()
        touch(300)
        assert counter.read() == first
    assert 300 <= first < 400


def test_a_process_that_is_gone_is_no_process_to_count_in() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    with pytest.raises(counters.CounterError, match="has ended"):
        counters.Counter("page_faults", child)


def test_two_kinds_of_cores_are_two_counters(tmp_path: Path) -> None:
    event = counters.EVENTS["instructions"]
    for name, kind, file in (
        ("cpu_atom", 10, "cpus"),
        ("cpu_core", 4, "cpus"),
        ("imc", 9, "cpumask"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "type").write_text(f"{kind}\n")
        (tmp_path / name / file).write_text("0-3\n")
    assert counters._core_types(event, tmp_path) == (10, 4)
    assert counters._core_types(counters.EVENTS["page_faults"], tmp_path) == (0,)
    assert counters._core_types(event, tmp_path / "nothing") == (0,)


def test_the_doctor_says_what_can_be_counted_and_why_not() -> None:
    found = {finding.what: finding for finding in examine(kernel=False)}
    for event in counters.EVENTS:
        finding, why = found[f"counter: {event}"], counters.find_counter_error(event)
        assert finding.ok is (True if why is None else None)
        assert why is None or (why.what in finding.seen and finding.fix)


@pytest.mark.thorough
def test_calibration_says_why_instructions_are_not_counted() -> None:
    profile = calibrate(Settings(quick=True, torch=False))
    said = [left.why for left in profile.left_out if left.what == "instructions"]
    why = counters.find_counter_error("instructions")
    assert said == ([] if why is None else [why.what])


def test_a_baseline_that_fails_is_no_fault_of_the_student() -> None:
    key = a_race_key(
        LAUNCHED, LAUNCHES.replace("return torch", "1 / 0\n    return torch"), by="launches"
    )
    judgement, race = counted("return torch.add(1, x, alpha=2)", key=key)
    assert "the baseline: an exception" in str(race["unmade"])
    assert (judgement.share, judgement.verdict) == (None, Verdict.UNSETTLED)


# -- what is concluded

RACE = {"counts": [[100, 1000], [200, 2000], [100, 1000], [150, 1500], [100, 1000]], "wrong": 0}


def test_the_ratio_of_counts_is_that_of_each_round() -> None:
    ratio = ratios.measured_ratio({**RACE, "idle": [0.0]})
    assert (ratio.low, ratio.middle, ratio.high) == (10, 10, 10)
    ratio = ratios.measured_ratio({**RACE, "idle": [50, 50, 50]})
    assert (ratio.low, ratio.high) == (13, 19)


@pytest.mark.parametrize(
    ("race", "error"),
    [
        ({"uncounted": "no counter"}, ratios.ElsewhereError),
        ({"disturbed": 1}, ratios.DisturbedError),
        ({**RACE, "least": 101}, ratios.DisturbedError),
        ({**RACE, "wrong": 1}, ratios.RanWrongError),
        ({"counts": []}, ratios.NotMeasuredError),
        ({"counts": [[1]]}, ratios.NotMeasuredError),
        ({"counts": [[1, "x"]]}, ratios.NotMeasuredError),
        ({"counts": [[1, 2]], "failed": "x"}, ratios.RanWrongError),
    ],
    ids=["elsewhere", "disturbed", "least", "wrong", "none", "half", "text", "failed"],
)
def test_what_can_not_be_concluded_is_said(
    race: Mapping[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        ratios.measured_ratio(race)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"backward": True}, "by: launches"),
        ({"least": 3}, "use 'work'"),
    ],
    ids=["backward", "least"],
)
def test_what_does_not_go_together_is_refused(changes: dict[str, object], what: str) -> None:
    key = a_race_key(PAGED, PAGES)
    with pytest.raises(ValueError, match=what):
        kinds.find("measurement").key(replace(key.part, **changes), a_draw(PAGED))
