"""The hidden cases of one part of one variant, drawn from its solution file."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from grader.errors import PackageError
from grader.kinds.hidden.authored import line_raised, run_authored
from grader.kinds.hidden.compare import Closeness
from grader.kinds.hidden.form import deformed
from grader.kinds.hidden.given import Given
from grader.kinds.hidden.source import definitions
from grader.model import Call, Draw, Trial, packages
from grader.wire import trial, watch
from grader.wire.values import read

REPEATED = 2
"""The number of cases to call again at the end, to detect dependence on the order of calls."""
MOST_CASES = 200

_NUMBER = re.compile(r"(?<![\w.])[+-]?\d[\w.+]*")
"""Pattern of numbers in an author's sentence: one may come from a hidden input or a student's
code."""
_LITERAL = re.compile(r"""["']([A-Za-z_]\w*)["']|\b([A-Za-z_]\w*)=""")

_OPAQUE = '{"t": "object"'
"""How `encode` marks a value that `decode` can't restore; inside a text, the quotes are escaped."""

UNCOMPARED = ...
"""The expected result of a case that only properties judge."""


@dataclass(frozen=True, slots=True)
class Raises:
    """The expected result of a case that must raise an exception."""

    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One call of the student's function."""

    group: str
    call: Call
    near: Closeness
    again: bool = False
    """Whether it repeats another case."""


class Hidden:
    """One part's functions in the solution file, and the cases for one variant.

    For a part `softmax` the file defines `softmax` (the reference), `softmax_cases(rng, given)`
    (yields a group, the arguments by name, and optionally a closeness), at least three
    `softmax_wrong_...`, at least one `softmax_right_...` (written in another way); and may define
    `softmax_expected(**inputs)` (the expected result, by an independent method) and
    `softmax_holds(inputs, result)` (yields a sentence for each property that does not hold). Where
    only properties decide, a result must have the form of the reference's result, or satisfy

    `softmax_form(inputs, result)` if the form of right results varies.
    A `_wrong_` function may call or subclass the reference by its name; a `_right_` one may not.
    """

    def __init__(self, part: str, draw: Draw, near: Closeness, driver: str, tools: tuple[str, ...]):
        self.part = part
        self.driver = driver
        self.tools = tools
        self._draw = draw
        self._near = near
        self._module = solution_module(draw.solution)
        self._forms: dict[Call, object] = {}

    def named(self, kind: str) -> Mapping[str, Callable[..., Any]]:
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
        return definitions([self._draw.solution], function) + _bound(name, function)

    def leans(self, function: str) -> bool:
        """Returns whether that function of the file calls the reference, directly or indirectly."""
        found = definitions([self._draw.solution], function)
        return function != self.part and bool(definitions([found], self.part))

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """The cases in the order of their calls: those of the solution, then some repetitions."""
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
            found = list(self._made(make(rng, given), seed))
        except ValueError:
            raise
        except (Exception, SystemExit) as error:
            _require_packages(self.part, error)
            raise ValueError(
                f"'{self.part}_cases' raised {type(error).__name__}: {error}"
            ) from error
        which = self._draw.order(f"cases/{self.part}", len(found))[:REPEATED]
        again = (found[i] for i in sorted(which))
        return (
            *found,
            *(Case(group=c.group, call=c.call, near=c.near, again=True) for c in again),
        )

    def _made(self, cases: Iterator[Any], seed: int) -> Iterator[Case]:
        for number, (group, inputs, *more) in enumerate(cases):
            if number >= MOST_CASES:
                raise ValueError(f"'{self.part}_cases' yields more than {MOST_CASES} cases")
            text = json.dumps({name: trial.encode(value) for name, value in inputs.items()})
            if _OPAQUE in text:
                raise ValueError(f"'{self.part}_cases' yields an input that can't be serialized")
            call = Call(inputs=text, seed=(seed + number) % 2**31, group=group)
            near = Closeness(**more[0]) if more else self._near
            yield Case(group=group, call=call, near=near)

    def expected(self, case: Case) -> object:
        """Returns the expected result of *case* as `values.read` returns it, or Raises, or
        UNCOMPARED."""
        function = self.get("expected")
        if function is None:
            said = self.said(case)
            if said.get("type") == ModuleNotFoundError.__name__:
                # Not an expected exception: the reference lacks a package here.
                raise PackageError(f"'{self.part}' can't be judged here: {said.get('what')}")
            return _settled(said)
        inputs = {name: trial.decode(raw) for name, raw in json.loads(case.call.inputs).items()}
        try:
            value = function(**inputs)
        except (Exception, SystemExit) as error:  # noqa: BLE001  # what it raises is what is right
            _require_packages(self.part, error)
            return Raises(type(error).__name__)
        return UNCOMPARED if value is UNCOMPARED else read(trial.encode(value))

    @cached_property
    def wanted(self) -> tuple[object, ...]:
        """`expected` of every case; computed only once for repeated cases."""
        return tuple(self._known[case.call] for case in self.cases)

    @cached_property
    def _known(self) -> dict[Call, object]:
        known: dict[Call, object] = {}
        for case in self.cases:
            if case.call not in known:
                known[case.call] = self.expected(case)
        return known

    @cached_property
    def names(self) -> frozenset[str]:
        """Names in the author's code, such as the keys of a driver's dict."""
        texts = (self.driver, *self.tools, self._draw.solution)
        return frozenset(name for t in texts for pair in _LITERAL.findall(t) for name in pair)

    @cached_property
    def uncompared(self) -> tuple[Case, ...]:
        """The cases that only properties judge, without repetitions."""
        cases = zip(self.cases, self.wanted, strict=True)
        return tuple(c for c, want in cases if want is UNCOMPARED and not c.again)

    def unheld(self, case: Case, raw: Mapping[str, Any]) -> str | None:
        """Returns the first property that does not hold for a result; None if all hold.

        The form is checked first, so that the author's code meets only results that it was written
        for.
        """
        if self._known[case.call] is UNCOMPARED:
            own = self.get("form") is not None
            why = self._asked("form", case, raw) if own else self._deformed(case, raw)
            if why is not None:
                return why
        return self._asked("holds", case, raw)

    def _asked(self, kind: str, case: Case, raw: Mapping[str, Any]) -> str | None:
        """Returns the first sentence that an author's function yields for a result."""
        function = self.get(kind)
        if function is None:
            return None
        inputs = {name: trial.decode(one) for name, one in json.loads(case.call.inputs).items()}
        try:
            found = next(iter(function(inputs, trial.decode(raw))), None)
        except (Exception, SystemExit):  # noqa: BLE001  # the result is not what it can be asked of
            return "the result does not have the expected type"
        return None if found is None else _NUMBER.sub("…", str(found))

    def _deformed(self, case: Case, raw: Mapping[str, Any]) -> str | None:
        """Returns how the form of a result differs from the reference's result; None if it does
        not.

        If the reference can't be run, such as when old evidence is scored without a package, the
        form is not checked. Students can't cause that, and the gate detects references that raise.
        """
        if case.call not in self._forms:
            self._forms[case.call] = _settled(self.said(case))
        form = self._forms[case.call]
        return None if isinstance(form, Raises) else deformed(read(raw), form, case.near)

    def said(self, case: Case) -> Mapping[str, Any]:
        """Returns the result of calling the reference."""
        return perform(self._trial(case), {"it": self.get()})

    def _trial(self, case: Case) -> Trial:
        return Trial(
            name="it", alias=self.part, driver=self.driver, tools=self.tools, calls=(case.call,)
        )


def _settled(said: Mapping[str, Any]) -> object:
    if said["is"] == "raised":
        return Raises(str(said["type"]))
    if said["is"] != "returned":
        raise ValueError(f"the reference's result can't be serialized: {said.get('what', '')}")
    return read(said["v"])


def watch_request(trial: Trial) -> Mapping[str, object]:
    """Returns the request that makes `grader.wire.trial` watch for forbidden names."""
    if not trial.forbid:
        return {}
    return {"watch": inspect.getsource(watch), "forbid": list(trial.forbid)}


def perform(one: Trial, space: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the result of the first call of *one* by `grader.wire.trial`, run in this process;
    for trusted code only."""
    (call,) = one.calls[:1]
    asked: dict[str, Any] = {
        "name": one.name,
        "driver": one.driver,
        "tools": list(one.tools),
        "seed": call.seed,
    }
    if call.example:
        asked |= {"example": list(call.example), "alias": one.alias}
    else:
        asked |= {"inputs": json.loads(call.inputs), **watch_request(one)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # wrong implementations are expected to overflow
        return trial.outcome(asked, space)


@lru_cache(maxsize=256)
def solution_module(text: str) -> types.ModuleType:
    """Runs a solution's text, which is trusted, and returns its module."""
    file = _file_of(text)
    module = types.ModuleType(file.strip("<>"))
    module.__dict__["__file__"] = file
    run_authored(text, module.__dict__, file)
    return module


def _file_of(text: str) -> str:
    """Returns the file name of a solution's module in tracebacks."""
    return f"<grader_solution_{hashlib.sha256(text.encode()).hexdigest()[:12]}>"


def hidden(
    part: str, draw: Draw, near: Closeness, driver: str = "", tools: tuple[str, ...] = ()
) -> Hidden:
    """Returns the hidden cases of *part*.

    Raises ValueError if its solution file can't be used, and PackageError if a package is missing.
    """
    if not draw.solution:
        raise ValueError("there is no solution file, so there are no hidden cases")
    try:
        return Hidden(part, draw, near, driver, tools)
    except (Exception, SystemExit) as error:
        _require_packages(part, error)
        line = line_raised(error, _file_of(draw.solution))
        raise ValueError(
            f"the solution can't be loaded{f' (line {line})' if line else ''}: "
            f"{type(error).__name__}: {error}"
        ) from error


def _require_packages(part: str, error: BaseException) -> None:
    """Raises PackageError if *error* is due to a missing package."""
    lacking = packages.lacking_for(error) if isinstance(error, ImportError) else ""
    if lacking:
        raise PackageError(
            f"'{part}' can't be judged here: its solution needs {lacking}, which is not installed",
            fix=packages.install([lacking]),
        ) from error


def _bound(name: str, function: str) -> str:
    """Returns code that defines *name* as *function*, to append to its source."""
    return f"\n\n{name} = {function}\n"


def run_here(one: Trial, source: str, function: str = "") -> Mapping[str, object]:
    """Returns the data that running *source* and every call of *one* leaves; for trusted code only.

    *source* is code that `Hidden.source` made from *function*. Functions of the file keep their own
    namespace, where the part's name means the reference, as in the solution file.
    """
    space: dict[str, Any] = {"__name__": "solution"}
    if function:
        run_authored(source.removesuffix(_bound(one.name, function)), space)
        # A copy for the student's names; functions keep the namespace in which they were defined.
        # Otherwise, a wrong function that calls the reference would call itself forever.
        space = {**space, one.name: space[function]}
    else:
        run_authored(source, space)
    calls = []
    for digest, call in zip(one.digests, one.calls, strict=True):
        single = replace(one, calls=(call,))
        calls.append({"call": digest, **perform(single, space)})
    value = trial.encode(space[one.name])
    return {"t": "code", "source": source, "name": one.name, "value": value, "calls": calls}
