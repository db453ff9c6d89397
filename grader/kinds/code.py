"""Code that a student writes, judged by what it returns for inputs that were not shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import ClassVar, Literal

from grader import tools
from grader.hidden import Case, Closeness, Hidden, broken, difference, hidden, read, run_here
from grader.hidden.cases import UNCOMPARED, Raises
from grader.hidden.compare import shown
from grader.kinds import samples
from grader.kinds.base import UNDRAWN, Example, Unreadable, Usual, kinds
from grader.kinds.scalars import refusal
from grader.kinds.shares import share
from grader.model import Call, Draw, Judgement, Key, Part, Raw, Text, Trial, Verdict
from grader.model.spec import STRICT, Share
from grader.source import definitions, shape_of

EXAMPLES = "examples"
"""The group of the visible examples, which earn nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeExample:
    """One visible example, which the student can run."""

    __pydantic_config__: ClassVar[dict[str, object]] = STRICT

    call: Text
    """A Python expression that calls the function by the part's id."""
    gives: Text
    """A Python expression of what it should give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Code(Part):
    """A function or class that the student writes; hidden cases judge it."""

    __pydantic_config__: ClassVar[dict[str, object]] = STRICT

    kind: Literal["code"] = "code"
    starter: Text
    """What the answer cell starts with: imports, and a function or class named as the part."""
    examples: tuple[CodeExample, ...] = ()
    """Visible ones, which the student can run."""
    driver: str = ""
    """Python that defines `drive(answer, **inputs)`; without it, the answer is called."""
    tools: tuple[str, ...] = ()
    """What the driver uses: of grader/tools, put into the notebook for the student's own use."""
    closeness: Closeness = field(default_factory=Closeness)
    """How near results must come; the solution may say otherwise for a case."""
    groups: Mapping[str, Share] = field(default_factory=dict)
    """The share of the points of each group of hidden cases; equal ones otherwise."""
    all_or_nothing: bool = False
    """Whether every group must pass for any points."""
    seconds: float = 5.0
    """For each call."""
    forbid: tuple[str, ...] = ()
    """What the code must not use: `loops`, or dotted names such as `torch.softmax`."""
    mutates: bool = False
    """Whether the inputs may be changed in place."""


@dataclass(frozen=True, kw_only=True)
class CodeKey(Key):
    """The hidden cases, drawn and run when they are first needed."""

    part: Code
    draw: Draw
    starter: str
    examples: tuple[tuple[str, str], ...]

    @cached_property
    def hidden(self) -> Hidden:
        """The solution's side of it. Raises ValueError."""
        part = self.part
        return hidden(part.id, self.draw, part.closeness, part.driver, self.tools)

    @property
    def tools(self) -> tuple[str, ...]:
        """The sources of the tools."""
        return tuple(tools.source(name) for name in self.part.tools)

    def trial(self, name: str) -> Trial:
        """What to call, with the visible examples first."""
        shown = tuple(Call(example=example) for example in self.examples)
        cases = tuple(c.call for c in self.hidden.cases) if self.draw.solution else ()
        return Trial(
            name=name,
            alias=self.part.id,
            driver=self.part.driver,
            tools=self.tools,
            calls=(*shown, *cases),
            seconds=self.part.seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What a student wrote, and what came of calling it."""

    source: str
    calls: tuple[Mapping[str, object], ...] = ()


class CodeKind(Usual[CodeKey, Attempt]):
    """A function or class that the student writes; hidden cases judge it."""

    spec: type[Code] = Code
    needs_solution = True
    by_solve = False

    def key(self, part: Code, draw: Draw) -> CodeKey:
        """The key; nothing is run for it yet."""
        if not _defines(part.starter, part.id):
            raise ValueError(f"the starter defines no function or class '{part.id}'")
        for name in part.tools:
            tools.source(name)
        return CodeKey(
            part=part,
            draw=draw,
            starter=draw.fill(part.starter, draw.scope).strip("\n"),
            examples=tuple(
                (draw.fill(e.call, draw.scope).strip(), draw.fill(e.gives, draw.scope).strip())
                for e in part.examples
            ),
        )

    def read(self, raw: Raw, key: CodeKey) -> Attempt:
        """What was written. Raises Unreadable for the untouched starter and for what is no code."""
        if raw.get("t") != "code":
            raise refusal(raw, _WANTED)
        calls, source, name = raw.get("calls"), str(raw.get("source")), str(raw.get("name"))
        value = raw.get("value")
        if not isinstance(calls, list):
            raise refusal(value if isinstance(value, dict) else {}, _WANTED)
        source = re.sub(rf"\b{re.escape(name)}\b", key.part.id, source) if name else source
        mine, given = (definitions([s], key.part.id) for s in (source, key.starter))
        if mine and shape_of(mine) == shape_of(given):
            raise Unreadable("Nothing was written.", blank=True)
        return Attempt(source=source, calls=tuple(c for c in calls if isinstance(c, dict)))

    def judge(self, value: Attempt, key: CodeKey) -> Judgement:
        """By groups of hidden cases: each earns its share when all its cases pass."""
        rule = broken(value.source, key.part.forbid)
        if rule is not None:
            note = f"This part must be solved without {rule}, which the code uses."
            return Judgement(share=0.0, verdict=Verdict.INCORRECT, note=note)
        try:
            found = _Found(value, key)
        except LookupError:
            note = "The code was run on other inputs than those that count now; it is run again."
            return Judgement(share=None, verdict=Verdict.UNSETTLED, note=note)
        return found.judgement()

    def trial(self, name: str, key: CodeKey) -> Trial:
        """The visible examples and the hidden cases."""
        return key.trial(name)

    def say(self, value: Attempt, key: CodeKey) -> str:
        """How much was written; in a student's own check, also how the visible examples went."""
        lines = len([line for line in value.source.splitlines() if line.strip()])
        said = f"code of {lines} {'line' if lines == 1 else 'lines'}"
        if key.draw.solution or not key.examples or not value.calls:
            return said
        right = [_example(call, key) is None for call in value.calls]
        missed = next((w for c in value.calls if (w := _example(c, key)) is not None), None)
        said = f"{said}, {sum(right)} of {len(right)} visible examples pass"
        return said if missed is None else f"{said}: {missed}"

    def examples(self, key: CodeKey) -> tuple[Example, ...]:
        """The reference and what is right otherwise, the untouched starter, and what is no code."""
        right = [key.part.id, *(f"{key.part.id}_right_{n}" for n in key.hidden.named("right"))]
        ran = (
            Example(raw=self.raw(key, function), share=1.0, why=f"{function} of the solution")
            for function in right
        )
        return (
            *ran,
            samples.unreadable(
                {"t": "code", "source": key.starter, "name": key.part.id, "calls": []},
                "the untouched starter",
            ),
            samples.unreadable(samples.number(1), "a number"),
            samples.unreadable(samples.text("x"), "a text"),
            *samples.NOTHING,
        )

    def raw(self, key: CodeKey, function: str) -> Raw:
        """What a run would leave of a student who wrote that function of the solution file."""
        return self.ran(key, key.part.id, key.hidden.source(function, key.part.id))

    def ran(self, key: CodeKey, name: str, source: str) -> Raw:
        """What a run of *source* would leave of *name*; here, so for sources of ours alone."""
        return run_here(key.trial(name), source)

    def how(self, key: CodeKey) -> str:  # noqa: ARG002
        """What to do."""
        return "complete the code"

    def definition(self, name: str, key: CodeKey, answer: str | None) -> str:
        """The answer cell: the starter, or a whole answer."""
        source = key.starter if answer is None else answer
        return _renamed(source, key.part.id, name)

    def try_out(self, name: str, key: CodeKey) -> str:
        """A cell with the visible examples."""
        lines = []
        for call, gives in key.examples:
            mine = _renamed(call, key.part.id, name)
            lines.append(f"print({mine})\n# expected: {' '.join(gives.split())}")
        return "\n".join(lines)

    def around(self, key: CodeKey) -> Mapping[str, str]:
        """The tools, as cells of the notebook."""
        return dict(zip(key.part.tools, key.tools, strict=True))

    def answer(self, key: CodeKey) -> object:
        """The reference's code."""
        return definitions([key.draw.solution], key.part.id)

    def true(self, key: CodeKey) -> Attempt | None:
        """The reference; what came of calling it is not known here."""
        return Attempt(source=definitions([key.draw.solution], key.part.id))

    def solved(self, answer: object, key: CodeKey) -> Attempt:  # noqa: ARG002
        """Code that the solution returned."""
        if not isinstance(answer, str):
            raise ValueError(f"{answer!r} is not code")
        return Attempt(source=answer)

    def sheet(self, key: CodeKey) -> Mapping[str, object]:
        """The starter and the visible examples."""
        return {
            "part": key.part.id,
            "starter": key.starter,
            "examples": [list(example) for example in key.examples],
            "closeness": asdict(key.part.closeness),
            "seconds": key.part.seconds,
        }

    def from_sheet(self, sheet: Mapping[str, object]) -> CodeKey:
        """A key with the visible examples alone."""
        examples, near = sheet["examples"], sheet["closeness"]
        if not isinstance(examples, list) or not isinstance(near, dict):
            raise TypeError("no examples")
        found = tuple((str(call), str(gives)) for call, gives in examples)
        part = Code(
            id=str(sheet["part"]),
            ask="",
            starter=str(sheet["starter"]),
            examples=tuple(CodeExample(call=c, gives=g) for c, g in found),
            closeness=Closeness(**near),
            seconds=float(str(sheet["seconds"])),
        )
        return CodeKey(part=part, draw=UNDRAWN, starter=part.starter, examples=found)

    def literal(self, key: CodeKey) -> str:
        """The reference's code under the part's name."""
        return definitions([key.draw.solution], key.part.id)

    def explain(self, key: CodeKey) -> str:
        """The reference."""
        return f"A solution:\n\n```python\n{self.literal(key)}\n```"


class _Found:
    """What came of each hidden case, set against what was expected."""

    def __init__(self, value: Attempt, key: CodeKey):
        self._key = key
        said: dict[object, list[Mapping[str, object]]] = {}
        for call in value.calls:
            said.setdefault(call.get("call"), []).append(call)
        trial = key.trial(key.part.id)
        made = [said[digest].pop(0) for digest in trial.digests]  # IndexError is a LookupError
        self._examples = made[: len(key.examples)]
        self._why: dict[str, str | None] = {}
        cases = key.hidden.cases
        for case, call, want in zip(
            cases, made[len(key.examples) :], key.hidden.wanted, strict=True
        ):
            why = self._fault(case, call, want)
            self._why[case.group] = self._why.get(case.group) or why

    def judgement(self) -> Judgement:
        part = self._key.part
        weights = _weights(part, tuple(self._why))
        passed = {group for group, why in self._why.items() if why is None}
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
        for call in self._examples:
            missed = _example(call, self._key)
            if missed is not None:
                yield f"Visible example: {missed}."
                break
        for group, why in self._why.items():
            if why is not None:
                yield f"{group.capitalize()} cases: {why}."

    def _fault(self, case: Case, call: Mapping[str, object], want: object) -> str | None:
        """Why the case does not pass; nothing of its inputs."""
        if call["is"] != "returned":
            raised = isinstance(want, Raises) and call["is"] == "raised"
            right = raised and call.get("type") == getattr(want, "type", None)
            return None if right else _trouble(call, self._key.part.seconds)
        why = self._returned(case, call, want)
        return why and (f"called once more with the same inputs, {why}" if case.again else why)

    def _returned(self, case: Case, call: Mapping[str, object], want: object) -> str | None:
        """How what was returned differs from what should have been."""
        if isinstance(want, Raises):
            return f"{want.type} should have been raised"
        if call.get("changed") and not self._key.part.mutates:
            return "an input was changed in place"
        raw = call.get("v")
        try:
            got = read(raw)
        except ValueError:
            return "the result could not be read"
        why = None if want is UNCOMPARED else difference(got, want, case.near)
        if why is None and isinstance(raw, dict):
            why = self._key.hidden.unheld(case, raw)
        return why


def _weights(part: Code, groups: tuple[str, ...]) -> Mapping[str, float]:
    if not part.groups:
        return dict.fromkeys(groups, 1 / len(groups))
    if set(part.groups) != set(groups):
        raise ValueError(f"the groups of the cases are {', '.join(sorted(groups))}")
    shares = {group: share(written) for group, written in part.groups.items()}
    return {group: value / sum(shares.values()) for group, value in shares.items()}


def _trouble(call: Mapping[str, object], seconds: float) -> str:
    """What kept a call from returning anything."""
    match call["is"]:
        case "raised":
            line = f" (line {call['line']} of its cell)" if "line" in call else ""
            return f"{call.get('type')} was raised{line}"
        case "unfit":
            return f"the result can't be taken: {call.get('what')}"
        case "late":
            return f"a call took longer than {seconds:g} s"
        case "died":
            return f"a call {call.get('what')}"
        case "unmade":
            return f"not called, because {call.get('what')}"
    return "the result could not be read"


def _example(call: Mapping[str, object], key: CodeKey) -> str | None:
    """How a visible example went wrong; None when it went well."""
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
        return f"{named}: {_trouble(call, key.part.seconds)}"
    try:
        both = read(call.get("v"))
    except ValueError:
        return f"{named}: the result could not be read"
    if not isinstance(both, list) or len(both) != 2:
        return f"{named}: the result could not be read"
    why = difference(both[0], both[1], key.part.closeness)
    return None if why is None else f"{named} gives {shown(both[0])}: {why}"


def _defines(starter: str, name: str) -> bool:
    return re.search(rf"^(?:def|class) {re.escape(name)}\b", starter, re.M) is not None


def _renamed(source: str, part: str, name: str) -> str:
    """*source* with the part's function under the name of the answer."""
    return re.sub(rf"(?<![\w.]){re.escape(part)}\b(?!\s*=[^=])", name, source)


_WANTED = "a function or class"

kinds.add("code")(CodeKind())

__all__ = ["Attempt", "Code", "CodeExample", "CodeKey", "CodeKind"]
