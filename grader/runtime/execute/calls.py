"""Calls a student's functions on hidden inputs, after the notebook has run."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from grader.kinds.hidden.analysis import NotAnalyzedError, extract_definition, functions_of
from grader.kinds.hidden.solutions import call_request
from grader.kinds.hidden.source import FAILED_BEFORE, UNDEFINED
from grader.model import Answer, Call, CallPlan, Outcome, Raw
from grader.runtime.kernels import CallResult, Session
from grader.runtime.kernels.ask import UNREADABLE, check_string, decode_json
from grader.runtime.kernels.base import StepResult
from grader.wire.encoding import RESULT, TOO_MUCH

MOST_DEATHS = 8
"""Kernels that the calls of one function may end; the marks of those not made stay open."""
MOST_LATE = 8
"""Calls of one function that may time out: first one of each group, then the others in turn."""
MOST_SAID = 8_000_000
"""Limit on the characters of all replies for one function, so that evidence stays small."""

_OVERHEAD_SECONDS = 2.0
_LONGEST_TEXT = 300
# Depth of the JSON of a value: each level is an object in a list, or in a pair in a dict.
_DEEPEST = 4 * RESULT.depth
_MOST_PIECES = 12 * RESULT.items
# A piece follows at most a bracket, a comma and a colon; JSON with more is not decoded.
_MOST_MARKS = 3 * _MOST_PIECES
_LARGEST = 2**53


class NotebookKernels(Protocol):
    """The parts of a notebook's run that calls need."""

    def seconds_left(self) -> float:
        """Returns the seconds left for calls."""

    def revive_kernel(self) -> bool:
        """Returns whether a kernel has run the whole notebook; starts one if needed."""

    def record_contention(self, step: StepResult, what: str, name: str) -> None:
        """Records how other work interfered with a call of *name*; called after every call."""

    def record_death(self) -> None:
        """Records that a call has ended the kernel."""


def add_call_results(
    call_plan: CallPlan,
    answer: Answer,
    code: Sequence[str],
    session: Session,
    kernels: NotebookKernels,
    *,
    deferred: str = "",
) -> Answer:
    """Returns *answer* with its raw value replaced by the results of all calls of *call_plan*.

    *code* holds the sources of the notebook's code cells. If *deferred* names a missing device or
    package, the function is not called and the answer waits for it.
    """
    source, unseen = _find_source(call_plan, code)
    if answer.raw is None and (source or unseen) and deferred in call_plan.needs:
        # Its cell may have stopped for lack of the package, so the name may be undefined.
        answer = Answer(name=answer.name, raw={"t": "object"})
    if answer.raw is None:
        return answer
    raw: dict[str, object] = {"t": "code", "source": source, "value": answer.raw}
    raw["name"] = call_plan.name
    if unseen:
        raw["unseen"] = unseen
    if deferred:
        raw |= {"deferred": deferred, "calls": []}
    elif answer.raw.get("t") == "object":
        source_to_run = "" if unseen or not call_plan.as_read else functions_of(source)
        raw["calls"] = _Calls(call_plan, session, kernels, source_to_run).make_all()
    return Answer(name=answer.name, raw=raw)


def _find_source(call_plan: CallPlan, code: Sequence[str]) -> tuple[str, str]:
    """Returns the function's source and ""; or "" and why the source can't be found."""
    try:
        source = extract_definition(code, call_plan.name)
        if call_plan.as_read:
            functions_of(source)  # so that it can be run again
    except NotAnalyzedError as error:
        return "", str(error)
    return source, ""


class _Calls:
    """The calls of one function."""

    def __init__(
        self, call_plan: CallPlan, session: Session, kernels: NotebookKernels, source: str
    ):
        self._call_plan = call_plan
        self._source = source
        self._has_source = not source
        """Whether the kernel has run the source, or need not run it."""
        self._session = session
        self._kernels = kernels
        self._late = 0
        self._failed: set[str] = set()
        self._room = MOST_SAID

    def make_all(self) -> list[Raw]:
        """Returns the result of each call, with the call's digest."""
        calls = zip(self._call_plan.digests, self._call_plan.calls, strict=True)
        return [{"call": digest, **self._call_unless_failed(call)} for digest, call in calls]

    def _call_unless_failed(self, call: Call) -> Raw:
        """Returns the result of *call*; "unmade" if a call of its group was late or died."""
        if call.group in self._failed:
            return {"is": "unmade", "what": FAILED_BEFORE}
        outcome = self._make_call(call)
        if outcome["is"] in ("late", "died"):
            self._failed.add(call.group)
        return outcome

    def _make_call(self, call: Call) -> Raw:
        """Returns the result of *call*, or why it was not made. Starts a new kernel if needed."""
        if self._late >= MOST_LATE:
            return {"is": "unmade", "what": f"{MOST_LATE} calls took too long"}
        if self._kernels.seconds_left() <= 0:
            return {"is": "unmade", "what": "the time for all calls was used up"}
        if not self._kernels.revive_kernel():
            return {"is": "unmade", "what": "the kernel died too many times"}
        if not self._has_source and not self._define_function():
            return {"is": "unmade", "what": UNDEFINED}
        request = base64.b64encode(
            json.dumps(call_request(self._call_plan, call)).encode()
        ).decode()
        called = self._session.call(request, seconds=self._call_plan.seconds + _OVERHEAD_SECONDS)
        name = self._call_plan.name
        self._kernels.record_contention(called, f"a call of {name}", name)
        if not called.alive:
            self._record_death()
        return self._read_result(called)

    def _define_function(self) -> bool:
        """Runs the source in a new kernel; returns whether it defined the function."""
        seconds = self._call_plan.seconds + _OVERHEAD_SECONDS
        ran = self._session.run(self._source, seconds=seconds, keep=0)
        if not ran.alive:
            self._record_death()
        self._has_source = ran.alive and ran.outcome is Outcome.FINISHED and ran.error is None
        return self._has_source

    def _record_death(self) -> None:
        self._kernels.record_death()
        self._has_source = not self._source

    def _read_result(self, called: CallResult) -> Raw:
        """Returns the result in the reply of the kernel, or what kept the kernel from replying."""
        seconds = {"seconds": round(called.seconds, 4)}
        if called.late or called.outcome is Outcome.TIMEOUT:
            self._late += 1
            return {"is": "late", **seconds}
        if not called.alive:
            return {"is": "died", "what": called.error or "ended the kernel", **seconds}
        self._room -= len(called.reply or "")
        if self._room < 0 or called.reply is None:  # None for a reply too long for the wire
            return {"is": "unfit", "type": "", "what": TOO_MUCH, **seconds}
        reply = read_reply(called.reply)
        took = called.seconds - called.wait_seconds
        if reply["is"] == "returned" and took > self._call_plan.seconds + _OVERHEAD_SECONDS:
            self._late += 1
            return {"is": "late", **seconds}
        return {**reply, **seconds}


def read_reply(text: str | None) -> dict[str, object]:
    """Returns the reply in *text*, JSON in base64, reduced to its valid fields.

    Values are decoded later, when they are judged. The result can always be written as JSON and
    read back.
    """
    try:
        reply: Any = decode_json(text or "", _MOST_MARKS)
        kind = reply["is"]
        checked = {"is": kind, **{k: check(reply[k]) for k, check in _FORMS[kind].items()}}
        for name, check in _OPTIONAL.items():
            if name in reply:
                checked[name] = check(reply[name])
    except (*UNREADABLE, KeyError, TypeError):
        return {"is": "garbled"}
    return checked


def _check_text(value: object) -> str:
    return check_string(value, _LONGEST_TEXT)


def _check_value(value: object) -> object:
    """Returns *value*. Raises ValueError if it is not tagged or exceeds a limit on a result."""
    if not isinstance(value, dict) or not isinstance(value.get("t"), str):
        raise ValueError
    waiting: list[tuple[object, int]] = [(value, 0)]
    count = 0
    while waiting:
        item, depth = waiting.pop()
        count += 1
        if depth > _DEEPEST or count > _MOST_PIECES:
            raise ValueError
        if isinstance(item, dict):
            waiting += ((inner, depth + 1) for inner in item.values())
        elif isinstance(item, list):
            waiting += ((inner, depth + 1) for inner in item)
        elif not isinstance(item, (str, bool)) and not (type(item) is int and abs(item) < _LARGEST):
            raise ValueError
    return value


def _check_names(value: object) -> list[str]:
    if not isinstance(value, list) or len(value) > 100:
        raise ValueError
    return [_check_text(name) for name in value]


def _check_line(value: object) -> int:
    if type(value) is not int or not 0 < value < 1_000_000:
        raise ValueError
    return value


_Check = Callable[[object], object]
_RAISED: Mapping[str, _Check] = {"type": _check_text, "what": _check_text}
_FORMS: Mapping[str, Mapping[str, _Check]] = {
    "returned": {"v": _check_value},
    "raised": _RAISED,
    "unfit": _RAISED,
    "late": {},
}
_OPTIONAL: Mapping[str, _Check] = {
    "changed": _check_names,
    "line": _check_line,
    "above": _check_names,
    "used": _check_names,
    "reached": _check_names,
}
