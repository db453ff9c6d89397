"""What a kernel says is read whatever it is: no message raises, takes long or fills the memory.

Some of these kernels are real, and others puppets that say what no kernel of ours ever would.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.model import Call, CallPlan, Evidence, Limits, Outcome
from grader.runtime.execute.calls import read_reply
from grader.runtime.kernels import AskReply, ask
from grader.runtime.kernels.client import CellClient, Transcript, unpack_part
from grader.runtime.worker.channel import MOST_MARKS, Message, is_crowded
from grader.wire import encoding
from grader.wire.calls import answer_request
from tests.helpers.code import a_race_key, ran
from tests.helpers.kernels import EVERY_WAY, on_linux
from tests.helpers.notebooks import run
from tests.helpers.puppet import DONE, IDLE, Line, answer, puppet

QUICK = Limits(cell_seconds=10, notebook_seconds=60)
# What the kernel itself writes with, so that what follows is signed as its own messages are.
SAYS = """
import base64, hmac, json, os, struct
kernel = get_ipython().kernel
key, wire = kernel.session.key, kernel.iopub_socket.fileno()
def say(kind, content):
    head = json.dumps({"kind": kind, "to": kernel.get_parent("shell")["header"]["msg_id"]}).encode()
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    tag = hmac.digest(key, head + body, "sha256")
    data = struct.pack("!II", len(head), len(body)) + tag + head + body
    os.set_blocking(wire, True)
    while data: data = data[os.write(wire, data):]
idle = {"execution_state": "idle"}
"""


def in_base64(value: object) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.b64encode(data).decode()


def most_memory(act: Callable[[], object]) -> int:
    """The most bytes that were taken at a time while *act* ran."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# -- whatever is said

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
    | st.sampled_from([10**4000, -1, 2**53, "idle", "error", "returned", "x" * 400, "\0", "\ud800"])
)  # fmt: skip
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["t", "v", "text/plain", "a"]), inner, max_size=3)
    ),
    max_leaves=10,
)
tagged = st.recursive(
    st.fixed_dictionaries({"t": st.sampled_from([*ask._CHECKS, "tensor"]), "v": anything}),
    lambda inner: st.fixed_dictionaries(
        {"t": st.sampled_from(["list", "dict", "array", "set"])},
        optional={
            "v": inner | st.lists(inner, max_size=3) | st.lists(st.lists(inner, max_size=2)),
            "shape": st.just([]) | st.just([1]) | anything,
            "dtype": st.just("x") | anything,
            "from": anything,
        },
    ),
    max_leaves=8,
)
answers = st.fixed_dictionaries({}, optional={"q1_a": tagged | anything})
outcomes = st.fixed_dictionaries(
    {"is": st.sampled_from(["returned", "raised", "unfit", "late", "else"]) | anything},
    optional=dict.fromkeys(("v", "type", "what", "line", "changed", "above"), tagged | anything),
)
odd_bytes = st.sampled_from(
    [b"[" * 5_000, b'{"a":' * 5_000, b"{" + b'"a":1,' * 9, b'{"cut":' + b"9" * 4_301 + b"}",
     b'{"cut":' + b"9" * 4_299 + b"}", b'{"ename":' + b"[" * 985 + b"]" * 985 + b"}", b"\xff", b"",
     b'{"status":"error","traceback":["Cell In[1], line ' + b"9" * 5_000 + b'"]}', b'{"a":1e999}'],
)  # fmt: skip
FIELDS = (
    "status", "ename", "evalue", "traceback", "line", "execution_state", "name", "text", "cut",
    "data", "said", "transient", "execution_count",
)  # fmt: skip
contents = (
    st.dictionaries(st.sampled_from(FIELDS), anything, max_size=6)
    | st.fixed_dictionaries({"status": st.just("error"), "traceback": st.lists(anything)})
    | st.fixed_dictionaries({"said": (answers | outcomes).map(in_base64)})
    | st.fixed_dictionaries({"data": st.dictionaries(st.just("text/plain"), anything)})
    | anything
    | odd_bytes
)
KINDS = (
    "execute_reply", "status", "stream", "display_data", "execute_result", "error", "said",
    "comm_msg",
)  # fmt: skip
lines = st.lists(st.tuples(st.sampled_from(KINDS), contents), max_size=6)


@pytest.mark.thorough
@settings(max_examples=150)
@given(lines, lines, lines)
def test_whatever_a_kernel_says_is_read_and_never_our_fault(
    ran: Sequence[Line], asked: Sequence[Line], called: Sequence[Line]
) -> None:
    # The honest answers come last: nothing waits for a time-out.
    says = {"execute": ran, "ask": asked, "call": called}
    with puppet(lambda request: [*says[request.kind], *answer(request)]) as session:
        went = session.run("pass", seconds=30, keep=200)
        assert went.outcome in (Outcome.FINISHED, Outcome.CRASHED, Outcome.OUT_OF_MEMORY)
        assert len(went.output.encode()) < 300
        assert len(went.error or "") <= 300
        assert went.line is None or 0 < went.line < 1_000_000
        assert len(went.visible_outputs) <= 9
        assert all(len(text) <= 1_000 for one in went.visible_outputs for text in one)
        if not went.alive:
            return
        for names in (("q1_a",), ("q1_a", "q2_b")):
            said = session.ask(names, seconds=30)
            assert said.alive
            assert said.garbled_names | said.values.keys() <= set(names)
            json.loads(json.dumps(dict(said.values)).encode())
        found = read_reply(session.call("request", seconds=30).reply)
        assert found["is"] in ("garbled", "returned", "raised", "unfit", "late")
        json.loads(json.dumps(found).encode())


@pytest.mark.thorough
@given(answers, outcomes)
def test_what_is_no_answer_is_garbled(named: object, came: object) -> None:
    said = ask.parse_values(("q1_a",), {"said": in_base64(named)})
    assert said.garbled_names | said.values.keys() <= {"q1_a"}
    assert read_reply(in_base64(came))["is"] in ("garbled", "returned", "raised", "unfit", "late")


@given(anything | odd_bytes)
def test_a_part_of_a_message_is_a_dict_or_refused(said: object) -> None:
    data = said if isinstance(said, bytes) else json.dumps(said).encode()
    with contextlib.suppress(ValueError, RecursionError):  # by which the cell crashes
        assert isinstance(unpack_part(data), dict)


# -- numbers that are none


def test_counts_that_are_none_are_not_added() -> None:
    transcript = Transcript(100)
    counts: tuple[object, ...] = (10**4299, 2**53, -1, True, 1.5, "1", None, [], 7)
    for count in counts:
        transcript.count_cut(count)
    assert transcript.text() == "\n[... 7 bytes were cut here ...]\n"


def test_output_that_is_kept_whole_keeps_every_character() -> None:
    transcript = Transcript(10)
    transcript.add("1234\u00e978")
    assert transcript.text() == "1234\u00e978"


@pytest.mark.parametrize("digits", [7, 30, 5_000])
def test_a_line_that_is_none_is_not_said(digits: int) -> None:
    cells = CellClient()
    cells.reply = {"status": "error", "traceback": ["Cell In[1], line " + "9" * digits]}
    assert cells.line is None
    cells.reply = {"status": "error", "traceback": ["\x1b[0;32mCell In[1]\x1b[0m, line 7\nx"]}
    assert cells.line == 7


# -- answers within answers


@pytest.mark.parametrize("levels", [10, 340, 900])
def test_arrays_without_dimensions_are_counted_as_levels(levels: int) -> None:
    raw: dict[str, Any] = {"t": "int", "v": "1"}
    for _ in range(levels):
        raw = {"t": "array", "shape": [], "dtype": "x", "v": raw}
    said = ask.parse_values(
        ("q1_a", "q2_b"), {"said": in_base64({"q1_a": raw, "q2_b": {"t": "none"}})}
    )
    assert "q1_a" in said.garbled_names
    assert levels > 400 or said.values == {"q2_b": {"t": "none"}}


# -- texts that take long to search


def test_an_error_is_read_in_no_time() -> None:
    cells = CellClient()
    cells.reply = {
        "status": "error",
        "ename": "E" * 1_000_000,
        "evalue": " (<ipython-input-" * 50_000,
        "traceback": ["\x1b[" * 500_000, "Cell In[" * 100_000] * 1_000,
    }
    began = time.thread_time()
    assert cells.error
    assert cells.line is None
    assert time.thread_time() - began < 1


def test_the_name_of_a_cell_is_not_said() -> None:
    cells = CellClient()
    for name in ("1063758517.py", "<ipython-input-1-0123456789abcdef>"):
        said = {"ename": "SyntaxError", "evalue": f"invalid syntax ({name}, line 2)"}
        cells.reply = {"status": "error", **said}
        assert cells.error == "SyntaxError: invalid syntax"


# -- messages that take much memory

CROWDED = b'{"a":[' + b"{}," * 2_600_000 + b"0]}"
IN_BASE64 = in_base64(b'{"is":"returned","v":{"t":"x","v":[' + b"[]," * 1_850_000 + b"0]}}")


@pytest.mark.parametrize(
    "read", [read_reply, lambda said: ask.parse_values(("q1_a",), {"said": said})]
)
def test_an_answer_of_a_million_lists_is_not_even_decoded(read: Callable[[str], Any]) -> None:
    assert most_memory(lambda: read(IN_BASE64)) < 40_000_000
    assert read(IN_BASE64) in ({"is": "garbled"}, AskReply(garbled_names=frozenset({"q1_a"})))


@pytest.mark.parametrize("kind", ["execute", "ask", "call"])
def test_output_that_nobody_looks_at_takes_no_memory(kind: str) -> None:
    flood: list[Line] = [("stream", CROWDED[:-1] + b" " * n + b"}") for n in range(6)]
    flood += [("said", {"said": "x" * 7_000_000})] * 3
    # At the end of a cell that goes on although it has said that it is done.
    early: list[Line] = [DONE, IDLE] if kind == "execute" else []

    def script(request: Message) -> Sequence[Line]:
        return [*early, *flood, *answer(request)] if request.kind == kind else answer(request)

    def act() -> None:
        with puppet(script) as session:
            assert session.run("pass", seconds=30, keep=100).outcome is Outcome.FINISHED
            assert session.ask(("q1_a",), seconds=30).alive
            assert session.call("x", seconds=30).alive

    assert most_memory(act) < 45_000_000


def test_crowded_output_of_a_cell_that_runs_is_counted_and_not_decoded() -> None:
    crowded = CROWDED[:3_900_000].rpartition(b",")[0] + b"]}"
    went = []

    def act() -> None:
        with puppet(lambda request: [("stream", crowded)] * 9 + answer(request)) as session:
            went.append(session.run("pass", seconds=30, keep=100))

    assert most_memory(act) < 45_000_000
    assert went[0].output == f"\n[... {9 * len(crowded)} bytes were cut here ...]\n"


# -- and what is honest is read

STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)


marked = st.text('"\\[{,:a')
in_strings = st.recursive(
    scalars | marked,
    lambda inner: st.lists(inner) | st.dictionaries(marked, inner),
    max_leaves=20,
)


@pytest.mark.thorough
@given(in_strings, st.integers(0, 40))
def test_what_stands_in_strings_does_not_count(value: object, most: int) -> None:
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    bare: bytes = STRINGS.sub(b"", text)
    count = sum(bare.count(mark) for mark in (b"[", b"{", b",", b":"))
    assert is_crowded(text, most) or count <= most
    assert not is_crowded(text, most) or count > most or text.count(b'"') > most
    assert not is_crowded(text, len(text))


LARGEST = {
    "text": ['[{"a\\": 1}, ' * 4] * 1_900,
    "texts": [",", "[", '"', "\\"] * 490,
    "pairs": {n: [] for n in range(660)},
    "levels": [[[[[[[[1]]]]]]]] * 220,
    "array": np.zeros((1000, 1, 1, 1, 1, 1, 1, 1)),
    "complex": [np.complex64(1)] * 1_990,
}


@pytest.mark.thorough
def test_the_largest_answers_are_read() -> None:
    space = {f"{name}{n}": value for name, value in LARGEST.items() for n in range(12)}
    for names in (*((name,) for name in space), tuple(space)):
        said = ask.parse_values(names, {"said": encoding.encode_answers(names, space)})
        assert not said.garbled_names
        assert set(said.values) == set(names)
        assert len(names) > 1 or said.values[names[0]]["t"] != "object"


RETURNED = {
    "texts": [',[{:"\\'] * 19_000,
    "text": ',[{:"\\' * 600_000,
    "pairs": {n: (n,) for n in range(6_600)},
    "levels": [[[[[[1]]]]]] * 3_300,
    "arrays": [np.zeros((1, 1, 1, 1))] * 15_000,
    "array": np.zeros(490_000),
}


@pytest.mark.thorough
@pytest.mark.parametrize("value", RETURNED.values(), ids=RETURNED)
def test_the_largest_results_are_read(value: object) -> None:
    space = {"f": lambda: value}
    asked = {"name": "f", "driver": "", "tools": [], "seed": 1, "inputs": {}}
    said = answer_request(in_base64(asked), space)
    assert not is_crowded(json.dumps({"said": said}).encode(), MOST_MARKS)
    assert read_reply(said)["is"] == "returned"


# -- real kernels

TRICKS = {
    "counts": 'for _ in range(20): say(\'stream\', b\'{"name":"stdout","text":"x","cut":\' '
    "+ b'9' * 4300 + b'}')",
    "line": "say('execute_reply', {'status': 'error', 'ename': 'E', 'evalue': 'x', "
    "'traceback': ['Cell In[1], line ' + '9' * 5000]})\nsay('status', idle)",
    "search": "say('execute_reply', {'status': 'error', 'ename': 'E', "
    "'evalue': ' (<ipython-input-' * 50_000})\nsay('status', idle)",
    "crowd": "body = b'{\"a\":[' + b'{},' * 2_600_000 + b'0]}'\nsay('status', idle)\n"
    "for _ in range(4): say('x', body)",
}
NESTED = """
raw = {"t": "int", "v": "1"}
for _ in range(340): raw = {"t": "array", "shape": [], "dtype": "x", "v": raw}
text = base64.b64encode(json.dumps({"q1_a": raw}).encode()).decode()
kernel._reply_text = lambda content: text
"""


@on_linux
@pytest.mark.parametrize("trick", TRICKS.values(), ids=TRICKS)
def test_what_a_cell_says_in_place_of_its_kernel_costs_nobody_else(trick: str) -> None:
    began = time.thread_time()
    evidence = run("q1_a = 1", SAYS + trick, "q2_b = 2", asks="q1_a q2_b", limits=QUICK)
    assert evidence.outcome is Outcome.FINISHED
    assert {n: a.raw for n, a in evidence.answers.items()} == {
        "q1_a": {"t": "int", "v": "1"},
        "q2_b": {"t": "int", "v": "2"},
    }
    assert evidence.cells[1].line is None
    assert time.thread_time() - began < 3  # ours; the kernel's own has a clock of its own


@on_linux
def test_what_a_kernel_makes_of_its_answers_is_garbled_at_most() -> None:
    evidence = run("q1_a = 1\n" + SAYS + NESTED, asks="q1_a", limits=QUICK)
    assert evidence.answers["q1_a"].raw is None
    assert "could not be read" in str(evidence.answers["q1_a"].absent)


# -- output while nobody looks


def calls(cell: str, count: int, **way: Any) -> tuple[Evidence, list[str]]:
    """What came of so many calls of the `f` that *cell* defines."""
    inputs = [json.dumps({"x": {"t": "int", "v": str(n)}}) for n in range(count)]
    made = tuple(Call(inputs=one, seed=n) for n, one in enumerate(inputs))
    call_plans = (CallPlan(name="f", alias="f", calls=made),)
    evidence = run(cell, asks="f", call_plans=call_plans, limits=QUICK, **way)
    raw = evidence.answers["f"].raw
    assert raw is not None
    return evidence, [call["is"] for call in raw["calls"]]  # type: ignore[attr-defined]


@EVERY_WAY
def test_a_function_may_print_as_often_as_it_likes(way: dict[str, Any]) -> None:
    prints = "def f(x):\n    for step in range(300): print(step, flush=True)\n    return x"
    assert calls(prints, 3, **way)[1] == ["returned"] * 3


@EVERY_WAY
def test_a_function_may_be_called_as_often_as_it_likes(way: dict[str, Any]) -> None:
    shows = "def f(x):\n    print('step', x)\n    display(x)\n    return x"
    assert calls(shows, 210, **way)[1] == ["returned"] * 210


def test_a_name_may_print_whenever_it_is_looked_at() -> None:
    prints = "class Loud(list):\n    @property\n    def __class__(self):\n"
    prints += "        for _ in range(300): print('here', flush=True)\n        return list\n"
    evidence = run(prints + "q1_a = Loud()", "q2_b = 2", asks="q1_a q2_b", limits=QUICK)
    assert evidence.answers["q1_a"].raw is not None
    assert evidence.answers["q2_b"].raw == {"t": "int", "v": "2"}


def test_a_function_may_print_while_it_is_timed() -> None:
    setup = "import time\ndef prepare(seed): return (seed,)\n"
    setup += "def baseline(x):\n    time.sleep(0.02)\n    return x"
    solution = "def f(x):\n    return x\ndef f_cases(rng, given):\n    yield 'one', {'x': 1}"
    key = a_race_key(solution, setup, starter="def f(x):\n    pass", id="f")
    prints = "def q1_f(x):\n    for _ in range(210): print(x, flush=True)\n    return x"
    raw = ran(prints, keys={"q1_f": key}).answers["q1_f"].raw
    assert raw is not None
    race: Any = raw["race"]
    assert race["wrong"] == 0
    assert race["rounds"]
