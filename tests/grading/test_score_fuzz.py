"""Whatever comes out of a kernel, honest or forged, scoring ends with a sound grade."""

from __future__ import annotations

import ast
import copy
import decimal
import fractions
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.bank.folders import Bank
from grader.bank.problem import problem_from
from grader.bank.yaml12 import parse_yaml
from grader.draw import draw, sample_seed, standalone_paper
from grader.grading.score import score
from grader.kinds import kinds
from grader.kinds.answers import answer_as_python
from grader.kinds.choice import ChoiceKind
from grader.kinds.numeric import NumericKey
from grader.model import Answer, Evidence, Grade, Key, Mark, Outcome, Paper, Raw, Verdict
from grader.testing import NONSENSE
from grader.wire.encoding import encode_answer

VARIANTS = 2

# What the bank's own problems leave out: kinds graded by hand or by words, and a carried answer
# that no guard on its size stops.
ODD = """\
id: odd
title: Odd answers
family: memory-math
parameters:
  gpus: {choice: [8]}
prompt: A model on {{ gpus }} GPUs.
parts:
  - id: spare
    kind: numeric
    ask: How much is left?
    unit: EB
    answer: 0 * EB
    tolerance: {absolute: 1 * GB}
  - id: n_gpus
    kind: integer
    ask: How many more?
    answer: gpus - 8
    mistakes: [{id: all, value: gpus, feedback: All of them.}]
  - id: time
    kind: numeric
    ask: How long does that take?
    unit: us
    uses: [spare, n_gpus]
    carry: {within: 1.0e+300}
    answer: spare / (1 * TB / s) + n_gpus * 2 * us
    mistakes:
      - {id: huge, value: 1e200 * (spare / (1 * TB / s) + n_gpus * us), feedback: Less.}
  - id: nearest
    kind: choice
    ask: Which?
    uses: [spare]
    carry: {within: 1.0e+300}
    options:
      - {id: same, value: spare, unit: KiB, correct: true}
      - {id: more, value: 2 * spare + 1 * KiB, unit: KiB, feedback: No.}
  - {id: word, kind: short_text, ask: Which collective?, accept: [all-reduce]}
  - {id: why, kind: explanation, ask: Why?, rubric: Any reason.}
"""


@dataclass(frozen=True)
class QuizQuestion:
    """A paper, and for each part by name samples of its kind's own and a right answer."""

    paper: Paper
    keys: Mapping[str, Key]
    samples: Mapping[str, tuple[Raw, ...]]
    readable: Mapping[str, tuple[Raw, ...]]
    right: Mapping[str, Raw]


@cache
def asked() -> tuple[QuizQuestion, ...]:
    """Two variants of each of the bank's problems, and the odd one."""
    bank = Bank.open()
    odd = problem_from(parse_yaml(ODD.encode(), "odd.yaml"))
    return tuple(
        _asked(standalone_paper([draw(p, sample_seed(p.id, n), bank.facts)], "fuzz"))
        for p in (odd, *(p for p in bank.problems() if not p.solution))
        for n in range(VARIANTS)
    )


def _asked(paper: Paper) -> QuizQuestion:
    keys = {q.name(p): key for q in paper.questions for p, key in q.keys.items()}
    examples = {n: kinds.find(k.part.kind).examples(k) for n, k in keys.items()}
    return QuizQuestion(
        paper=paper,
        keys=keys,
        samples={n: tuple(e.raw for e in each) for n, each in examples.items()},
        # The first is always right, or waits for a person.
        readable={
            n: (each[0].raw, *(e.raw for e in each[1:] if e.share is not None))
            for n, each in examples.items()
        },
        right={
            n: kinds.find(k.part.kind).ideal_raw(
                encode_answer(ast.literal_eval(answer_as_python(kinds.find(k.part.kind), k))),
                k,
            )
            for n, k in keys.items()
        },
    )


def evidence(raws: Mapping[str, Raw | None]) -> Evidence:
    return Evidence(
        submission_sha256="a" * 64,
        outcome=Outcome.FINISHED,
        answers={name: Answer(name=name, raw=raw) for name, raw in raws.items()},
        cells=(),
        seconds=1.0,
    )


def by_name(grade: Grade) -> dict[str, Mark]:
    return {mark.name: mark for mark in grade.marks}


EXTREMES = (
    *(
        sign * size
        for sign in (1, -1)
        for size in (10**299, 10**300 - 1, 10**300, 10**308, 10**400)
    ),
    *(sign * size for sign in (1, -1) for size in (1e308, 1.797e308, 5e-324, 1e299, 1e-300, 0.0)),
    *(math.inf, -math.inf, math.nan, 0, 1, 2**1023, 1e308 + 1j),
)
UNITS = ("GB", "EB", "TFLOP/s", "ms", "ps", "USD/h", "%", "x", "trillion", "B/token", "parsec", "")
numbers = (
    st.sampled_from(EXTREMES) | st.integers() | st.floats() | st.fractions() | st.complex_numbers()
)
written = st.tuples(
    st.sampled_from(("", "-", "$", "~")),
    st.sampled_from(("1", "10", "2", "0", "1.5", "9" * 90, "1e308", "5e-324", ".", "1/0", "1,200")),
    st.sampled_from(("", " x 10^", "^", "**", "e", "/", "⁴⁰⁰", " * 10**-", "e-")),
    st.sampled_from(("", "400", "308", "-324", "1000", "99999", "9" * 30, "1e-300", "1")),
    st.sampled_from(("", " ")),
    st.sampled_from(UNITS),
).map("".join)
texts = written | st.text(max_size=20) | st.text("ABCDabcd ,>().1234", max_size=12)
leaves = (
    numbers
    | texts
    | st.sampled_from(
        (None, True, False, ..., b"28", "A", "none", "True", "28 GB", decimal.Decimal)
    )
    | st.binary(max_size=4)
    | st.sampled_from((decimal.Decimal("1e400"), fractions.Fraction(10**400, 3), np.float32(1e38)))
)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.dictionaries(st.integers(0, 5) | texts, inner, max_size=5)
        | st.lists(numbers, max_size=4).map(np.array)
        | st.frozensets(texts | st.integers(), max_size=4)
    ),
    max_leaves=12,
)


TAGS = (*("int", "float", "bool", "str", "none", "ellipsis", "complex", "list", "set", "dict"),)
json_values = st.recursive(
    st.none() | st.booleans() | st.sampled_from((10**400, -1, 0, "nan", "inf", "1e999")) | texts,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(("t", "v", "digits")) | texts, inner, max_size=3)
    ),
    max_leaves=8,
)
forged = st.fixed_dictionaries(
    {},
    optional={
        "t": st.sampled_from((*TAGS, "array", "object", "range", 3, None)) | json_values,
        "v": json_values,
        **dict.fromkeys(("digits", "shape", "cut", "large", "type", "from"), json_values),
    },
)


def _places(raw: Any) -> Iterator[tuple[dict[str, Any] | list[object], str | int]]:
    """Every place inside *raw* that holds something."""
    inside: Iterable[tuple[Any, Any]]
    inside = raw.items() if isinstance(raw, dict) else enumerate(raw) if _is_list(raw) else ()
    for at, item in inside:
        yield raw, at
        yield from _places(item)


def _is_list(raw: object) -> bool:
    return isinstance(raw, list)


@st.composite
def spoiled(d: st.DrawFn, samples: tuple[Raw, ...]) -> Raw:
    """An answer that the kind knows, with something else at one place."""
    raw = copy.deepcopy(dict(d(st.sampled_from(samples))))
    holder, at = d(st.sampled_from(list(_places(raw))))
    holder[at] = d(forged | json_values | values.map(encode_answer))
    return raw


@st.composite
def submissions(d: st.DrawFn) -> tuple[QuizQuestion, dict[str, Raw | None]]:
    """A paper and what a kernel said, which JSON can hold."""
    one = d(st.sampled_from(asked()) | st.sampled_from(asked()[:VARIANTS]))
    raws = {name: d(d(st.sampled_from(WAYS))(one, name)) for name in one.keys}
    return one, json.loads(json.dumps(raws, allow_nan=False))


def near(one: QuizQuestion, name: str) -> st.SearchStrategy[Raw]:
    """Numbers that may be carried; for other kinds, what they can read."""
    key = one.keys[name]
    if not isinstance(key, NumericKey):
        return st.sampled_from(one.readable[name])
    factors = st.sampled_from((0.1, 0.5, 0.9, 1.5, 2.0, 3, 10, -1, 1e6)) | st.floats(0.1, 10)
    return factors.map(lambda factor: encode_answer(factor * (key.value or 1)))


# Often enough something readable, so that much is judged and carried.
WAYS: tuple[Callable[[QuizQuestion, str], st.SearchStrategy[Raw | None]], ...] = (
    near,
    near,
    lambda one, name: st.sampled_from(one.readable[name]),
    lambda one, name: st.sampled_from(one.readable[name]),
    lambda one, name: st.just(one.right[name]),
    lambda one, name: st.sampled_from(one.samples[name]),
    lambda one, name: spoiled(one.samples[name]),
    lambda *_: st.sampled_from(EXTREMES).map(encode_answer),
    lambda *_: values.map(encode_answer),
    lambda *_: forged | st.none(),
)


def check(one: QuizQuestion, grade: Grade, raws: Mapping[str, Raw | None]) -> None:
    """Nothing, when every mark of the grade is sound."""
    assert [mark.name for mark in grade.marks] == list(one.keys)
    for mark in grade.marks:
        assert (mark.points is None) == (mark.verdict is Verdict.UNSETTLED), mark
        if mark.points is not None:
            # NaN lies in no interval.
            assert 0 <= mark.points <= mark.max_points, mark
            assert mark.verdict is not Verdict.CORRECT or mark.points == mark.max_points, mark
        if mark.kind in {"numeric", "integer", "table"} and mark.answer is not None:
            assert not re.search(r"(?i)\b(nan|inf|infinity)\b", mark.answer), mark
        if raws[mark.name] == one.right[mark.name] and mark.kind != "explanation":
            assert mark.points == mark.max_points, "the true key comes first, whatever came before"
    assert math.isfinite(grade.score)


@pytest.mark.thorough
def test_scoring_ends_soundly_whatever_a_kernel_said() -> None:
    met: set[Verdict] = set()

    @settings(
        max_examples=300,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(submissions())
    def scored(submission: tuple[QuizQuestion, dict[str, Raw | None]]) -> None:
        one, raws = submission
        grade = score(one.paper, evidence(raws))
        check(one, grade, raws)
        met.update(mark.verdict for mark in grade.marks)

    scored()
    often = {Verdict.CORRECT, Verdict.MISTAKE, Verdict.INCORRECT, Verdict.UNREADABLE}
    assert met >= often, "what is drawn reaches too little of the code"


FORGED: tuple[Raw, ...] = (
    {"t": "float", "v": 10**400},
    {"t": "float", "v": True},
    {"t": "list", "v": [{"t": "float", "v": 10**400}] * 2},
    {"t": "dict", "v": [[{"t": "int", "v": 10**400}, {"t": "float", "v": "1e400"}]]},
    {"t": "array", "shape": [10**400], "v": [[{"t": "int", "digits": 10**400}]]},
)


@pytest.mark.thorough
@pytest.mark.parametrize("raw", [*NONSENSE, *FORGED], ids=lambda raw: str(raw)[:30])
def test_a_forged_answer_in_every_part_is_scored(raw: Raw) -> None:
    for one in asked():
        raws = dict.fromkeys(one.keys, raw)
        check(one, score(one.paper, evidence(raws)), raws)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "extreme",
    [*EXTREMES, "1 x 10^400", "1 x 10^308 EB", "-10^308 EB", "5e-324 ps", "1.7e308", "10^300 Kib"],
    ids=lambda extreme: str(extreme)[:9],
)
def test_an_extreme_number_in_every_part_is_scored(extreme: object) -> None:
    raw = encode_answer(extreme)
    for one in asked():
        raws = dict.fromkeys(one.keys, raw)
        check(one, score(one.paper, evidence(raws)), raws)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "extreme", [10**299, -(10**299), 1e308, "10^307", "1.6e308 B", 5e-324], ids=str
)
def test_an_extreme_earlier_answer_earns_nothing_later(extreme: object) -> None:
    """It is not carried, so what follows from it stays wrong."""
    odd = asked()[0]
    marks = by_name(
        score(
            odd.paper,
            evidence({"q1_spare": encode_answer(extreme), "q1_time": {"t": "none"}}),
        )
    )
    assert marks["q1_spare"].points == (1 if extreme == 5e-324 else 0)
    follows = {
        "q1_spare": encode_answer(extreme),
        "q1_time": encode_answer(1e299),
    }
    assert by_name(score(odd.paper, evidence(follows)))["q1_time"].points == 0


@pytest.mark.thorough
def test_a_key_that_overflows_for_an_earlier_answer_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def overflows(*_: object) -> None:
        raise OverflowError("int too large to convert to float")

    odd = asked()[0]
    wrong = {"q1_spare": encode_answer(3), "q1_nearest": encode_answer("A")}
    right = odd.right["q1_nearest"]
    if right == wrong["q1_nearest"]:
        wrong["q1_nearest"] = encode_answer("B")
    monkeypatch.setattr(ChoiceKind, "key", overflows)
    mark = by_name(score(odd.paper, evidence(wrong)))["q1_nearest"]
    assert (mark.points, mark.feedback) == (0, "No.")


@pytest.mark.thorough
def test_right_answers_to_every_problem_earn_full_marks() -> None:
    for one in asked():
        for mark in score(one.paper, evidence(one.right)).marks:
            by_person = mark.kind == "explanation"
            assert mark.points == (None if by_person else mark.max_points), mark
