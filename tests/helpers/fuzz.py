"""Mutations of real files, and what every reader of untrusted bytes must keep to."""

from __future__ import annotations

import copy
import json
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any, TypeVar

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.errors import GraderError, SpecErrors

T = TypeVar("T")
SECONDS = 15.0
"""Of the processor, for one example; what takes longer is a hang. A busy or a slow machine is none:
the largest example takes 7 seconds on a slow one."""
WAITING = 60.0
"""Seconds on the clock, for what waits for ever."""


class HangError(Exception):
    """An example took too long."""


@contextmanager
def in_time() -> Iterator[None]:
    """Raises HangError in the middle of whatever takes longer."""

    def ring(*_: object) -> None:
        raise HangError

    bells = {
        signal.SIGPROF: (signal.ITIMER_PROF, SECONDS),
        signal.SIGALRM: (signal.ITIMER_REAL, WAITING),
    }
    before = {number: signal.signal(number, ring) for number in bells}
    for timer, seconds in bells.values():
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for number, (timer, _) in bells.items():
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])


def value_or_sentence(work: Callable[[], T]) -> T | None:
    """What *work* gives, or None for an error that a person can read; anything else is a bug."""
    with in_time():
        try:
            return work()
        except GraderError as error:
            said = error
    each = said.errors if isinstance(said, SpecErrors) else (said,)
    for one in each:
        assert one.what
        assert all(line.isprintable() for line in str(one).split("\n"))
        assert len(str(one)) < 3_000
    return None


def fuzz(strategy: st.SearchStrategy[T], check: Callable[[T], object], examples: int) -> None:
    """Runs *check* on so many examples; raises what it raises, with the smallest one found."""

    @settings(
        max_examples=examples,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    @given(strategy)
    def run(example: T) -> None:
        check(example)

    run()


# --- Bytes

_TOKENS = [
    b"", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc3", b"\x1b[2J", b"\r", b"\n",
    b"\t", b'"', b"\\", b"\\u0000", b"\\ud800", b"{", b"}", b"[", b"]", b",", b":", b"null",
    b"true", b"NaN", b"-Infinity", b"1e999", b"9" * 400, b"9" * 5000, b"-0", b"[" * 300,
    b'{"a":' * 300, b'"' + b"x" * 5000 + b'"', b"&a ", b"*a", b"&a [*a, *a]", b"!!python/name:os ",
    b"!!binary ", b"? ", b"<<: ", b"---\n", b"...\n", b"%YAML 1.1\n", b"| ", b"> ", b"- ", b"#",
    b"{{ ", b" }}", b"{% ", b" %}", b"{# ", b"{{ x.__class__ }}", b"\xe2\x80\xae",
    b"\xf0\x9f\x98\x80",
]  # fmt: skip
_PLACE = st.floats(0, 1, exclude_max=True)
_CUT = st.tuples(st.just("cut"), _PLACE, st.integers(0, 300))
_PUT = st.tuples(st.just("put"), _PLACE, st.sampled_from(_TOKENS) | st.binary(max_size=20))
_FLIP = st.tuples(st.just("flip"), _PLACE, st.integers(0, 7))
_COPY = st.tuples(st.just("copy"), _PLACE, st.tuples(_PLACE, st.integers(0, 400)))
_STEPS = st.lists(_CUT | _PUT | _FLIP | _COPY, min_size=1, max_size=6)


def mutated(originals: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """One of *originals* with a few bytes flipped, cut, copied or put in."""
    return st.builds(
        lambda data, steps: reduce(_step, steps, data), st.sampled_from(originals), _STEPS
    )


def _step(data: bytes, step: tuple[str, float, Any]) -> bytes:
    how, place, what = step
    at = int(place * (len(data) + 1))
    if how == "cut":
        return data[:at] + data[at + what :]
    if how == "put":
        return data[:at] + what + data[at:]
    if how == "copy":
        start = int(what[0] * (len(data) + 1))
        return data[:at] + data[start : start + what[1]] + data[at:]
    return data[:at] + bytes(b ^ (1 << what) for b in data[at : at + 1]) + data[at + 1 :]


# --- Data

_ODD_TEXTS = [
    "", " ", "\0", "\x1b[2J", "\ud800", "é", "0", "-1", "nan", "1e999", "9" * 5000, "x" * 20_000,
    "(" * 3000, "(" * 300 + "1" + ")" * 300, "-" * 3000 + "1", "1" + "+1" * 3000, "a." * 2000 + "a",
    "2 ** 2 ** 2 ** 2 ** 2 ** 2", "10 ** 10 ** 10", "1" + "0" * 4400, "[" * 500, "x if " * 500,
    "not " * 2000 + "x", "1 < " * 2000 + "1", "f(" * 500, "GB/" * 1000, "GB" + "^9" * 500,
    "%" * 200,
    "1e400 * GB", "{{" * 1000, "{{ " + "(" * 500, "{% for x in y %}", "{% raw %}",
    "{{ a | b | c }}",
    "{{ x." + "a." * 1000, "{{ 9 ** 9 ** 9 }}", "{{ 'a' * 10**9 }}", "$x$" * 1000, "`" * 3000,
    "**" * 3000, "__import__('os')", "lambda: 0", "\u202e", "100%", "-5%", "1e308%", "𝟗", "٣",
]  # fmt: skip
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.sampled_from([0, -1, 1, 2**63, 10**400, -(10**400), 1.5, 1e308, -0.0])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
    | st.sampled_from(_ODD_TEXTS),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=8) | st.sampled_from(["id", "a", ""]), inner, max_size=4)
    ),
    max_leaves=6,
)
_CHANGES = st.lists(
    st.tuples(st.sampled_from(["set", "drop", "twice", "wrap", "swap"]), _PLACE, _PLACE, VALUES),
    min_size=1,
    max_size=4,
)


def changed(originals: Sequence[Any]) -> st.SearchStrategy[Any]:
    """One of *originals*, which are JSON data, with a few values anywhere in it changed."""
    return st.builds(_with_changes, st.sampled_from(originals), _CHANGES)


def _with_changes(tree: Any, changes: Sequence[tuple[str, float, float, Any]]) -> Any:
    root = [copy.deepcopy(tree)]
    for how, place, other, value in changes:
        places = [*_places(root)]
        holder, key = places[int(place * len(places))]
        from_, name = places[int(other * len(places))]
        if how == "set":
            holder[key] = value
        elif how == "wrap":
            holder[key] = [holder[key]] if other < 0.5 else {"a": holder[key]}
        elif how == "swap":
            holder[key], from_[name] = copy.deepcopy(from_[name]), copy.deepcopy(holder[key])
        elif how == "twice" and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        elif how == "twice":
            holder[value if isinstance(value, str) else "more"] = copy.deepcopy(holder[key])
        elif holder is not root:
            del holder[key]
    return root[0]


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        keys = range(len(one)) if isinstance(one, list) else list(one)
        for key in keys:
            yield one, key
            if isinstance(one[key], (list, dict)):
                waiting.append(one[key])


def as_json(tree: Any) -> bytes:
    """As bytes, whatever strings are in it."""
    return json.dumps(tree).encode()
