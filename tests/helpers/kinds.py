"""Parts, draws and keys of every kind for tests: valid by default; a test changes one thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grader import units
from grader.kinds import Unreadable, kinds
from grader.kinds.attempts import Code, CodeExample
from grader.kinds.choice import SingleChoice
from grader.kinds.explanation import Explanation
from grader.kinds.lettered import Item
from grader.kinds.matching import Matching, MatchItem
from grader.kinds.measurement import Measurement, Step
from grader.kinds.multi_choice import MultiChoice
from grader.kinds.numeric import Integer, Numeric
from grader.kinds.options import AnswerOption
from grader.kinds.ordering import Ordering
from grader.kinds.plan_outcomes import Plan, Requirement, Shortcoming
from grader.kinds.prediction import Prediction
from grader.kinds.short_text import ShortText, TextMistake
from grader.kinds.table import Column, Table
from grader.kinds.true_false import TrueFalse
from grader.model import Draw, Judgment, Key, Mistake, Part, Tolerance
from grader.units.quantity import Value
from grader.wire.encoding import encode_answer

SCOPE: Mapping[str, Value] = {
    "billions": 7,
    "gpus": 16,
    "weights": units.quantity(14, "GB"),
    "bandwidth": units.quantity(3.35, "TB/s"),
}


def a_draw(seed: int = 0, **changes: Value) -> Draw:
    """A draw with a model, GPUs, weights and a bandwidth in scope."""
    scope = {**SCOPE, **changes}
    return Draw(seed=b"%d" % seed, scope=scope, facts={}, solution=SOLUTION)


SOLUTION = """\
import numpy as np


def scaled(x, by=2):
    return x * by


def scaled_right_loop(x, by=2):
    return np.array([value * by for value in x], dtype=x.dtype)


def scaled_cases(rng, given):
    yield "edge", {"x": np.zeros(0)}
    yield "edge", {"x": np.array([np.inf, -1.0]), "by": 0.5}
    for _ in range(4):
        yield "random", {"x": rng.normal(size=5), "by": int(rng.integers(2, 9))}


def scaled_wrong_added(x, by=2):
    return x + by


def scaled_wrong_list(x, by=2):
    return list(x * by)


def scaled_wrong_default(x, by=2):
    return x * 2
"""


def a_key(part: Part, seed: int = 0, **changes: Value) -> Any:
    """The key of a part, of the class that its kind makes."""
    return kinds.find(part.kind).key(part, a_draw(seed, **changes))


def judged(key: Key, answer: object) -> Judgment:
    """The judgment on a Python value, as the kernel would send it."""
    kind = kinds.find(key.part.kind)
    return kind.judge(kind.read(encode_answer(answer), key), key)


def said(key: Key, answer: object) -> str:
    """What a Python value is read as."""
    kind = kinds.find(key.part.kind)
    return kind.format_value(kind.read(encode_answer(answer), key), key)


def refused(key: Key, answer: object) -> str:
    """The sentence that refuses a Python value; fails when it is readable."""
    return refused_raw(key, encode_answer(answer))


def refused_raw(key: Key, raw: Mapping[str, Any]) -> str:
    """The sentence that refuses what a kernel sent; fails when it is readable."""
    try:
        value = kinds.find(key.part.kind).read(raw, key)
    except Unreadable as reason:
        return reason.sentence
    raise AssertionError(f"{raw} is read as {value!r}")


def is_blank(key: Key, answer: object) -> bool:
    """Whether a Python value counts as no answer at all."""
    try:
        kinds.find(key.part.kind).read(encode_answer(answer), key)
    except Unreadable as reason:
        return reason.blank
    return False


NOT_SHARDED = Mistake(
    id="not-sharded", value="weights", feedback="All of it; divide by {{ gpus }}.", credit=0.25
)


def a_numeric(**changes: Any) -> Numeric:
    """The weights on one GPU: 0.875 GB."""
    fields: dict[str, Any] = {"unit": "GB", "answer": "weights / gpus", **changes}
    return Numeric(id="share", ask="How much?", **fields)


def an_integer(**changes: Any) -> Integer:
    """The nodes for the GPUs: 2."""
    fields: dict[str, Any] = {"answer": "gpus / 8", **changes}
    return Integer(id="nodes", ask="How many?", **fields)


FORMATS = (
    AnswerOption(text="bfloat16", correct=True),
    AnswerOption(text="float32", feedback="That has 4 bytes.", credit=0.5),
    AnswerOption(text="8-bit float", feedback="That has 1 byte, not {{ gpus // 8 }}."),
    AnswerOption(text="int4"),
)


def a_choice(**changes: Any) -> SingleChoice:
    """One of four number formats: bfloat16."""
    fields: dict[str, Any] = {"options": FORMATS, **changes}
    return SingleChoice(id="format", ask="Which format?", **fields)


SHARDED = (
    AnswerOption(id="params", text="parameters", correct=True),
    AnswerOption(id="grads", text="gradients", correct=True),
    AnswerOption(id="adam", text="optimizer state", correct=True),
    AnswerOption(id="acts", text="activations", feedback="Activations stay where they are."),
    AnswerOption(id="inputs", text="input batches"),
)


def a_multi_choice(**changes: Any) -> MultiChoice:
    """What is sharded: three of five, unshuffled, so A, B, and C."""
    fields: dict[str, Any] = {"options": SHARDED, "shuffle": False, **changes}
    return MultiChoice(id="sharded", ask="What is sharded?", **fields)


def a_true_false(**changes: Any) -> TrueFalse:
    """Whether the weights fit into 80 GB: they do."""
    fields: dict[str, Any] = {"answer": "weights <= 80 * GB", **changes}
    return TrueFalse(id="fits", ask="It fits.", **fields)


REASONS = (
    AnswerOption(id="small", text="{{ weights }} is less than 80 GB.", correct=True),
    AnswerOption(
        id="shared", text="Each GPU has 1/{{ gpus }} of it.", feedback="They are replicated."
    ),
    AnswerOption(id="streamed", text="Weights are streamed from the host."),
)


def a_reasoned_claim(**changes: object) -> TrueFalse:
    """Whether the weights fit into 80 GB, and why: they do, because they are small."""
    return a_true_false(**{"reasons": REASONS, **changes})


STEPS = tuple(Item(id=i, text=f"the {i} step") for i in ("load", "forward", "backward", "update"))


def a_plan(**changes: Any) -> Plan:
    """A layout of the 16 GPUs: tp 4, pp 1 is the cheapest of those that fit into 20 GB."""
    fields: dict[str, Any] = {
        "choose": {"tp": (1, 2, 4), "pp": (1, 2, 3), "checkpoint": ("none", "full")},
        "values": {
            "dp": "gpus / (tp * pp)",
            "memory": "weights / (tp * pp) * (4 if checkpoint == 'none' else 2)",
        },
        "require": (
            Requirement(id="not-whole", that="dp == floor(dp)", feedback="{{ gpus }} GPUs."),
            Requirement(
                id="does-not-fit",
                that="memory <= 20 * GB",
                credit=0.25,
                feedback="It takes {{ memory | unit('GB') }}.",
            ),
        ),
        "cost": "(8 + tp + 3 * pp) * (1.5 if checkpoint == 'full' else 1) * ms",
        "unit": "ms",
        "full": 0.1,
        "none": 0.6,
        "shortcomings": (
            Shortcoming(id="recomputes", when="checkpoint == 'full'", feedback="It recomputes."),
        ),
        **changes,
    }
    return Plan(id="layout", ask="Choose a layout.", **fields)


def an_ordering(**changes: Any) -> Ordering:
    """The four steps of training in their only order."""
    chain = tuple(s.id for s in STEPS)
    fields: dict[str, Any] = {"items": STEPS, "order": (chain,), **changes}
    return Ordering(id="steps", ask="In which order?", **fields)


def a_matching(**changes: Any) -> Matching:
    """Three stages of ZeRO with what each shards first, and a distractor."""
    fields: dict[str, Any] = {
        "items": (
            MatchItem(id="one", text="ZeRO-1", match="adam"),
            MatchItem(id="two", text="ZeRO-2", match="grads"),
            MatchItem(id="three", text="ZeRO-3", match="params"),
        ),
        "targets": tuple(Item(id=i, text=f"the {i}") for i in ("adam", "grads", "params", "data")),
        **changes,
    }
    return Matching(id="stages", ask="Which shards what?", **fields)


def a_table(**changes: Any) -> Table:
    """Weights on one GPU, and the time to read them, for 2, 4 and 8 GPUs."""
    fields: dict[str, Any] = {
        "row": "n",
        "rows": (2, 4, 8),
        "columns": (
            Column(
                id="share",
                title="weights",
                unit="GB",
                answer="weights / n",
                mistakes=(NOT_SHARDED,),
            ),
            Column(id="time", title="time", unit="ms", answer="weights / n / bandwidth"),
        ),
        **changes,
    }
    return Table(id="grid", ask="Fill in.", **fields)


def a_short_text(**changes: Any) -> ShortText:
    """The collective of data parallelism: all-reduce."""
    fields: dict[str, Any] = {
        "accept": ("all-reduce", "all reduce", "allreduce"),
        "mistakes": (
            TextMistake(id="gather", accept=("all-gather",), feedback="That adds nothing up."),
        ),
        **changes,
    }
    return ShortText(id="collective", ask="Which collective?", **fields)


def an_explanation(**changes: Any) -> Explanation:
    """A why."""
    fields: dict[str, Any] = {"rubric": "Full marks for {{ gpus }} GPUs.", **changes}
    return Explanation(id="why", ask="Why?", **fields)


COMPUTED = (
    AnswerOption(id="right", value="weights / gpus", unit="GB", correct="gpus > 1"),
    AnswerOption(id="total", value="weights", unit="GB", correct="gpus <= 1"),
    AnswerOption(id="double", value="2 * weights", unit="GB", digits=2),
)

# Enough of every kind that the conformance suite sees its corners.
STARTER = """\
import numpy as np

def scaled(x, by=2):
    \"\"\"x times by.\"\"\"
    ...
"""
SETUP = """\
import numpy as np

def prepare(seed):
    return (np.random.default_rng(seed).normal(size=1000),)

def baseline(x):
    return np.array([value * 2 for value in x])
"""
EXAMPLE = CodeExample(call="scaled(np.array([1.5]))", gives="np.array([3.0])")


def a_code(**changes: Any) -> Code:
    """A function that scales an array."""
    return Code(**{"id": "scaled", "ask": "Scale.", "starter": STARTER, **changes})


def a_measurement(**changes: Any) -> Measurement:
    """The same, twice as fast as a loop."""
    whole = {"id": "scaled", "ask": "Scale.", "starter": STARTER, "setup": SETUP}
    return Measurement(**{**whole, "speed": (Step(ratio=2, share=1.0),), **changes})


def a_prediction(**changes: Any) -> Prediction:
    """The time to read the weights, and the machine's."""
    whole = {"id": "time", "kind": "prediction", "ask": "How long?", "unit": "ms"}
    return Prediction(**{**whole, "answer": "weights / bandwidth", "setup": SETUP, **changes})


PARTS: tuple[Part, ...] = (
    a_code(),
    a_code(examples=(EXAMPLE,), groups={"edge": 1, "random": 0.25}, forbid=("loops_",)),
    a_measurement(examples=(EXAMPLE,)),
    a_prediction(),
    a_prediction(setup="def prepare(seed):\n    return ()\n\ndef measure():\n    return 4.0\n"),
    a_numeric(),
    a_numeric(mistakes=(NOT_SHARDED,), slips=False),
    a_numeric(answer="-3 * weights", tolerance=Tolerance(factor=2)),
    a_numeric(answer="0 * GB", tolerance=Tolerance(absolute="10 * MB")),
    a_numeric(answer="gpus / 3", unit="", tolerance=Tolerance(significant_figures=3)),
    a_numeric(answer="1 / 3", unit="%"),
    a_numeric(answer="weights / bandwidth", unit="ms"),
    a_numeric(answer="gpus * 1e9", unit="", tolerance=Tolerance(absolute=0.5)),
    an_integer(),
    an_integer(answer="weights / gpus", unit="B"),
    an_integer(answer="2 ** 64 - 1"),
    an_integer(answer=-5, tolerance=Tolerance(absolute=1.5)),
    an_integer(answer=0),
    an_integer(answer=9, tolerance=Tolerance(relative=0.5), mistakes=(
        Mistake(id="half", value="gpus / 32", feedback="Half."),)),
    a_choice(),
    a_choice(shuffle=False),
    a_choice(options=COMPUTED),
    a_choice(options=(AnswerOption(text="Yes", correct=True), AnswerOption(text="No"))),
    a_multi_choice(),
    a_multi_choice(shuffle=True, rule="each-option"),
    a_multi_choice(rule="net-correct"),
    a_multi_choice(options=SHARDED[3:], rule="net-correct"),
    a_true_false(),
    a_true_false(answer=False, feedback="They take {{ weights }}."),
    a_reasoned_claim(),
    a_reasoned_claim(answer="weights > 80 * GB", reason_share=0.25, feedback="They do."),
    an_ordering(),
    an_ordering(credit="pairs"),
    an_ordering(credit="longest-run", order=(("load", "update"), ("forward", "update"))),
    a_matching(),
    a_matching(items=(MatchItem(id="one", text="ZeRO-1", match="adam"),)),
    a_table(),
    a_table(rows=("gpus",), columns=(Column(id="c", title="count", answer="n"),)),
    a_table(rows=("1 * GB", "1 * GiB"), columns=(
        Column(id="c", title="bytes per {{ gpus }}", answer="n / gpus", unit="MB"),)),
    a_plan(),
    a_plan(cost=None, gain="100 / (8 + tp + 3 * pp)", unit="", require=(), shortcomings=()),
    a_short_text(),
    a_short_text(match="exact", accept=("NCCL",)),
    a_short_text(match="regex", accept=(r"(?i)all[- ]?reduce",), example="all-reduce"),
    an_explanation(),
    an_explanation(rubric=""),
)  # fmt: skip
