"""Measurements that count kernel launches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from grader.kinds import kinds, ratios
from grader.model import Judgment, Limits, Verdict
from grader.runtime.execute import measure
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


def counted(body: str, *before: str, key: Any, **changes: Any) -> tuple[Judgment, dict[str, Any]]:
    """The judgment on `scaled` with this body, and what was counted."""
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    cell = f"import torch\nimport numpy as np\ndef q1_scaled(x):\n{lines}"
    limits = Limits(cell_seconds=60, notebook_seconds=120)  # a cold kernel has torch to import
    evidence = ran(*before, cell, keys={"q1_scaled": key}, **{"limits": limits, **changes})
    raw = evidence.answers["q1_scaled"].raw
    assert raw is not None, (evidence.note, evidence.answers["q1_scaled"].absent)
    race: Any = raw["race"]
    return judged(evidence, "q1_scaled", key), race


# -- kernel launches


@pytest.mark.thorough
@EVERY_WAY
def test_a_fused_way_needs_fewer_launches(way: dict[str, Any]) -> None:
    judgment, race = counted("return torch.add(1, x, alpha=2)", key=BY_LAUNCHES, **way)
    # 6 products, 6 additions and a copy, against one fused operator.
    assert race["counts"] == [[1, 13]] * measure.FEWEST
    assert (judgment.share, judgment.verdict) == (1, Verdict.CORRECT)
    assert "1 kernel launches, and the baseline 13" in judgment.note


@pytest.mark.thorough
def test_a_chain_that_is_not_fused_earns_for_being_right() -> None:
    body = "y = torch.zeros_like(x)\nfor row in range(len(x)): y[row] = x[row] * 2 + 1\nreturn y"
    judgment, race = counted(body, key=BY_LAUNCHES)
    # A fill; of each row a product, an addition, a copy (of two rows 7, of six 19).
    assert race["counts"][0] == [19, 13]
    assert judgment.share == RIGHT_ALONE
    assert "19 kernel launches, and the baseline 13" in judgment.note
    assert "A ratio of 5 earns more" in judgment.note


@pytest.mark.thorough
def test_the_backward_pass_counts_when_it_is_asked_for() -> None:
    setup = LAUNCHES.replace("50),)", "50, requires_grad=True),)")
    forward = a_race_key(LAUNCHED, setup, by="launches")
    both = a_race_key(LAUNCHED, setup, by="launches", backward=True)
    _, race = counted("return 2 * x + 1", key=forward)
    assert race["counts"][0] == [2, 13]
    judgment, race = counted("return 2 * x + 1", key=both)
    mine, ours = race["counts"][0]
    assert mine == 3  # the product's gradient is another product
    assert ours > 13 + 6
    assert judgment.share == 1


@pytest.mark.thorough
def test_a_result_that_was_cut_off_from_its_gradient_is_wrong() -> None:
    setup = LAUNCHES.replace("50),)", "50, requires_grad=True),)")
    both = a_race_key(LAUNCHED, setup, by="launches", backward=True)
    judgment, race = counted("return 2 * x.detach() + 1", key=both)
    assert race["wrong"] == "result"
    assert judgment.share == 0


HIDDEN = {
    "in another thread": "import threading\nout = []\n"
    "t = threading.Thread(target=lambda: out.append(torch.stack([r * 2 + 1 for r in x])))\n"
    "t.start(); t.join()\nreturn out[0]",
    "where modes are off": "from torch.utils._python_dispatch import _disable_current_modes\n"
    "with _disable_current_modes(): return torch.stack([r * 2 + 1 for r in x])",
}


@pytest.mark.thorough
@pytest.mark.parametrize("body", HIDDEN.values(), ids=HIDDEN.keys())
def test_launches_that_are_hidden_are_counted_all_the_same(body: str) -> None:
    judgment, race = counted(body, key=BY_LAUNCHES)
    assert race["counts"][0][0] >= 13
    assert judgment.share == RIGHT_ALONE


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
    judgment, _ = counted(
        f"{patch}\nreturn torch.stack([r * 2 + 1 for r in x])", patch, key=BY_LAUNCHES
    )
    assert judgment.share != 1
    assert judgment.share in (None, 0, RIGHT_ALONE)


FORGED = """\
import base64, json
kernel = get_ipython().kernel
usual = type(kernel)._reply_text
def forge(self, content):
    text = usual(self, content)
    if b'"launches"' not in base64.b64decode(content.get("call") or ""):
        return text
    reply = json.loads(base64.b64decode(text))
    reply["v"]["v"][1] = {"t": "int", "v": "9" * 400}
    return base64.b64encode(json.dumps(reply).encode()).decode()
if usual.__name__ != "forge": type(kernel)._reply_text = forge
return 2 * x + 1"""


@pytest.mark.thorough
def test_a_forged_count_that_is_no_float_is_for_a_person_to_look_at() -> None:
    judgment, race = counted(FORGED, key=BY_LAUNCHES)
    assert race["disturbed"] == 1
    assert judgment.share in (None, RIGHT_ALONE)


@pytest.mark.thorough
def test_what_needs_no_torch_at_all_is_for_a_person_to_look_at() -> None:
    judgment, race = counted("return torch.from_numpy(2 * x.numpy() + 1)", key=BY_LAUNCHES)
    assert race["counts"][0][0] == 0
    assert (judgment.share, judgment.verdict) == (None, Verdict.UNSETTLED)
    assert "every solution needs at least 1" in judgment.note


def test_wrong_results_on_counted_inputs_earn_nothing() -> None:
    judgment, race = counted("return x if len(x) == 6 else 2 * x + 1", key=BY_LAUNCHES)
    assert race["wrong"] == "result"
    assert judgment.share == 0


def test_a_baseline_that_fails_is_no_fault_of_the_student() -> None:
    key = a_race_key(
        LAUNCHED, LAUNCHES.replace("return torch", "1 / 0\n    return torch"), by="launches"
    )
    judgment, race = counted("return torch.add(1, x, alpha=2)", key=key)
    assert "the baseline: an exception" in str(race["unmade"])
    assert (judgment.share, judgment.verdict) == (None, Verdict.UNSETTLED)


def test_a_count_that_is_made_no_more_is_for_a_person() -> None:
    key = a_race_key(LAUNCHED, LAUNCHES, by="instructions")
    judgment, race = counted("return torch.add(1, x, alpha=2)", key=key)
    assert race["unmade"] == "this version does not count instructions"
    assert (judgment.share, judgment.verdict) == (None, Verdict.UNSETTLED)


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
def test_what_can_not_be_concluded_is_said(race: Mapping[str, Any], error: type[Exception]) -> None:
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
def test_what_does_not_go_together_is_refused(changes: dict[str, Any], what: str) -> None:
    key = a_race_key(PAGED, LAUNCHES)
    with pytest.raises(ValueError, match=what):
        kinds.find("measurement").key(replace(key.part, **changes), a_draw(PAGED))
