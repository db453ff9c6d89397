"""Runs in the kernel: calls a student's function on given inputs and encodes the result.

Like that of `grader.wire.encoding`, on which it builds, its text may be sent to the kernel (see
`grader.runtime.kernels.ask`). It knows inputs but never expected results, and the grader judges its
replies.
"""

from __future__ import annotations

import base64
import functools
import json
import random
import sys
from collections.abc import Mapping
from typing import Any

from grader.wire.encoding import (
    Raw,
    UnfitError,
    decode_input,
    digest_of_bytes,
    encode_result,
)

_MAX_CHARACTERS = 300
"""Limit on the characters of an exception's message."""

_compiled: dict[tuple[str, ...], dict[str, Any]] = {}


def answer_request(request: str, space: Mapping[str, Any]) -> str:
    """Performs *request* (JSON in base64) on a name in *space*; the reply has the same form."""
    text = json.dumps(perform_safely(json.loads(base64.b64decode(request)), space))
    return base64.b64encode(text.encode()).decode()


def perform_safely(asked: Mapping[str, Any], space: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the result of *asked*, or the exception that it raised."""
    try:
        return perform(asked, space)
    except BaseException as error:  # noqa: BLE001  # whatever the student's code raises or is
        return _describe_exception(error)


def perform(asked: Mapping[str, Any], space: Mapping[str, Any]) -> dict[str, Any]:
    """Calls the student's `asked["name"]` through `asked["driver"]`, and returns the result.

    With `asked["example"]`, evaluates those expressions, in which `asked["alias"]` is the student's
    function; with `asked["watch"]`, adds the findings of `grader.wire.watch`.
    """
    tools = _compile_namespace(asked)
    _reset_libraries(int(asked["seed"]))
    if "round" in asked:
        return _perform_round(asked, space, tools)
    if asked["name"] not in space:
        raise NameError(asked["name"])
    student = space[asked["name"]]
    if "example" in asked:
        names = {**tools, **space, asked["alias"]: student}
        names.setdefault("__builtins__", __builtins__)
        values = [eval(text, names) for text in asked["example"]]  # noqa: S307  # our own text
        return {"is": "returned", "v": encode_result(values)}
    inputs = {name: decode_input(raw) for name, raw in asked["inputs"].items()}
    drive = tools.get("drive")
    call = student if drive is None else functools.partial(drive, student)
    reply: dict[str, Any] = {"is": "returned"}
    if "watch" in asked:
        watched = _compile_namespace({"tools": [], "driver": asked["watch"]})["call_watched"]
        call = functools.partial(watched, call, asked["forbid"], reply)
    reply["v"] = encode_result(call(**inputs))
    # After the result, which may be the input itself.
    changed = [
        name for name, raw in asked["inputs"].items() if not _is_unchanged(inputs[name], raw)
    ]
    return {**reply, "changed": changed} if changed else reply


def _is_unchanged(value: Any, raw: Raw) -> bool:
    """Returns whether *value*, after the call, still has the encoding *raw* from before."""
    try:
        return encode_result(value) == raw
    except UnfitError:
        return False


_KEPT = "_grader_kept_"


def _perform_round(
    asked: Mapping[str, Any], space: Any, tools: Mapping[str, Any]
) -> dict[str, Any]:
    """Performs the step `round` of a measurement, and returns its result.

    `run` creates inputs from the seed, calls the student's function or the baseline on them, and
    returns a digest of the whole result and a mark of the inputs. The grader takes the time from
    the request to the reply, so that no work can be done before the seed is known or deferred until
    the clock has stopped, and the mark proves that all inputs were created. `show` returns that
    result. `idle` does the same as `run`, with the last result instead of the call. `count` returns
    the result of `measure`; `launches` is a `run` that also returns the number of launches.
    """
    step = asked["round"]
    if step == "show":
        return {"is": "returned", "v": encode_result(space[_KEPT])}
    inputs = tools["prepare"](int(asked["seed"]))
    if step == "count":
        return {"is": "returned", "v": encode_result(float(tools["measure"](*inputs)))}
    mark = checksum_of(inputs)  # before the call, which may modify them
    function = space[asked["name"]] if asked["name"] else tools["baseline"]
    if step == "launches":
        space[_KEPT], number = tools["counted"](function, *inputs, backward=asked["backward"])
    elif step != "idle":
        space[_KEPT] = function(*inputs)
    digest = digest_of_bytes(json.dumps(encode_result(space[_KEPT], digest_of_bytes)).encode())
    value: Raw = {"t": "str", "v": digest + mark}
    if step == "launches":
        value = {"t": "list", "v": [value, encode_result(number)]}
    return {"is": "returned", "v": value}


def checksum_of(inputs: Any) -> str:
    """Returns a checksum of *inputs*, which takes little time compared to creating them."""
    try:
        text = json.dumps(inputs, default=_summarize_input, skipkeys=True)
    except (TypeError, ValueError, RecursionError):
        text = "inputs that are no data"
    return digest_of_bytes(text.encode())


def _summarize_input(value: Any) -> Any:
    """Returns a stand-in for values that `json` can't encode: for arrays, the sum of their bits."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        flat = value.detach().contiguous().reshape(-1)
        bits = (flat.clone() if flat.numel() < 2 else flat).view(torch.uint8)
        is_aligned = bits.numel() % 8 == 0 == bits.storage_offset() % 8
        bits = bits.view(torch.int64) if is_aligned and bits.numel() else bits
        return [str(value.dtype), list(value.shape), int(bits.sum())]
    if numpy is not None and isinstance(value, numpy.ndarray) and value.dtype.kind != "O":
        bits = numpy.ascontiguousarray(value).reshape(-1).view(numpy.uint8)
        bits = bits.view(numpy.uint64) if bits.size % 8 == 0 else bits
        return [str(value.dtype), list(value.shape), int(bits.sum(dtype=numpy.uint64))]
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        return value.tolist()
    if isinstance(value, (set, frozenset)):
        return repr(sorted(value, key=repr))
    if isinstance(value, (complex, bytes)):
        return repr(value)
    read_state = getattr(value, "state_dict", None)
    return read_state() if callable(read_state) else type(value).__qualname__


def _compile_namespace(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the names that the tools and the driver in *asked* define; compiled only once."""
    texts = (*asked["tools"], asked["driver"])
    if texts not in _compiled:
        namespace: dict[str, Any] = {"__name__": "driver", "__builtins__": __builtins__}
        for text in texts:
            exec(compile(text, "<driver>", "exec"), namespace)  # noqa: S102  # our own text
        _compiled[texts] = namespace
    return _compiled[texts]


def _reset_libraries(seed: int) -> None:
    """Seeds `random` and, if they are loaded, numpy and torch with its devices.

    Also undoes settings of these that a cell may have changed for another question: the driver
    creates its own tensors and modules, whose types must be those that the key assumes.
    """
    random.seed(seed)
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)
        numpy.seterr(divide="warn", over="warn", under="ignore", invalid="warn")
    if torch is not None:
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)
        torch.set_grad_enabled(True)
        # Like torch.manual_seed, without the milliseconds that it takes for other devices.
        torch.default_generator.manual_seed(seed)
        if torch.cuda.is_initialized():
            torch.cuda.manual_seed_all(seed)


def _describe_exception(error: BaseException) -> dict[str, Any]:
    """Returns the type, message, and line in the notebook of what a call raised.

    Reads the interpreter's own data, whatever the student's class claims about itself.
    """
    if isinstance(error, KeyboardInterrupt):
        return {"is": "late"}
    line = None
    trace = BaseException.__dict__["__traceback__"].__get__(error)
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith("<ipython-input-"):
            line = trace.tb_lineno
        trace = trace.tb_next
    try:
        message = str.__str__(str(error))[:_MAX_CHARACTERS].encode("utf-8", "replace").decode()
    except BaseException:  # noqa: BLE001  # a message of the student's own making
        message = ""
    is_unfit = isinstance(error, UnfitError)
    reply: dict[str, Any] = {
        "is": "unfit" if is_unfit else "raised", "type": _class_name(type(error)), "what": message,
    }  # fmt: skip
    bases = [_class_name(base) for base in type.__dict__["__mro__"].__get__(type(error))[1:]]
    if not is_unfit and bases[:-2]:  # all have BaseException and object
        reply["above"] = bases[:-2][:20]
    return reply if line is None else {**reply, "line": line}


def _class_name(class_: type) -> str:
    name = type.__dict__["__name__"].__get__(class_)[:80]
    return str(name.encode("utf-8", "replace").decode())
