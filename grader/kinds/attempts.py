"""A student's calls compared with the expected results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

from grader.errors import PackageError
from grader.kinds import student_tools as tools
from grader.kinds.hidden import pins, raised
from grader.kinds.hidden.cases import Hidden, hidden
from grader.kinds.hidden.compare import (
    WIDEST,
    Closeness,
    difference,
    numbers_in,
    shown,
    without_names,
)
from grader.kinds.hidden.form import deformed
from grader.kinds.hidden.pins import Case, Keep, Properties, Raises
from grader.kinds.hidden.source import FAILED_BEFORE
from grader.kinds.shares import share
from grader.model import Call, Draw, Judgement, Key, Part, Text, Trial, Verdict, packages
from grader.model.packages import Package
from grader.model.spec import STRICT, Share
from grader.wire import trial
from grader.wire.values import UnknownError, read


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeExample:
    """A visible example that the student can run."""

    __pydantic_config__: ClassVar[dict[str, object]] = STRICT

    call: Text
    """A Python expression that calls the function by the part's ID."""
    gives: Text
    """A Python expression for the expected result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Code(Part):
    """A function or class that the student writes, graded with hidden cases."""

    __pydantic_config__: ClassVar[dict[str, object]] = STRICT

    kind: Literal["code"] = "code"
    starter: Text
    """The initial content of the answer cell: imports and a function or class named after the
    part."""
    examples: tuple[CodeExample, ...] = ()
    """Visible examples that the student can run."""
    driver: str = ""
    """Python code that defines `drive(answer, **inputs)`. If empty, the answer is called
    directly."""
    tools: tuple[str, ...] = ()
    """Modules of `grader.kinds.student_tools` that the driver uses and the notebook shows."""
    closeness: Closeness = field(default_factory=Closeness)
    """How close results must be. The solution may override this for a case."""
    groups: Mapping[str, Share] = field(default_factory=dict)
    """The share of the points for each group of hidden cases; equal shares if not given."""
    all_or_nothing: bool = False
    """Whether all groups must pass to earn any points."""
    seconds: float = 5.0
    """Time limit for each call, in seconds."""
    device: Literal["cpu", "cuda"] = "cpu"
    """`cuda` if the code needs a GPU. On other machines the part is deferred; see `grader
    grade`."""
    needs: tuple[Package, ...] = ()
    """Packages that the part needs besides those that its code imports. On a machine without them,
    the part is deferred; see `grader grade`."""
    forbid: tuple[str, ...] = ()
    """What the code must not use: `loops`, or dotted names such as `torch.softmax`."""
    mutates: bool = False
    """Whether the code may change its inputs in place."""


@dataclass(frozen=True, kw_only=True)
class CodeKey(Key):
    """The hidden cases of a code part and their expected results, read or made when first
    needed."""

    part: Code
    draw: Draw
    starter: str
    examples: tuple[tuple[str, str], ...]
    keep: Keep = field(default=pins.make_anew, compare=False, repr=False)
    """Where cases and expected results are kept."""

    @cached_property
    def hidden(self) -> Hidden:
        """The author's functions, which are run. Raises ValueError, and PackageError as `hidden`
        does."""
        return hidden(self.part.id, self.draw, self.part.driver, self.tools)

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """The hidden cases in the order of their calls. Raises as `hidden`."""
        data = self.keep(self._digest, lambda: self.hidden.draw_cases())
        order = self.draw.order(f"cases/{self.part.id}", len(data))
        return pins.read_cases(data, self.part.closeness, order)

    @cached_property
    def expected(self) -> tuple[object, ...]:
        """The expected result of each case, as from `pins.read_expected`. Raises as `hidden`."""
        known = dict(zip(self._calls, map(pins.read_expected, self._kept["wanted"]), strict=True))
        return tuple(known[case.call] for case in self.cases)

    def unheld(self, case: Case, raw: Mapping[str, object], want: object) -> str | None:
        """Returns the first property that does not hold for a result; None if all hold.

        The form is checked first, so that the author's code meets only results that it was written
        for.
        """
        if isinstance(want, Properties):
            faults = (deformed(read(raw), form, case.near) for form in want.forms)
            why = next(filter(None, faults), None)
            if "form" in self._kept["asks"]:
                why = self.hidden.ask("form", case.call, raw)
            if why is not None:
                return why
        return self.hidden.ask("holds", case.call, raw) if "holds" in self._kept["asks"] else None

    @cached_property
    def _digest(self) -> str:
        return pins.digest_of_cases(self.part.id, self.draw)

    @property
    def _calls(self) -> tuple[Call, ...]:
        """The calls without repetitions."""
        return tuple(dict.fromkeys(case.call for case in self.cases))

    @cached_property
    def _kept(self) -> Mapping[str, Any]:
        digest = pins.digest_of_expected(self._digest, self.part.driver, self.tools)
        found: Mapping[str, Any] = self.keep(digest, self._make_expected)
        return found

    def _make_expected(self) -> object:
        asks = [kind for kind in ("form", "holds") if self.hidden.get(kind) is not None]
        return {"asks": asks, "wanted": [self.hidden.expect(call) for call in self._calls]}

    @property
    def tools(self) -> tuple[str, ...]:
        """The source code of the tools."""
        return tuple(tools.source(name) for name in self.part.tools)

    @property
    def needs(self) -> tuple[str, ...]:
        """The packages that a machine needs to run the student's code."""
        return needs_of(self.part, self.draw.solution)

    def trial(self, name: str) -> Trial:
        """Returns the calls to make, with the visible examples first.

        If a package that the solution needs is missing, the hidden cases are left out; the part is
        deferred anyway.
        """
        shown = tuple(Call(example=example) for example in self.examples)
        try:
            cases = tuple(c.call for c in self.cases) if self.draw.solution else ()
        except PackageError:
            cases = ()
        return Trial(
            name=name,
            alias=self.part.id,
            driver=self.part.driver,
            tools=self.tools,
            calls=(*shown, *cases),
            seconds=self.part.seconds,
            device=self.part.device,
            needs=self.needs,
            as_read=bool(self.part.forbid),
            forbid=self.part.forbid,
        )


def needs_of(part: Part, solution: str) -> tuple[str, ...]:
    """Returns the packages that a machine needs to run and judge *part*, given its solution file.

    These are the packages that the part declares and those that its code or the solution imports,
    but not imports inside solution functions that only the gate calls.
    """
    run = packages.imported_by(*(getattr(part, name, "") for name in _RUN))
    ours = (tools.source(name) for name in getattr(part, "tools", ()))
    loaded = packages.imported_by(
        *ours, *([solution] if isinstance(part, Code) else []), at_load=True
    )
    wanted = {*getattr(part, "needs", ()), *run, *loaded}
    return tuple(name for name in packages.PACKAGES if name in wanted)


_RUN = ("starter", "driver", "setup")
"""The fields of parts that contain Python code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A student's code and the results of calling it."""

    source: str
    unseen: str = ""
    """Why the source could not be analyzed; empty if it was analyzed."""
    calls: tuple[Mapping[str, object], ...] = ()
    deferred: str = ""
    """The device or package that the part waits for."""


class _OpenError(Exception):
    """A limit of the grader makes it impossible to tell whether a case passes; the message names
    it."""


class Found:
    """The results of the hidden cases compared with the expected ones."""

    def __init__(self, value: Attempt, key: CodeKey):
        self._key = key
        said: dict[object, list[Mapping[str, object]]] = {}
        for call in value.calls:
            said.setdefault(call.get("call"), []).append(call)
        trial = key.trial(key.part.id)
        made = [said[digest].pop(0) for digest in trial.digests]  # IndexError if missing
        self._examples = made[: len(key.examples)]
        self._why: dict[str, str | None] = {}
        self._open: dict[str, str] = {}
        made = made[len(key.examples) :]
        for case, call, want in zip(key.cases, made, key.expected, strict=True):
            why = None
            try:
                why = self._fault(case, call, want)
            except _OpenError as error:
                self._open.setdefault(case.group, str(error))
            self._why[case.group] = self._why.get(case.group) or why
        # One failing case is enough to fail its group.
        self._open = {g: why for g, why in self._open.items() if self._why[g] is None}

    def judgement(self) -> Judgement:
        """The points that the passing groups earn, and why the others fail."""
        part = self._key.part
        weights = _weights(part, tuple(self._why))
        passed = {g for g, why in self._why.items() if why is None and g not in self._open}
        lost = part.all_or_nothing and any(self._why.values())
        if self._open and not lost:
            notes = (f"{group.capitalize()} cases: {why}." for group, why in self._open.items())
            note = " ".join([*notes, "A person will review it."])
            return Judgement(share=None, verdict=Verdict.UNSETTLED, note=note)
        earned = sum(weights[group] for group in passed)
        if len(passed) == len(self._why):
            return Judgement(share=1.0, verdict=Verdict.CORRECT)
        if part.all_or_nothing:
            earned = 0.0
        labels = {
            group: Verdict.CORRECT if group in passed else Verdict.INCORRECT for group in self._why
        }
        return Judgement(
            share=round(earned, 6),
            verdict=Verdict.PARTIAL if earned > 0 else Verdict.INCORRECT,
            note=" ".join(self._notes(len(passed))),
            cells={f"{group} cases": verdict.value for group, verdict in labels.items()},
        )

    def _notes(self, passed: int) -> Iterator[str]:
        yield f"{passed} of {len(self._why)} groups of hidden cases pass."
        # Only counts: by now the code may know another part's hidden inputs and could leak them.
        missed = [example_fault(call, self._key) is not None for call in self._examples]
        if any(missed):
            yield f"{missed.count(False)} of {len(missed)} visible examples pass."
        for group, why in self._why.items():
            if why is not None:
                yield f"{group.capitalize()} cases: {why}."

    def _fault(self, case: Case, call: Mapping[str, object], want: object) -> str | None:
        """Returns why the case fails, without revealing its inputs; None if it passes."""
        if call["is"] != "returned":
            right = isinstance(want, Raises) and _is_raised(call, want.type)
            trouble = _trouble(call, self._key)
            if _hides_a_right_one(call, want):
                raise _OpenError(trouble)
            return None if right else trouble
        why = self._returned(case, call, want)
        return why and (f"when called again with the same inputs, {why}" if case.again else why)

    def _returned(self, case: Case, call: Mapping[str, object], want: object) -> str | None:
        """Returns how the returned value differs from the expected one; None if it does not."""
        if isinstance(want, Raises):
            return f"{want.type} should have been raised"
        if call.get("changed") and not self._key.part.mutates:
            return "an input was changed in place"
        raw = call.get("v")
        try:
            got = read(raw)
        except UnknownError as error:
            raise _OpenError(f"the result can't be read: {error}") from None
        except ValueError:
            return "the result could not be read"
        why = None if isinstance(want, Properties) else difference(got, want, case.near)
        if why is None and isinstance(raw, dict):
            why = self._key.unheld(case, raw, want)
        texts = (self._key.part.driver, *self._key.tools, self._key.draw.solution)
        return why and without_names(why, pins.names_in(texts))


def _hides_a_right_one(call: Mapping[str, object], want: object) -> bool:
    """Returns whether a limit of the grader is the only reason why a call has no result.

    Expected results stay within all limits, so a correct result has the same nesting and number of
    items. But its arrays may need more bytes, and earlier results may have left no room for it.
    """
    if call["is"] == "unmade":
        return call.get("what") != FAILED_BEFORE
    if call["is"] == "raised":
        return _is_of_tool(call)
    if call["is"] != "unfit" or isinstance(want, Raises):
        return False
    if isinstance(want, Properties) or call.get("type") != trial.UnfitError.__name__:
        return True
    most = WIDEST * numbers_in(want)
    return call.get("what") == trial.TOO_MUCH and most > trial.MAX_BYTES


def _is_of_tool(call: Mapping[str, object]) -> bool:
    """Returns whether one of the tools gave up on code that may be right."""
    said = call.get("what")
    return call.get("type") in _GIVE_UP or (
        call.get("type") == "LaunchError" and str(said).endswith("take too long here")
    )


_GIVE_UP = ("TooManyStatesError", "RankHungError")


def _is_raised(call: Mapping[str, object], wanted: str) -> bool:
    """Returns whether a call raised the exception named *wanted* or a subclass of it."""
    above = call.get("above")
    types = (call.get("type"), *(above if isinstance(above, list) else ()))
    return call["is"] == "raised" and wanted in types


def _weights(part: Code, groups: tuple[str, ...]) -> Mapping[str, float]:
    if not part.groups:
        return dict.fromkeys(groups, 1 / len(groups))
    if set(part.groups) != set(groups):
        there = ", ".join(sorted(groups))
        raise ValueError(f"'groups' must name the groups of the hidden cases: {there}")
    shares = {group: share(written) for group, written in part.groups.items()}
    return {group: value / sum(shares.values()) for group, value in shares.items()}


def _trouble(call: Mapping[str, object], key: CodeKey) -> str:
    """Returns why a call returned nothing, without any text that the student's code controls."""
    match call["is"]:
        case "raised":
            # Not the line: code that knows a hidden input could reveal it by where it raises.
            kind, said = raised.told(
                call.get("type"), call.get("what"), (*key.tools, key.part.driver)
            )
            return f"{kind} was raised" + (f": {said}" if said else "")
        case "unfit":
            why = call.get("what")
            return f"the result can't be read: {why if why in trial.REASONS else trial.TOO_MUCH}"
        case "late":
            return f"a call took longer than {key.part.seconds:g} s"
        case "died":
            return f"a call {str(call.get('what')).partition(' (')[0]}"  # no exit status
        case "unmade":
            return f"not called, because {call.get('what')}"
    return "the result could not be read"


def example_fault(call: Mapping[str, object], key: CodeKey) -> str | None:
    """Returns how a visible example failed; None if it passed."""
    digests = Trial(
        name="", alias="", tools=key.tools, driver=key.part.driver,
        calls=tuple(Call(example=example) for example in key.examples),
    ).digests  # fmt: skip
    texts = dict(zip(digests, key.examples, strict=True)).get(str(call.get("call")))
    if texts is None:
        return "it was not run"
    named = f"`{' '.join(texts[0].split())}`"
    if call["is"] == "raised":
        return f"{named} raises {call.get('type')}: {call.get('what')}"
    if call["is"] != "returned":
        return f"{named}: {_trouble(call, key)}"
    try:
        both = read(call.get("v"))
    except ValueError:
        return f"{named}: the result could not be read"
    if not isinstance(both, list) or len(both) != 2:
        return f"{named}: the result could not be read"
    why = difference(both[0], both[1], key.part.closeness)
    return None if why is None else f"{named} gives {shown(both[0])}: {why}"
