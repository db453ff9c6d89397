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
"""Cases that are asked for once more at the end, so that what hangs on the order shows."""
MOST_CASES = 200

_NUMBER = re.compile(r"(?<![\w.])[+-]?\d[\w.+]*")
"""In an author's sentence: it may be of a hidden input, or one that a student's code chose."""
_LITERAL = re.compile(r"""["']([A-Za-z_]\w*)["']|\b([A-Za-z_]\w*)=""")

_OPAQUE = '{"t": "object"'
"""What `encode` says of a value that no `decode` makes again; in a text its quotes are escaped."""

UNCOMPARED = ...
"""Expected of a case for which properties alone decide."""


@dataclass(frozen=True, slots=True)
class Raises:
    """What is expected of a case where something is to be raised."""

    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One call of the student's function."""

    group: str
    call: Call
    near: Closeness
    again: bool = False
    """Whether it is another's repetition."""


class Hidden:
    """One part's functions in the solution file, and the cases for one variant.

    For a part `softmax` the file defines `softmax` (the reference), `softmax_cases(rng, given)`
    (yields a group, the arguments by name, and where it differs the closeness), at least three
    `softmax_wrong_...`, at least one `softmax_right_...` (written in another way); and may define
    `softmax_expected(**inputs)` (what is right, by another road than calling the reference) and
    `softmax_holds(inputs, result)` (yields a sentence for each property that does not hold). Where
    properties alone decide, a result must have the form of the reference's own, or keep to what
    `softmax_form(inputs, result)` asks of its form, where right ones differ in it.
    A wrong one may call or subclass the reference by its name; a right one may not.
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
        """The functions `PART_KIND_...` by the end of their names."""
        start = f"{self.part}_{kind}_"
        space = vars(self._module)
        return {n.removeprefix(start): f for n, f in space.items() if n.startswith(start)}

    def get(self, kind: str = "") -> Any:
        """`PART`, or `PART_KIND`; None when the file has none."""
        return getattr(self._module, f"{self.part}_{kind}" if kind else self.part, None)

    def source(self, function: str, name: str) -> str:
        """What a student would write who wrote that function of the file, under *name*.

        To be run by `run_here` with the same *function*: as a text alone it would have one that
        calls the reference meet itself.
        """
        return definitions([self._draw.solution], function) + _bound(name, function)

    def leans(self, function: str) -> bool:
        """Whether that function of the file calls the reference, itself or by another's help."""
        found = definitions([self._draw.solution], function)
        return function != self.part and bool(definitions([found], self.part))

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """In the order in which they are called: the solution's, and some once more."""
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
                raise ValueError(f"'{self.part}_cases' yields an input that can't be sent")
            call = Call(inputs=text, seed=(seed + number) % 2**31, group=group)
            near = Closeness(**more[0]) if more else self._near
            yield Case(group=group, call=call, near=near)

    def expected(self, case: Case) -> object:
        """What is right for *case*, as `values.read` returns it; or Raises, or UNCOMPARED."""
        function = self.get("expected")
        if function is None:
            said = self.said(case)
            if said.get("type") == ModuleNotFoundError.__name__:
                # No student is asked to raise that: the reference lacks a package here.
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
        """`expected` of every case; computed once for those that are repeated."""
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
        """What an author wrote as the name of something, such as a key of a driver's dict."""
        texts = (self.driver, *self.tools, self._draw.solution)
        return frozenset(name for t in texts for pair in _LITERAL.findall(t) for name in pair)

    @cached_property
    def uncompared(self) -> tuple[Case, ...]:
        """The cases for which properties alone decide, without repetitions."""
        cases = zip(self.cases, self.wanted, strict=True)
        return tuple(c for c, want in cases if want is UNCOMPARED and not c.again)

    def unheld(self, case: Case, raw: Mapping[str, Any]) -> str | None:
        """The first property that does not hold for a result; None when all do.

        The form comes first: an author's code is not to meet what it was not written for.
        """
        if self._known[case.call] is UNCOMPARED:
            own = self.get("form") is not None
            why = self._asked("form", case, raw) if own else self._deformed(case, raw)
            if why is not None:
                return why
        return self._asked("holds", case, raw)

    def _asked(self, kind: str, case: Case, raw: Mapping[str, Any]) -> str | None:
        """The first sentence of an author's function of a result."""
        function = self.get(kind)
        if function is None:
            return None
        inputs = {name: trial.decode(one) for name, one in json.loads(case.call.inputs).items()}
        try:
            found = next(iter(function(inputs, trial.decode(raw))), None)
        except (Exception, SystemExit):  # noqa: BLE001  # the result is not what it can be asked of
            return "the result is not of the kind that is asked for"
        return None if found is None else _NUMBER.sub("…", str(found))

    def _deformed(self, case: Case, raw: Mapping[str, Any]) -> str | None:
        """How the form of a result differs from that of the reference's own.

        Where the reference can't be run, such as for a package that is missing where old evidence
        is scored again, there is nothing to hold it against. No student can bring that about, and
        the gate sees a reference that raises elsewhere.
        """
        if case.call not in self._forms:
            self._forms[case.call] = _settled(self.said(case))
        form = self._forms[case.call]
        return None if isinstance(form, Raises) else deformed(read(raw), form, case.near)

    def said(self, case: Case) -> Mapping[str, Any]:
        """What came of calling the reference."""
        return perform(self._trial(case), {"it": self.get()})

    def _trial(self, case: Case) -> Trial:
        return Trial(
            name="it", alias=self.part, driver=self.driver, tools=self.tools, calls=(case.call,)
        )


def _settled(said: Mapping[str, Any]) -> object:
    if said["is"] == "raised":
        return Raises(str(said["type"]))
    if said["is"] != "returned":
        raise ValueError(f"the reference's result can't be sent: {said.get('what', '')}")
    return read(said["v"])


def watch_request(trial: Trial) -> Mapping[str, object]:
    """What a request says so that `grader.wire.trial` watches for what is forbidden."""
    if not trial.forbid:
        return {}
    return {"watch": inspect.getsource(watch), "forbid": list(trial.forbid)}


def perform(one: Trial, space: Mapping[str, Any]) -> Mapping[str, Any]:
    """What `grader.wire.trial` says of the first call of *one*, made right here: for code of
    ours."""
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
        warnings.simplefilter("ignore")  # wrong implementations overflow, which is their point
        return trial.outcome(asked, space)


@lru_cache(maxsize=256)
def solution_module(text: str) -> types.ModuleType:
    """The module of a solution's text. Runs it: an author's code, as trusted as ours."""
    file = _file_of(text)
    module = types.ModuleType(file.strip("<>"))
    module.__dict__["__file__"] = file
    run_authored(text, module.__dict__, file)
    return module


def _file_of(text: str) -> str:
    """What tracebacks call the module of a solution's text."""
    return f"<grader_solution_{hashlib.sha256(text.encode()).hexdigest()[:12]}>"


def hidden(
    part: str, draw: Draw, near: Closeness, driver: str = "", tools: tuple[str, ...] = ()
) -> Hidden:
    """The hidden side of *part*.

    Raises ValueError when its solution file can't be used, and PackageError when that is for a
    package that is missing here.
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
    """Raises PackageError if *error* comes of a package that is missing here."""
    lacking = packages.lacking_for(error) if isinstance(error, ImportError) else ""
    if lacking:
        raise PackageError(
            f"'{part}' can't be judged here: its solution needs {lacking}, which is not installed",
            fix=packages.install([lacking]),
        ) from error


def _bound(name: str, function: str) -> str:
    """The end of a source, by which *function* is the answer *name*."""
    return f"\n\n{name} = {function}\n"


def run_here(one: Trial, source: str, function: str = "") -> Mapping[str, object]:
    """What running *source* and every call of *one* would leave; for code of ours alone.

    Of a *source* that `Hidden.source` made of *function*. What it was made of keeps a space of its
    own, in which the part's name means the reference, as it does in the solution file.
    """
    space: dict[str, Any] = {"__name__": "solution"}
    if function:
        run_authored(source.removesuffix(_bound(one.name, function)), space)
        # A copy, for what is called as the student's; the functions keep the space they were made
        # in. A wrong one that calls the reference would otherwise call itself until that fails.
        space = {**space, one.name: space[function]}
    else:
        run_authored(source, space)
    calls = []
    for digest, call in zip(one.digests, one.calls, strict=True):
        single = replace(one, calls=(call,))
        calls.append({"call": digest, **perform(single, space)})
    value = trial.encode(space[one.name])
    return {"t": "code", "source": source, "name": one.name, "value": value, "calls": calls}
