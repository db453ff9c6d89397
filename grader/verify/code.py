"""Checks of parts that are code: known-right and known-wrong implementations on hidden cases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from grader.hidden import difference, read
from grader.hidden.authored import run_authored
from grader.hidden.cases import UNCOMPARED, Raises, perform
from grader.kinds import Unreadable, kinds
from grader.kinds.attempts import CodeKey
from grader.kinds.code import CodeKind
from grader.model import Judgement, Key, Problem, Raw, Trial, Verdict, packages
from grader.verify.case import Case, Finding

FEWEST_WRONG = 3
FEWEST_REASONS = 2
FEWEST_CASES = 4


def runs(case: Case) -> bool:
    """Whether code is run for this seed."""
    return case.number < case.code_seeds


def unrun(problem: Problem) -> Iterator[str]:
    """For each part whose code can't be run on this machine, what it lacks."""
    for part in problem.parts:
        lacking = packages.missing(getattr(part, "needs", ()))
        if lacking:
            what = f"'{part.id}' needs {' and '.join(lacking)} (pip install {' '.join(lacking)})"
            yield f"not run here: {what}"


def raw_of(key: Key, name: str, source: str) -> Raw:
    """What running *source*, the text of an answer cell, would leave of the answer *name*."""
    kind = kinds.find(key.part.kind)
    assert isinstance(kind, CodeKind)  # noqa: S101 - asked for code alone
    assert isinstance(key, CodeKey)  # noqa: S101 - the same
    return kind.ran(key, name, source)


def implementations(case: Case) -> Iterator[Finding]:
    """What is right passes, what is known to be wrong does not, and there is enough of both."""
    for part_id, key in case.variant.keys.items():
        kind = kinds.find(key.part.kind)
        if not isinstance(key, CodeKey) or not isinstance(kind, CodeKind) or not runs(case):
            continue
        if packages.missing(key.part.needs):
            continue  # which `unrun` tells
        at = case.part_path(part_id)
        try:
            for what, fix in _faults(kind, key):
                yield case.finding("implementations", at, f"part '{part_id}': {what}", fix)
        except Exception as error:  # noqa: BLE001 - an author's code may raise anything
            yield case.finding(
                "implementations",
                at,
                f"part '{part_id}': the solution raised {type(error).__name__}: {error}",
                "run the solution file's functions by hand to see the traceback",
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
            f"write {part}_right_... in another way, or {part}_expected(...)",
        )
    if len(hidden.cases) < FEWEST_CASES:
        yield f"there are {len(hidden.cases)} hidden cases", f"yield at least {FEWEST_CASES}"
    yield from _reference(key)
    yield from _examples(key)
    seen: dict[str, str] = {}
    for name in wrong:
        judged = _judged(kind, key, f"{part}_wrong_{name}")
        if judged.share == 1:
            yield f"'{part}_wrong_{name}' passes all hidden cases", "add a case that shows it"
        else:
            seen[name] = f"{judged.note} {judged.cells}"
    if len(seen) >= FEWEST_WRONG and len(set(seen.values())) < FEWEST_REASONS:
        yield (
            "the known-wrong implementations fail in the same way",
            "let at least three of them fail for reasons of their own",
        )


def _judged(kind: CodeKind, key: CodeKey, function: str) -> Judgement:
    try:
        return kind.judge(kind.read(kind.raw(key, function), key), key)
    except Unreadable:
        return Judgement(share=0.0, verdict=Verdict.INCORRECT, note="unreadable")


def _reference(key: CodeKey) -> Iterator[tuple[str, str]]:
    """The reference through the driver agrees with what is expected by another road."""
    hidden = key.hidden
    if hidden.get("expected") is None:
        return
    for case, want in zip(hidden.cases, hidden.wanted, strict=True):
        if want is UNCOMPARED:
            continue
        one = Trial(
            name="it", alias="it", driver=hidden.driver, tools=hidden.tools, calls=(case.call,)
        )
        said = perform(one, {"it": hidden.get()})
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
                "find out which is wrong before anyone is graded by it",
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
            yield f"the example {call.example[0]}: {said.get('type')}: {said.get('what')}", "mend"
            continue
        both = read(said["v"])
        assert isinstance(both, list)  # noqa: S101 - the two that were sent
        why = difference(both[0], both[1], key.part.closeness)
        if why is not None:
            yield f"the example {call.example[0]} does not give what it says: {why}", "mend 'gives'"
