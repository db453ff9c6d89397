"""Code that a student writes, judged by its results on hidden inputs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import get_args

from grader.kinds import samples, student_tools
from grader.kinds.attempts import Code, CodeAnswer, CodeExample, CodeKey
from grader.kinds.base import UNDRAWN, Example, KindOf, Unreadable, kinds, partial_judgment
from grader.kinds.hidden.analysis import NotAnalyzedError
from grader.kinds.hidden.compare import Closeness
from grader.kinds.hidden.judging import CaseResults, check_example, find_broken_rule, find_doubt
from grader.kinds.hidden.review import SourceReview
from grader.kinds.hidden.solutions import run_here
from grader.kinds.hidden.source import extract_definition
from grader.kinds.scalars import refusal
from grader.kinds.texts import fill
from grader.model import CallPlan, Draw, Judgment, Raw, packages


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleResult:
    """The result of one visible example."""

    call: str
    """The expression on one line."""
    fault: str = ""
    """Why the example failed; empty if it passed."""


class CodeKind(KindOf[CodeKey, CodeAnswer]):
    """A function or class that the student writes, graded with hidden cases."""

    spec: type[Code] = Code
    needs_solution = True

    def key(self, part: Code, draw: Draw) -> CodeKey:
        if not re.search(rf"^(?:def|class) {re.escape(part.id)}\b", part.starter, re.M):
            raise ValueError(f"the starter defines no function or class '{part.id}'")
        for name in part.tools:
            student_tools.source(name)
        for name in packages.packages_for_tools(part.tools):
            if name not in part.needs:
                raise ValueError(f"its tools need {name}: add needs: [{name}]")
        return CodeKey(
            part=part,
            draw=draw,
            starter=fill(part.starter, draw).strip("\n"),
            examples=tuple((fill(e.call, draw), fill(e.gives, draw)) for e in part.examples),
        )

    def read(self, raw: Raw, key: CodeKey) -> CodeAnswer:
        if raw.get("t") != "code":
            raise refusal(raw, _WANTED)
        calls, value = raw.get("calls"), raw.get("value")
        source, name = str(raw.get("source")), str(raw.get("name"))
        if not isinstance(calls, list):
            raise refusal(value if isinstance(value, dict) else {}, _WANTED)
        source = re.sub(rf"\b{re.escape(name)}\b", key.part.id, source) if name else source
        why_unanalyzed = str(raw.get("unseen") or "")
        try:
            review = key.review(source)
        except NotAnalyzedError as error:
            review = SourceReview()
            why_unanalyzed = why_unanalyzed or str(error)
        if review.is_starter:
            raise Unreadable("The starter code is unchanged.", blank=True)
        measured = raw.get("race")
        return CodeAnswer(
            source=source,
            review=review,
            why_unanalyzed=why_unanalyzed,
            calls=tuple(c for c in calls if isinstance(c, dict)),
            measurement=measured if isinstance(measured, dict) else {},
            deferred=next((need for need in _WAITS if need == raw.get("deferred")), ""),
        )

    def judge(self, value: CodeAnswer, key: CodeKey) -> Judgment:
        rule = find_broken_rule(value, key.part)
        if rule is not None:
            return partial_judgment(0.0, f"This part must be solved without {rule}.")
        if value.deferred:
            return partial_judgment(None, _WAITS[value.deferred])
        try:
            judgment = CaseResults(value, key).judgment()
        except LookupError:
            note = "The code was run on inputs that no longer count; it will be run again."
            return partial_judgment(None, note)
        doubt = find_doubt(value, key.part, earns=judgment.share != 0)
        if doubt is None:
            return judgment
        note = f"This part forbids some functions, and {doubt}; a person will review it."
        return partial_judgment(None, note)

    def call_plan(self, name: str, key: CodeKey) -> CallPlan:
        return key.call_plan(name)

    def format_value(self, value: CodeAnswer, key: CodeKey) -> str:
        need = value.deferred
        return f"code, not run: {need} is not installed" if need in packages.PACKAGES else "code"

    def example_results(self, value: CodeAnswer, key: CodeKey) -> tuple[ExampleResult, ...]:
        """Returns how the visible examples went; empty if the machine could not run them."""
        if value.deferred:
            return ()
        faults = [check_example(call, key) for call in value.calls[: len(key.examples)]]
        calls = [" ".join(call.split()) for call, _ in key.examples]
        faults += [f"`{call}` was not run" for call in calls[len(faults) :]]
        return tuple(
            ExampleResult(call=call, fault=fault or "")
            for call, fault in zip(calls, faults, strict=True)
        )

    def examples(self, key: CodeKey) -> tuple[Example, ...]:
        # Examples that need a package missing here are left out.
        can_run = not packages.missing_packages(key.needs)
        name = key.part.id
        right_functions = [
            f"{name}_right_{end}" for end in key.solution_functions.functions_of_kind("right")
        ] or [name]
        right_examples = (
            Example(raw=self.raw(key, function), share=1.0, why=f"{function} of the solution")
            for function in (right_functions if can_run else ())
        )
        raised = {"is": "raised", "type": "NoSuchError", "what": ""}
        calls = [{"call": digest, **raised} for digest in key.call_plan(name).digests]
        source = f"def {name}(*arguments, **named):\n    raise NoSuchError"
        wrong = {"t": "code", "source": source, "name": name, "calls": calls}
        return (
            *right_examples,
            Example(raw=wrong, share=0.0, why="code that always raises"),
            Example(
                raw={"t": "code", "source": key.starter, "name": key.part.id, "calls": []},
                share=None,
                why="the untouched starter",
            ),
            samples.unreadable(1, "a number"),
            samples.unreadable("x", "a text"),
            *samples.NOTHING,
        )

    def raw(self, key: CodeKey, function: str) -> Raw:
        """Returns the raw answer of a student whose code is *function* of the solution file."""
        source = key.solution_functions.source(function, key.part.id)
        return self.simulate_run(key, key.part.id, source, function)

    def simulate_run(self, key: CodeKey, name: str, source: str, function: str = "") -> Raw:
        """Runs *source*, our own code, in this process, and returns the raw answer for *name*.

        *function* is the function of the solution file that the source was made from, if any.
        """
        missing = packages.missing_packages(key.needs)
        if missing:
            raw = {"t": "code", "source": source, "name": name, "value": {"t": "object"}}
            return {**raw, "calls": [], "deferred": missing[0]}
        return run_here(key.call_plan(name), source, function)

    def instructions(self, key: CodeKey) -> str:
        without = ", ".join(key.part.forbid)
        asked = f"complete the code without {without}" if without else "complete the code"
        needed = " ".join(key.part.needs)
        return f"{asked}; to check it, run `pip install {needed}`" if needed else asked

    def answer(self, key: CodeKey) -> object:
        return extract_definition([key.draw.solution], key.part.id)

    def sheet(self, key: CodeKey) -> Mapping[str, object]:
        return {
            "part": key.part.id,
            "starter": key.starter,
            "examples": [list(example) for example in key.examples],
            "closeness": asdict(key.part.closeness),
            "seconds": key.part.seconds,
            **({"needs": list(key.part.needs)} if key.part.needs else {}),
        }

    def from_sheet(self, sheet: Mapping[str, object]) -> CodeKey:
        examples, near = sheet["examples"], sheet["closeness"]
        if not isinstance(examples, list) or not isinstance(near, dict):
            raise TypeError("no examples")
        calls = tuple((str(call), str(gives)) for call, gives in examples)
        needs = sheet.get("needs")
        asked = needs if isinstance(needs, list) else []
        part = Code(
            id=str(sheet["part"]),
            ask="",
            starter=str(sheet["starter"]),
            examples=tuple(CodeExample(call=c, gives=g) for c, g in calls),
            closeness=Closeness(**near),
            seconds=float(str(sheet["seconds"])),
            needs=tuple(name for name in get_args(packages.Package) if name in asked),
        )
        return CodeKey(part=part, draw=UNDRAWN, starter=part.starter, examples=calls)

    def explain(self, key: CodeKey) -> str:
        return f"A solution:\n\n```python\n{self.answer(key)}\n```"


_WANTED = "a function or class"

_WAITS = {
    "cuda": "This needs a GPU and waits for a machine that has one; no points are deducted.",
    **{name: packages.waiting_note(name) for name in packages.PACKAGES},
}
"""The note for a deferred part, by what it waits for."""

kinds.add("code")(CodeKind())
