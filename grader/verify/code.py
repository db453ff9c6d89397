"""Checks of code parts: known-right and known-wrong implementations on hidden cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from grader.kinds import Unreadable, kinds
from grader.kinds.attempts import CodeKey, needs_of
from grader.kinds.code import CodeKind
from grader.kinds.hidden.authored import run_authored
from grader.kinds.hidden.cases import perform
from grader.kinds.hidden.compare import difference
from grader.kinds.hidden.pins import Properties, Raises
from grader.model import Judgement, Key, Problem, Raw, Trial, Verdict, packages
from grader.verify.case import Case, Finding
from grader.wire.values import read

FEWEST_WRONG = 3
FEWEST_REASONS = 2
FEWEST_CASES = 4


def runs(case: Case) -> bool:
    """Whether code is run for this seed."""
    return case.number < case.code_seeds


def unrun(problem: Problem) -> Iterator[str]:
    """A sentence for each part whose code can't run here, with the missing packages."""
    for part in problem.parts:
        lacking = packages.missing(needs_of(part, problem.solution))
        if lacking:
            what = f"'{part.id}' needs {' and '.join(lacking)} ({packages.install(lacking)})"
            yield f"not run on this machine: {what}"


def raw_of(key: Key, name: str, source: str) -> Raw:
    """The raw answer *name* that running *source*, the text of its answer cell, would give."""
    kind = kinds.find(key.part.kind)
    assert isinstance(kind, CodeKind)  # noqa: S101 - asked for code alone
    assert isinstance(key, CodeKey)  # noqa: S101 - the same
    return kind.simulate_run(key, name, source)


def implementations(case: Case) -> Iterator[Finding]:
    """Right implementations pass, known-wrong ones fail, and there are enough of both."""
    for part_id, key in case.variant.keys.items():
        kind = kinds.find(key.part.kind)
        if not isinstance(key, CodeKey) or not isinstance(kind, CodeKind) or not runs(case):
            continue
        if packages.missing(key.needs):
            continue  # reported by `unrun`
        at = case.part_path(part_id)
        try:
            for what, fix in _faults(kind, key):
                yield case.finding("implementations", at, f"part '{part_id}': {what}", fix)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - an author's code may raise anything
            yield case.finding(
                "implementations",
                at,
                f"part '{part_id}': the solution raised {type(error).__name__}: {error}",
                "call the solution file's functions in Python to see the traceback",
            )


def _faults(kind: CodeKind, key: CodeKey) -> Iterator[tuple[str, str]]:
    hidden, part = key.hidden, key.part.id
    if hidden.get() is None:
        yield f"the solution has no function '{part}'", "write the reference under that name"
        return
    wrong, right = hidden.named("wrong"), hidden.named("right")
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
    yield from _reference(key)
    yield from _examples(key)
    yield from _right(key)
    yield from _wrong(kind, key)


def _right(key: CodeKey) -> Iterator[tuple[str, str]]:
    """Known-right implementations pass and do not use the reference."""
    hidden, part = key.hidden, key.part.id
    for name in hidden.named("right"):
        if hidden.leans(f"{part}_right_{name}"):
            yield (
                f"'{part}_right_{name}' calls the reference, so it confirms nothing",
                f"write it without '{part}'; a recursive function must call itself by its own name",
            )


def _wrong(kind: CodeKind, key: CodeKey) -> Iterator[tuple[str, str]]:
    """Known-wrong implementations fail, and for the intended reason."""
    wrong, part = key.hidden.named("wrong"), key.part.id
    seen: dict[str, str] = {}
    for name, function in wrong.items():
        raw = kind.raw(key, f"{part}_wrong_{name}")
        judged = _judged(kind, key, raw)
        if judged.share == 1:
            yield f"'{part}_wrong_{name}' passes all hidden cases", "add a case in which it fails"
            continue
        seen[name] = f"{judged.note} {judged.cells}"
        if not _says_so(name, function) and _recurses_alone(kind, key, raw):
            yield (
                f"'{part}_wrong_{name}' fails only by RecursionError, not by its intended error",
                "fix it; if that is the intended error, write 'recursion' in its name or docstring",
            )
    if len(seen) >= FEWEST_WRONG and len(set(seen.values())) < FEWEST_REASONS:
        yield (
            "the known-wrong implementations fail in the same way",
            "make at least three of them fail for different reasons",
        )


def _judged(kind: CodeKind, key: CodeKey, raw: Raw) -> Judgement:
    try:
        return kind.judge(kind.read(raw, key), key)
    except Unreadable:
        return Judgement(share=0.0, verdict=Verdict.INCORRECT, note="unreadable")


def _says_so(name: str, function: object) -> bool:
    """Whether a known-wrong implementation declares that its recursion is wrong."""
    return "recurs" in f"{name} {function.__doc__}".lower()  # recursion, recursive


def _recurses_alone(kind: CodeKind, key: CodeKey, raw: Raw) -> bool:
    """Whether it would pass if every call that raised RecursionError had been right."""
    calls = _calls(raw)
    if not any(map(_too_deep, calls)):
        return False
    right = _calls(kind.raw(key, key.part.id))
    mended = [r if _too_deep(call) else call for call, r in zip(calls, right, strict=True)]
    return _judged(kind, key, {**raw, "calls": mended}).share == 1


def _calls(raw: Raw) -> list[Mapping[str, object]]:
    calls = raw["calls"]
    assert isinstance(calls, list)  # noqa: S101 - as `run_here` leaves it
    return calls


def _too_deep(call: Mapping[str, object]) -> bool:
    return call["is"] == "raised" and call["type"] == "RecursionError"


def _reference(key: CodeKey) -> Iterator[tuple[str, str]]:
    """The reference, called through the driver, agrees with the independent expectation."""
    hidden = key.hidden
    if hidden.get("expected") is None:
        return
    for case, want in zip(key.cases, key.expected, strict=True):
        if isinstance(want, Properties):
            continue
        said = hidden.said(case.call)
        if isinstance(want, Raises):
            types = (said.get("type"), *said.get("above", ()))
            why = None if want.type in types else f"{want.type} is not raised"
        elif said["is"] != "returned":
            why = f"{said.get('type')}: {said.get('what')}"
        else:
            why = difference(read(said["v"]), want, case.near)
        if why is not None:
            yield (
                f"the reference and '{key.part.id}_expected' disagree ({case.group}): {why}",
                "find out which one is wrong before grading anyone",
            )
            return


def _examples(key: CodeKey) -> Iterator[tuple[str, str]]:
    for call in key.trial(key.part.id).calls[: len(key.examples)]:
        one = Trial(
            name="it", alias=key.part.id, driver=key.part.driver, tools=key.tools, calls=(call,)
        )
        source = key.hidden.source(key.part.id, "it")
        space: dict[str, Any] = {}
        run_authored(f"{key.starter}\n{source}", space)
        said = perform(one, space)
        if said["is"] != "returned":
            yield f"the example {call.example[0]}: {said.get('type')}: {said.get('what')}", "fix it"
            continue
        both = read(said["v"])
        assert isinstance(both, list)  # noqa: S101 - the two that were sent
        why = difference(both[0], both[1], key.part.closeness)
        if why is not None:
            yield f"the example {call.example[0]} does not give what it says: {why}", "fix 'gives'"
