"""Builds the code that asks a kernel for values, and validates its untrusted replies."""

from __future__ import annotations

import base64
import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache

from grader.model import Raw
from grader.runtime.kernels.base import AskReply
from grader.runtime.worker.channel import is_crowded
from grader.runtime.worker.limits import describe_environment
from grader.wire import calls, encoding

EXPRESSIONS = {"said": "_grader_()"}
"""The user expressions to send with `question_code`."""

# Everything lives in a separate dict, so that nothing a student defines is called by accident.
# The one name that must be in the notebook's namespace removes itself when used.
_FRAME = """\
import builtins as _grader_
_grader_.exec({source!r}, {{"space": _grader_.globals(), "given": {given!r}}})
"""
_FINISH = """
def _finish(text):
    def say():
        del space["_grader_"]
        return text
    space["_grader_"] = say
_finish({call})
"""
_FIRST = """
import json, random
random.seed(given)
# exit() would end the kernel a moment later, in whichever cell then runs.
space["get_ipython"]().ask_exit = lambda: None
"""

# Brackets, commas and colons outside of strings. A value takes about seven, so one answer has some
# ten thousand, and all answers together can't have more than this in their allowed characters.
_MOST_MARKS = 1_000_000
_MARKS_OF_ONE = 100_000
UNREADABLE = (ValueError, OverflowError, RecursionError, MemoryError)
"""Exceptions that a malformed reply can raise when it is read."""


class GarbledError(ValueError):
    """A reply that does not have the form that the kernel's encoder produces."""


_HEADER = re.compile(r"^from (?:__future__|grader)[^(\n]*(?:\([^)]*\))?$", re.M)


@cache
def _encoding_source() -> str:
    return inspect.getsource(encoding)


@cache
def _calls_source() -> str:
    """Returns the code of `calls` with that of `encoding`, on which it builds."""
    return _encoding_source() + _HEADER.sub("", inspect.getsource(calls))


def question_code(names: Iterable[str]) -> str:
    """Returns code that makes the kernel report the values of *names*."""
    source = _encoding_source() + _FINISH.format(call="encode_answers(given, space)")
    return _FRAME.format(source=source, given=list(names))


def call_code(request: str) -> str:
    """Returns code that makes the kernel answer *request*."""
    source = _calls_source() + _FINISH.format(call="answer_request(given, space)")
    return _FRAME.format(source=source, given=request)


def reply_text(reply: object) -> str | None:
    """Returns the text of a reply, unchecked; None if *reply* has no text."""
    try:
        return _find_text(reply)
    except GarbledError:
        return None


def startup_code(seed: int) -> str:
    """Returns the first code to send: it seeds `random` and makes the kernel describe itself."""
    description = inspect.getsource(describe_environment)
    finish = _FINISH.format(call="json.dumps(describe_environment())")
    return _FRAME.format(source=description + _FIRST + finish, given=seed)


def read_description(reply: object) -> Mapping[str, object]:
    """Returns what the kernel said about itself in answer to `startup_code`."""
    return dict(json.loads(_find_text(reply)))


def parse_values(names: tuple[str, ...], reply: object) -> AskReply:
    """Returns what the kernel said about *names* in the content of an execute_reply."""
    try:
        data = decode_json(_find_text(reply), min(_MARKS_OF_ONE * len(names), _MOST_MARKS))
        if not isinstance(data, dict):
            raise GarbledError
    except UNREADABLE:
        return AskReply(garbled_names=frozenset(names))
    values: dict[str, Raw] = {}
    garbled: set[str] = set()
    for name in names:
        try:
            if data.get(name) is not None:
                values[name] = check_raw(data[name])
        except UNREADABLE:
            garbled.add(name)
    return AskReply(values=values, garbled_names=frozenset(garbled))


def decode_json(text: str, marks: int) -> object:
    """Decodes JSON in base64 with at most *marks* punctuation marks, as `is_crowded` counts.

    Raises one of UNREADABLE.
    """
    data = base64.b64decode(text, validate=True)
    if is_crowded(data, marks):
        raise GarbledError
    return json.loads(data.decode())


def _find_text(reply: object) -> str:
    """Returns the text sent, or displayed as an expression's value. Raises GarbledError if none."""
    if isinstance(reply, dict) and isinstance(reply.get("said"), str):
        return str(reply["said"])
    for key in ("user_expressions", "said", "data", "text/plain"):
        reply = reply.get(key) if isinstance(reply, dict) else None
    if not isinstance(reply, str) or not re.fullmatch(r"'[^']*'", reply):
        raise GarbledError
    return reply[1:-1]


def check_raw(raw: object, depth: int = 0) -> Raw:
    """Returns a copy of *raw* reduced to the fields that `encoding.encode_answer` can produce.

    Raises GarbledError if *raw* has another form.
    """
    if not isinstance(raw, dict) or depth > encoding.ANSWER.depth + 1:
        raise GarbledError
    tag = raw.get("t")
    if not isinstance(tag, str) or tag not in _CHECKS:
        raise GarbledError
    clean: dict[str, object] = {"t": tag, **_CHECKS[tag](raw, depth)}
    if "from" in raw:
        clean["from"] = check_string(raw["from"], 200)
    return clean


def check_string(value: object, longest: int) -> str:
    """Returns *value* without surrogates and NUL.

    Raises GarbledError unless it is text of at most *longest* characters.
    """
    if not isinstance(value, str) or len(value) > longest:
        raise GarbledError
    return value.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _make_pattern_check(pattern: str) -> Callable[[Mapping[str, object], int], dict[str, object]]:
    """Returns a check of a value whose text must match the whole *pattern*."""
    compiled = re.compile(pattern, re.ASCII)

    def check(raw: Mapping[str, object], _depth: int) -> dict[str, object]:
        value = raw.get("v")
        if not isinstance(value, str) or len(value) > 5_000 or not compiled.fullmatch(value):
            raise GarbledError
        return {"v": value}

    return check


def _check_count(value: object, most: int) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise GarbledError
    return value


_NUMBER = r"(\d+(\.\d+)?(e[+-]?\d+)?|inf|nan)"
_check_digits = _make_pattern_check(r"-?\d{1,4300}")


def _check_int(raw: Mapping[str, object], depth: int) -> dict[str, object]:
    if "digits" in raw:
        return {"digits": _check_count(raw["digits"], 10**15)}
    return _check_digits(raw, depth)


def _check_flag(value: object) -> bool:
    if type(value) is not bool:
        raise GarbledError
    return value


def _check_str(raw: Mapping[str, object], _depth: int) -> dict[str, object]:
    return {"v": check_string(raw.get("v"), encoding.MAX_TEXT), "cut": _check_flag(raw.get("cut"))}


def _check_items(value: object) -> list[object]:
    if not isinstance(value, list) or len(value) > encoding.ANSWER.items:
        raise GarbledError
    return value


def _check_list(raw: Mapping[str, object], depth: int) -> dict[str, object]:
    return {"v": [check_raw(item, depth + 1) for item in _check_items(raw.get("v"))]}


def _check_dict(raw: Mapping[str, object], depth: int) -> dict[str, object]:
    pairs = [_check_items(pair) for pair in _check_items(raw.get("v"))]
    if any(len(pair) != 2 for pair in pairs):
        raise GarbledError
    return {"v": [[check_raw(item, depth + 1) for item in pair] for pair in pairs]}


def _check_array(raw: Mapping[str, object], depth: int) -> dict[str, object]:
    """Returns the checked fields of an array. Raises GarbledError if they are malformed."""
    shape = [_check_count(n, 10**15) for n in _check_items(raw.get("shape"))]
    elements = raw.get("v")
    return {
        "shape": shape,
        "dtype": check_string(raw.get("dtype"), 200),
        "v": None if elements is None else _check_elements(elements, shape, depth),
    }


def _check_elements(value: object, shape: list[int], depth: int) -> object:
    """Returns the nested lists of an array, checked. Raises GarbledError if *shape* differs."""
    if not shape:
        return check_raw(value, depth + 1)
    items = _check_items(value)
    if len(items) != shape[0] or len(shape) > encoding.ANSWER.depth:
        raise GarbledError
    return [_check_elements(item, shape[1:], depth) for item in items]


def _check_object(raw: Mapping[str, object], _depth: int) -> dict[str, object]:
    flags = {name: _check_flag(raw[name]) for name in ("large", "crowded") if name in raw}
    return {"type": check_string(raw.get("type"), 200), **flags}


_CHECKS: dict[str, Callable[[Mapping[str, object], int], dict[str, object]]] = {
    "int": _check_int,
    "float": _make_pattern_check(rf"-?{_NUMBER}"),
    "complex": _make_pattern_check(rf"-?{_NUMBER}j|\(-?{_NUMBER}[+-]{_NUMBER}j\)"),
    "bool": lambda raw, _depth: {"v": _check_flag(raw.get("v"))},
    "none": lambda _raw, _depth: {},
    "ellipsis": lambda _raw, _depth: {},
    "str": _check_str,
    "list": _check_list,
    "set": _check_list,
    "dict": _check_dict,
    "array": _check_array,
    "object": _check_object,
}
