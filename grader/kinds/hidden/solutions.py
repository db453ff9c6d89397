"""Runs the author's functions in a solution file: they make hidden cases and expected results.

Solutions are trusted like the grader's code. Scoring compares with what
`grader.kinds.hidden.kept_cases` keeps of this, and runs nothing here except the functions that
check properties of a student's result.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import linecache
import re
import sys
import traceback
import types
import warnings
from collections import UserDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from grader import units
from grader.errors import PackageError
from grader.kinds.hidden.compare import Closeness
from grader.kinds.hidden.source import extract_definition
from grader.model import Call, CallPlan, Draw, Facts, packages
from grader.units.quantity import Quantity, Value
from grader.wire import calls, watch
from grader.wire.encoding import decode_input, encode_result

MOST_CASES = 200

_NUMBER = re.compile(r"(?<![\w.])[+-]?\d[\w.+]*")
"""Pattern of numbers in an author's sentence: one may come from a hidden input or a student's
code."""

_WATCH_SOURCE = inspect.getsource(watch)

_OPAQUE = '{"t": "object"'
"""How `encode` marks a value that `decode` can't restore; inside a text, the quotes are escaped."""


class Given(UserDict[str, object]):
    """The parameters for a solution: plain numbers in their declared units, or texts."""

    def __init__(self, parameters: Mapping[str, Value], facts: Facts):
        super().__init__({
            name: units.magnitude(value, value.unit or "") if isinstance(value, Quantity) else value
            for name, value in parameters.items()
        })  # fmt: skip
        self._facts = facts

    def fact(self, item: str, name: str, unit: str = "") -> float | int | str:
        """Returns a fact as a plain number in *unit*, or as text. Raises DimensionError."""
        value = self._facts[item][name]
        if isinstance(value, str):
            return value
        if isinstance(value, Quantity) and not unit:
            call = f"given.fact({item!r}, {name!r}"
            known = f": write {call}, {value.unit!r})" if value.unit else ""
            raise units.DimensionError(f"{call}) needs a unit{known}")
        return units.magnitude(value, unit)


class SolutionFunctions:
    """The functions of one part in the solution file of one variant.

    `docs/how-to/write-a-code-problem.md` says what `PART`, the reference, and the functions
    `PART_cases`, `PART_wrong_...`, `PART_right_...`, `PART_expected`, `PART_holds`, and `PART_form`
    do. A `_wrong_` function may call or subclass the reference by its name; a `_right_` one must
    not.
    """

    def __init__(self, part: str, draw: Draw, driver: str, tools: tuple[str, ...]):
        self.part = part
        self.driver = driver
        self.tools = tools
        self._draw = draw
        self._module = solution_module(draw.solution)

    def functions_of_kind(self, kind: str) -> Mapping[str, Callable[..., Any]]:
        """Returns the functions `PART_KIND_...` by the end of their names."""
        start = f"{self.part}_{kind}_"
        space = vars(self._module)
        return {n.removeprefix(start): f for n, f in space.items() if n.startswith(start)}

    def get(self, kind: str = "") -> Any:
        """Returns `PART` or `PART_KIND` of the file; None if it is not defined."""
        return getattr(self._module, f"{self.part}_{kind}" if kind else self.part, None)

    def source(self, function: str, name: str) -> str:
        """Returns the code of a student who wrote that function of the file, renamed to *name*.

        Run it with `run_here` and the same *function*; otherwise, code that calls the reference
        would call itself.
        """
        return extract_definition([self._draw.solution], function) + _binding_code(name, function)

    def calls_reference(self, function: str) -> bool:
        """Returns whether that function of the file calls the reference, directly or indirectly."""
        defined = extract_definition([self._draw.solution], function)
        return function != self.part and bool(extract_definition([defined], self.part))

    def draw_cases(self) -> list[dict[str, Any]]:
        """Returns the cases of the solution as JSON data, in the order of their calls."""
        import numpy as np

        make = self.get("cases")
        if make is None:
            raise ValueError(f"the solution has no function '{self.part}_cases(rng, given)'")
        seed = self._draw.number(f"cases/{self.part}")
        rng = np.random.default_rng(seed)
        if "torch" in sys.modules:
            sys.modules["torch"].default_generator.manual_seed(seed % 2**63)
        given = Given(self._draw.parameters, self._draw.facts)
        try:
            return list(self._encode_cases(make(rng, given), seed))
        except ValueError:
            raise
        except (Exception, SystemExit) as error:
            _require_packages(self.part, error)
            raise ValueError(
                f"'{self.part}_cases' raised {type(error).__name__}: {error}"
            ) from error

    def _encode_cases(self, cases: Iterator[Any], seed: int) -> Iterator[dict[str, Any]]:
        """Yields *cases* as JSON data, each with its own seed. Raises ValueError if that fails."""
        for number, (group, inputs, *more) in enumerate(cases):
            if number >= MOST_CASES:
                raise ValueError(f"'{self.part}_cases' yields more than {MOST_CASES} cases")
            text = json.dumps({name: encode_result(value) for name, value in inputs.items()})
            if _OPAQUE in text:
                raise ValueError(f"'{self.part}_cases' yields an input that can't be serialized")
            Closeness(**(more[0] if more else {}))  # raises TypeError for an unknown field
            near = dict(more[0]) if more else None
            yield {
                "group": group,
                "inputs": text,
                "seed": (seed + number) % 2**31,
                "closeness": near,
            }

    def expected_results(self, calls: Sequence[Call]) -> dict[str, Any]:
        """Returns which functions must be asked about results, and the expected result of each of
        *calls*, as JSON data.

        Raises PackageError if the reference needs a package that is missing.
        """
        asks = [kind for kind in ("form", "holds") if self.get(kind) is not None]
        return {"asks": asks, "wanted": [self._expected_result(call) for call in calls]}

    def _expected_result(self, call: Call) -> dict[str, Any]:
        """Returns what `PART_expected` or else the reference gives: `value`, `raises`, or `form`.

        `form` is a result of the reference, whose form a right result must have; None if
        `PART_form` checks the form.
        """
        function = self.get("expected")
        if function is None:
            reply = self.call_reference(call)
            if reply["is"] == "raised":
                return {"raises": str(reply["type"])}
            what = str(reply.get("what", ""))
            if reply["is"] != "returned" or _OPAQUE in json.dumps(reply["v"]):
                raise ValueError(f"the reference's result can't be serialized: {what}")
            return {"value": reply["v"]}
        try:
            value = function(**decode_inputs(call))
        except (Exception, SystemExit) as error:  # noqa: BLE001  # right code raises this too
            _require_packages(self.part, error)
            return {"raises": type(error).__name__}
        if value is not ...:
            return {"value": encode_result(value)}
        if self.get("form") is not None:
            return {"form": None}
        reply = self.call_reference(call)
        # The gate rejects a reference that raises here.
        return {"form": reply["v"] if reply["is"] == "returned" else None}

    def call_reference(self, call: Call) -> Mapping[str, Any]:
        """Calls the reference in this process. Raises PackageError if it lacks a package."""
        plan = CallPlan(
            name="it", alias=self.part, driver=self.driver, tools=self.tools, calls=(call,)
        )
        reply = perform_first_call(plan, {"it": self.get()})
        if reply.get("type") == ModuleNotFoundError.__name__:  # not an expected exception
            raise PackageError(f"'{self.part}' can't be judged here: {reply.get('what')}")
        return reply

    def ask(self, kind: str, call: Call, raw: Mapping[str, Any]) -> str | None:
        """Returns the first sentence that `PART_KIND` yields for a result, without numbers; None if
        there is none."""
        function = self.get(kind)
        if function is None:
            return None
        try:
            sentence = next(iter(function(decode_inputs(call), decode_input(raw))), None)
        except (Exception, SystemExit):  # noqa: BLE001  # the result is not what it can be asked of
            return "the result does not have the expected type"
        return None if sentence is None else _NUMBER.sub("…", str(sentence))


def decode_inputs(call: Call) -> dict[str, Any]:
    """Returns new objects for the inputs of a call, by argument name."""
    return {name: decode_input(raw) for name, raw in json.loads(call.inputs).items()}


def call_request(plan: CallPlan, call: Call) -> dict[str, Any]:
    """Returns the request for `grader.wire.calls` to make *call*, watching for forbidden names."""
    request: dict[str, Any] = {
        "name": plan.name, "driver": plan.driver, "tools": list(plan.tools), "seed": call.seed,
    }  # fmt: skip
    if call.example:
        return {**request, "example": list(call.example), "alias": plan.alias}
    request["inputs"] = json.loads(call.inputs)
    if plan.forbid:
        request |= {"watch": _WATCH_SOURCE, "forbid": list(plan.forbid)}
    return request


def perform_first_call(plan: CallPlan, space: Mapping[str, Any]) -> Mapping[str, Any]:
    """Runs the first call of *plan* in this process, and returns its result as `grader.wire.calls`
    does. For trusted code only."""
    request = call_request(plan, plan.calls[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # wrong implementations are expected to overflow
        return calls.perform_safely(request, space)


def run_solution_code(text: str, space: dict[str, Any], where: str = "") -> None:
    """Runs *text*, from a solution file or made from one, in the namespace *space*.

    `inspect` can find the source of its functions, as for a notebook's cells, because Triton reads
    it.
    """
    exec(_compile(text, where), space)  # noqa: S102


@lru_cache(maxsize=64)
def _compile(text: str, where: str) -> types.CodeType:
    where = where or f"<solution {hashlib.sha256(text.encode()).hexdigest()[:12]}>"
    linecache.cache[where] = (len(text), None, text.splitlines(keepends=True), where)
    return compile(text, where, "exec")


def line_of_error(error: BaseException, file: str) -> int | None:
    """Returns the last line of *file* in the traceback of *error*; None if there is none."""
    frames = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in frames if frame.f_code.co_filename == file]
    if not lines and isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    return lines[-1] if lines else None


@lru_cache(maxsize=256)
def solution_module(text: str) -> types.ModuleType:
    """Runs a solution's text, which is trusted, and returns its module."""
    file = _file_name_of(text)
    module = types.ModuleType(file.strip("<>"))
    module.__dict__["__file__"] = file
    run_solution_code(text, module.__dict__, file)
    return module


def _file_name_of(text: str) -> str:
    return f"<grader_solution_{hashlib.sha256(text.encode()).hexdigest()[:12]}>"


def load_solution_functions(
    part: str, draw: Draw, driver: str = "", tools: tuple[str, ...] = ()
) -> SolutionFunctions:
    """Returns the author's functions for *part*.

    Raises ValueError if its solution file can't be used, and PackageError if a package is missing.
    """
    if not draw.solution:
        raise ValueError("there is no solution file, so there are no hidden cases")
    try:
        return SolutionFunctions(part, draw, driver, tools)
    except (Exception, SystemExit) as error:
        _require_packages(part, error)
        line = line_of_error(error, _file_name_of(draw.solution))
        raise ValueError(
            f"the solution can't be loaded{f' (line {line})' if line else ''}: "
            f"{type(error).__name__}: {error}"
        ) from error


def _require_packages(part: str, error: BaseException) -> None:
    """Raises PackageError if *error* is due to a missing package."""
    lacking = packages.missing_package_of(error) if isinstance(error, ImportError) else ""
    if lacking:
        raise PackageError(
            f"'{part}' can't be judged here: its solution needs {lacking}, which is not installed",
            fix=packages.install_command([lacking]),
        ) from error


def _binding_code(name: str, function: str) -> str:
    """Returns code that defines *name* as *function*, to append to its source."""
    return f"\n\n{name} = {function}\n"


def run_here(plan: CallPlan, source: str, function: str = "") -> Mapping[str, object]:
    """Runs *source* and every call of *plan* in this process, and returns the raw answer that a
    kernel would. For trusted code only.

    *source* is code that `SolutionFunctions.source` made from *function*. Functions of the file
    keep their own namespace, where the part's name means the reference, as in the solution file.
    """
    space: dict[str, Any] = {"__name__": "solution"}
    if function:
        run_solution_code(source.removesuffix(_binding_code(plan.name, function)), space)
        # A copy for the student's names; functions keep the namespace in which they were defined.
        # Otherwise, a wrong function that calls the reference would call itself forever.
        space = {**space, plan.name: space[function]}
    else:
        run_solution_code(source, space)
    calls = []
    for digest, call in zip(plan.digests, plan.calls, strict=True):
        single = replace(plan, calls=(call,))
        calls.append({"call": digest, **perform_first_call(single, space)})
    value = encode_result(space[plan.name])
    return {"t": "code", "source": source, "name": plan.name, "value": value, "calls": calls}
