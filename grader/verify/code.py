"""Checks of code parts: known-right and known-wrong implementations on hidden cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from grader.kinds import Unreadable, kinds
from grader.kinds.attempts import CodeKey, required_packages
from grader.kinds.code import CodeKind
from grader.kinds.hidden.compare import difference
from grader.kinds.hidden.solutions import perform_first_call, run_here, run_solution_code
from grader.model import CallPlan, Judgment, Problem, Raw, Verdict, packages
from grader.verify.case import Case, Finding
from grader.wire.values import decode_result

FEWEST_WRONG = 3
FEWEST_REASONS = 2
FEWEST_CASES = 4


def runs_code(case: Case) -> bool:
    """Returns whether code is run for this seed."""
    return case.number < case.code_seeds


def runnable_parts(case: Case) -> Iterator[tuple[str, CodeKey, CodeKind]]:
    """Yields the parts whose code is run for this seed; `describe_unrun` tells what others lack."""
    if not runs_code(case):
        return
    for part_id, key in case.variant.keys.items():
        kind = kinds.find(key.part.kind)
        if not isinstance(key, CodeKey) or not isinstance(kind, CodeKind):
            continue
        if not packages.missing_packages(key.needs):
            yield part_id, key, kind


def describe_unrun(problem: Problem) -> Iterator[str]:
    """Yields a sentence for each part whose code can't run here, with the missing packages."""
    for part in problem.parts:
        lacking = packages.missing_packages(required_packages(part, problem.solution))
        if lacking:
            what = (
                f"'{part.id}' needs {' and '.join(lacking)} ({packages.install_command(lacking)})"
            )
            yield f"not run on this machine: {what}"


def check_implementations(case: Case) -> Iterator[Finding]:
    """Yields a finding for each right implementation that fails, each known-wrong one that passes,
    and each part with too few of either."""
    for part_id, key, kind in runnable_parts(case):
        try:
            for what, fix in _find_faults(_Runs(kind, key, case)):
                yield case.part_finding("implementations", part_id, what, fix)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - an author's code may raise anything
            what = f"the solution raised {type(error).__name__}: {error}"
            fix = "call the solution file's functions in Python to see the traceback"
            yield case.part_finding("implementations", part_id, what, fix)


def _find_faults(runs: _Runs) -> Iterator[tuple[str, str]]:
    """Yields each fault of the part's solution or hidden cases, with what to do about it."""
    key = runs.key
    hidden, part = key.solution_functions, key.part.id
    if hidden.get() is None:
        yield f"the solution has no function '{part}'", "write the reference under that name"
        return
    wrong, right = hidden.functions_of_kind("wrong"), hidden.functions_of_kind("right")
    if len(wrong) < FEWEST_WRONG:
        yield (
            f"the solution has {len(wrong)} known-wrong implementations",
            f"write at least {FEWEST_WRONG}, named {part}_wrong_...",
        )
    if not right and hidden.get("expected") is None:
        yield (
            "nothing confirms the reference",
            f"write an independent {part}_right_... or {part}_expected(...)",
        )
    if len(key.cases) < FEWEST_CASES:
        yield f"there are {len(key.cases)} hidden cases", f"yield at least {FEWEST_CASES}"
    yield from _check_reference(runs)
    yield from _check_examples(key)
    yield from _check_right(key)
    yield from _check_wrong(runs)


def _check_right(key: CodeKey) -> Iterator[tuple[str, str]]:
    """Yields a fault for each known-right implementation that calls the reference.

    `examples` checks that they pass.
    """
    hidden, part = key.solution_functions, key.part.id
    for name in hidden.functions_of_kind("right"):
        if hidden.calls_reference(f"{part}_right_{name}"):
            yield (
                f"'{part}_right_{name}' calls the reference, so it confirms nothing",
                f"write it without '{part}'; a recursive function must call itself by its own name",
            )


def _check_wrong(runs: _Runs) -> Iterator[tuple[str, str]]:
    """Yields a fault for each known-wrong implementation that passes, or that fails for another
    reason than intended."""
    part = runs.key.part.id
    failing: dict[str, Judgment] = {}
    for name, function in runs.key.solution_functions.functions_of_kind("wrong").items():
        full, declared = f"{part}_wrong_{name}", _declares_recursion(name, function)
        judged = runs.find_failure(full, declared)
        if judged is None:
            raw, judged = runs.run(full)
            if judged.share == 1:
                yield f"'{full}' passes all hidden cases", "add a case in which it fails"
                continue
            if not declared and runs.recurses_alone(raw):
                yield (
                    f"'{full}' fails only by RecursionError, not by its intended error",
                    "fix it, or write 'recursion' in its docstring if that is the intended error",
                )
        failing[full] = judged
    if len(failing) < FEWEST_WRONG or len(set(map(_reason, failing.values()))) >= FEWEST_REASONS:
        return
    # One case of each is not enough to tell their errors apart, so all cases are compared.
    if len({_reason(runs.run(full)[1]) for full in failing}) < FEWEST_REASONS:
        yield (
            "the known-wrong implementations fail in the same way",
            "make at least three of them fail for different reasons",
        )


def _reason(judged: Judgment) -> str:
    return f"{judged.note} {judged.cells}"


@dataclass(frozen=True)
class _Runs:
    """Runs implementations of one part on its hidden cases."""

    kind: CodeKind
    key: CodeKey
    case: Case

    @cached_property
    def call_plan(self) -> CallPlan:
        """The calls of the visible examples, followed by those of the hidden cases."""
        return self.key.call_plan(self.key.part.id)

    @cached_property
    def right(self) -> Sequence[Mapping[str, object]]:
        """The result of each call by the reference."""
        return right_calls(self.kind, self.key, self.case)

    def find_failure(self, function: str, recursion: bool) -> Judgment | None:
        """Returns the judgment of the first hidden case that a function of the solution file fails;
        None if it fails no case by itself.

        The case that revealed the function for an earlier seed comes first. A RecursionError counts
        only if *recursion* is set. What is measured is judged only as a whole.
        """
        if self.kind.is_measured:
            return None
        source = self.key.solution_functions.source(function, self.call_plan.name)
        hidden = range(len(self.key.cases))
        right = self.right[len(self.key.examples) :]
        first = self.case.revealing.get(function, 0)
        for index in dict.fromkeys((*hidden[first : first + 1], *hidden)):
            # Without monitoring: a function that only calls what is forbidden is run as a whole.
            plan = replace(self.call_plan, calls=(self.key.cases[index].call,), forbid=())
            raw = run_here(plan, source, function)
            (call,) = calls_of(raw)
            if call == right[index] or (_is_too_deep(call) and not recursion):
                continue
            judged = self._judge_case(raw, index)
            if judged.share is not None and judged.share != 1:
                self.case.revealing[function] = index
                return judged
        return None

    def _judge_case(self, raw: Raw, index: int) -> Judgment:
        """Returns the judgment of a raw answer to one hidden case alone."""
        cases, expected = (
            self.key.cases[index : index + 1],
            self.key.expected_results[index : index + 1],
        )
        key = replace(self.key, part=replace(self.key.part, groups={}), examples=())
        alone = {"cases": cases, "expected_results": expected}
        vars(key).update({**vars(self.key), **vars(key), **alone})
        return _judge_raw(self.kind, key, raw)

    def run(self, function: str) -> tuple[Raw, Judgment]:
        """Returns a function's raw answer to all cases, and the judgment of that answer."""
        raw = self.kind.raw(self.key, function)
        return raw, _judge_raw(self.kind, self.key, raw)

    def recurses_alone(self, raw: Raw) -> bool:
        """Returns whether RecursionError is the only reason why an implementation fails."""
        calls = calls_of(raw)
        if not any(map(_is_too_deep, calls)):
            return False
        pairs = zip(calls, self.right, strict=True)
        corrected = [right if _is_too_deep(call) else call for call, right in pairs]
        return _judge_raw(self.kind, self.key, {**raw, "calls": corrected}).share == 1


def _judge_raw(kind: CodeKind, key: CodeKey, raw: Raw) -> Judgment:
    """Returns the judgment of *raw*, which is incorrect if *raw* is unreadable."""
    try:
        return kind.judge(kind.read(raw, key), key)
    except Unreadable:
        return Judgment(share=0.0, verdict=Verdict.INCORRECT, note="unreadable")


def right_calls(kind: CodeKind, key: CodeKey, case: Case) -> Sequence[Mapping[str, object]]:
    """Returns the result of each call by the reference, which runs once for each case."""
    if key.part.id not in case.right:
        case.right[key.part.id] = calls_of(kind.raw(key, key.part.id))
    return case.right[key.part.id]


def _declares_recursion(name: str, function: object) -> bool:
    """Returns whether a known-wrong implementation declares that its recursion is wrong."""
    return "recurs" in f"{name} {function.__doc__}".lower()  # recursion, recursive


def calls_of(raw: Raw) -> list[Mapping[str, object]]:
    """Returns the results of the calls in a raw answer."""
    calls = raw["calls"]
    assert isinstance(calls, list)  # noqa: S101 - as `run_here` leaves it
    return calls


def _is_too_deep(call: Mapping[str, object]) -> bool:
    return call["is"] == "raised" and call["type"] == "RecursionError"


def _check_reference(runs: _Runs) -> Iterator[tuple[str, str]]:
    """Yields a fault if the reference, called through the driver, and the independent expectation
    differ."""
    if runs.key.solution_functions.get("expected") is None:
        return
    key, made = runs.key, runs.right[len(runs.key.examples) :]
    for case, want, result in zip(key.cases, key.expected_results, made, strict=True):
        if "form" in want:
            continue
        if "raises" in want:
            above = result.get("above", ())
            assert isinstance(above, Sequence)  # noqa: S101 - names of classes
            types = (result.get("type"), *above)
            why = None if want["raises"] in types else f"{want['raises']} is not raised"
        elif result["is"] != "returned":
            why = f"{result.get('type')}: {result.get('what')}"
        else:
            why = difference(decode_result(result["v"]), decode_result(want["value"]), case.near)
        if why is not None:
            yield (
                f"the reference and '{key.part.id}_expected' disagree ({case.group}): {why}",
                "find out which one is wrong before grading anyone",
            )
            return


def _check_examples(key: CodeKey) -> Iterator[tuple[str, str]]:
    """Yields a fault for each example in the notebook that the reference does not fulfill."""
    for call in key.call_plan(key.part.id).calls[: len(key.examples)]:
        plan = CallPlan(
            name="it", alias=key.part.id, driver=key.part.driver, tools=key.tools, calls=(call,)
        )
        source = key.solution_functions.source(key.part.id, "it")
        space: dict[str, Any] = {}
        run_solution_code(f"{key.starter}\n{source}", space)
        result = perform_first_call(plan, space)
        if result["is"] != "returned":
            what = f"the example {call.example[0]}: {result.get('type')}: {result.get('what')}"
            yield what, "fix it"
            continue
        values = decode_result(result["v"])
        assert isinstance(values, list)  # noqa: S101 - the two that were sent
        why = difference(values[0], values[1], key.part.closeness)
        if why is not None:
            yield f"the example {call.example[0]} does not give what it says: {why}", "fix 'gives'"
