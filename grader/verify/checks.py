"""The gate's checks: each looks at one variant and yields what does not hold."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from grader import probe, units
from grader.draw import DrawError
from grader.expressions import ExpressionError, TextError, evaluate, fill
from grader.kinds import Unreadable, kinds
from grader.kinds.numeric import NumericKey
from grader.model import Answer, Evidence, Key, Outcome, Verdict
from grader.quantity import Quantity, Value
from grader.render import given, named_keys, render, solution
from grader.score import score
from grader.verify.case import Case, Finding, Given, failure_line

Check = Callable[[Case], Iterator[Finding]]

# A second computation that measures or simulates may differ in the last digits; a formula that
# is wrong by one term differs by far more than this.
AGREEMENT = 1e-6
# What a student can read and type without counting zeros.
SMALLEST, LARGEST = 1e-4, 1e7


def second_computation(case: Case) -> Iterator[Finding]:
    """The solution file comes to every key by another road."""
    if case.solve is None:
        return
    try:
        solved = case.solve(Given(case.variant.parameters, case.facts))
    except Exception as error:  # noqa: BLE001 - an author's code may raise anything
        where = failure_line(error, Path(case.solve.__code__.co_filename))
        yield replace(
            case.finding(
                "second-computation",
                (),
                f"the solution raised {type(error).__name__}: {error}",
                "make solve() answer for every variant",
            ),
            where=where,
        )
        return
    for part_id, key in case.variant.keys.items():
        yield from _agreement(case, part_id, key, solved)
    for extra in sorted(set(solved) - set(case.variant.keys)):
        yield case.finding(
            "second-computation",
            ("parts",),
            f"the solution answers a part '{extra}' that does not exist",
            "rename it in the solution or in the spec",
        )


def _agreement(
    case: Case, part_id: str, key: Key, solved: Mapping[str, object]
) -> Iterator[Finding]:
    kind, at = kinds.find(key.part.kind), case.part_path(part_id)
    expected = kind.answer(key)
    if expected is None:
        return  # a person grades it
    if part_id not in solved:
        yield case.finding(
            "second-computation",
            at,
            f"the solution does not answer part '{part_id}'",
            f"add '{part_id}' to what solve() returns",
        )
        return
    try:
        value = kind.solved(solved[part_id], key)
        right = kind.judge(value, key).share == 1 and _same_numbers(value, kind.true(key))
        shown = kind.say(value, key)
    except (ValueError, TypeError, KeyError) as error:
        right, shown = False, f"{solved[part_id]!r} ({error})"
    if not right:
        yield case.finding(
            "second-computation",
            at,
            f"part '{part_id}': the key is {kind.say(kind.true(key), key)}, "
            f"the solution comes to {shown}",
            "find out which is wrong before anyone is graded by it",
        )


def _same_numbers(mine: object, key: object) -> bool:
    if isinstance(mine, (int, float)) and isinstance(key, (int, float)):
        return math.isclose(mine, key, rel_tol=AGREEMENT, abs_tol=1e-12)
    if isinstance(mine, (list, tuple)) and isinstance(key, (list, tuple)):
        return len(mine) == len(key) and all(map(_same_numbers, mine, key))
    return True  # kinds without numbers have been judged


def full_marks(case: Case) -> Iterator[Finding]:
    """The reference answers, written into the notebook, earn everything."""
    cells = render(case.paper, case.templates, solution(case.paper))
    grade = score(case.paper, evidence_of(cells, case))
    for mark in grade.marks:
        waits = mark.verdict is Verdict.UNSETTLED and mark.kind == "explanation"
        if mark.points != mark.max_points and not waits:
            yield case.finding(
                "full-marks",
                case.part_path(mark.part),
                f"the right answer to '{mark.part}' ({mark.answer}) earns {mark.points} of "
                f"{mark.max_points:g}: {mark.feedback}",
                "the key, its tolerance or its unit contradict one another",
            )


def zero_marks(case: Case) -> Iterator[Finding]:
    """The untouched notebook earns nothing, and is called absent rather than wrong."""
    grade = score(case.paper, evidence_of(render(case.paper, case.templates), case))
    for mark in grade.marks:
        if mark.points != 0 or mark.verdict is not Verdict.ABSENT:
            yield case.finding(
                "zero-marks",
                case.part_path(mark.part),
                f"the untouched notebook gets '{mark.verdict}' and {mark.points} points for "
                f"'{mark.part}'",
                "an empty answer must earn 0",
            )


def evidence_of(cells: tuple[object, ...], case: Case) -> Evidence:
    """The evidence that a notebook of plain assignments would leave, without a kernel."""
    answers: dict[str, Answer] = {}
    wanted = dict(named_keys(case.paper))
    for cell in cells:
        if getattr(cell, "type", None) != "code":
            continue
        for statement in ast.parse(cell.source).body:  # type: ignore[attr-defined]
            name = _assigned(statement)
            if name in wanted:
                value = ast.literal_eval(statement.value)  # type: ignore[attr-defined]
                answers[name] = Answer(name=name, raw=probe.encode(value))
    return Evidence(
        submission_sha256="0" * 64,
        outcome=Outcome.FINISHED,
        answers=answers,
        cells=(),
        seconds=0.0,
    )


def _assigned(statement: ast.stmt) -> str:
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return ""


def examples(case: Case) -> Iterator[Finding]:
    """Every right, wrong and unreadable sample gets what it declares, by the path it declares."""
    for part_id, key in case.variant.keys.items():
        kind, at = kinds.find(key.part.kind), case.part_path(part_id)
        try:
            samples = kind.examples(key)
        except (ExpressionError, TextError, ValueError) as error:
            what = getattr(error, "what", str(error))
            yield case.finding(
                "mistakes", at, f"part '{part_id}': {what}", "check its mistakes' expressions"
            )
            continue
        for sample in samples:
            try:
                value = kind.read(sample.raw, key)
            except Unreadable as reason:
                if sample.share is not None:
                    what = f"part '{part_id}': {sample.why} is unreadable: {reason.sentence}"
                    yield case.finding("examples", at, what, "mend the kind")
                continue
            judged = kind.judge(value, key)
            if judged.share != sample.share or judged.mistake != sample.mistake:
                yield _surprise(case, part_id, sample, judged, kind.say(value, key))


def _surprise(case: Case, part_id: str, sample, judged, shown: str) -> Finding:  # type: ignore[no-untyped-def]
    at = case.part_path(part_id)
    if sample.mistake is None:
        return case.finding(
            "examples",
            at,
            f"part '{part_id}': {sample.why} ({shown}) is judged {judged.verdict} and earns "
            f"{judged.share}, not {sample.share}",
            "mend the spec or the kind",
        )
    if judged.verdict is Verdict.CORRECT:
        what, fix = (
            f"the mistake '{sample.mistake}' ({shown}) lies inside the accepted interval",
            "narrow the tolerance, or keep such variants out with 'where:' or 'when:'",
        )
    else:
        other = f"'{judged.mistake}'" if judged.mistake else f"'{judged.verdict}'"
        what, fix = (
            f"the mistake '{sample.mistake}' ({shown}) is taken for {other}",
            "two mistakes coincide for these numbers: separate them with 'where:' or 'when:'",
        )
    return case.finding("mistakes", at, f"part '{part_id}': {what}", fix)


_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")


def trivial_guesses(case: Case) -> Iterator[Finding]:
    """Neither 0 nor 1 nor a number that the student can read off is accepted."""
    dice = case.variant.draw
    printed = dice.fill(case.problem.prompt, dice.scope)
    printed += " " + " ".join(value for _, value in given(case.variant))
    for part_id, key in case.variant.keys.items():
        if not isinstance(key, NumericKey):
            continue
        ask = dice.fill(key.part.ask, dice.scope)
        guesses = {0.0, 1.0, *_numbers(printed), *_numbers(ask)}
        for guess in sorted(guesses):
            if key.low <= guess <= key.high:
                yield case.finding(
                    "trivial-guess",
                    case.part_path(part_id),
                    f"part '{part_id}': the guess {units.number(guess)} is accepted "
                    f"({units.number(key.low)} to {units.number(key.high)})",
                    "keep such variants out with 'where:', or ask in another unit",
                )


def _numbers(text: str) -> set[float]:
    return {float(n.replace(",", "")) for n in _NUMBER.findall(text)}


def readable_numbers(case: Case) -> Iterator[Finding]:
    """Keys are numbers that a person can read and type, and their intervals have a width."""
    for part_id, key in case.variant.keys.items():
        if not isinstance(key, NumericKey):
            continue
        at = case.part_path(part_id)
        size = abs(key.value)
        if size and not SMALLEST <= size <= LARGEST:
            yield case.finding(
                "readable-numbers",
                at,
                f"part '{part_id}': the key {units.number(key.value)} is hard to read and type",
                "choose a larger or smaller unit, or other parameters",
            )
        exact = key.part.kind == "integer"
        if not exact and not key.low < key.high:
            yield case.finding(
                "tolerance",
                at,
                f"part '{part_id}': nothing but {units.number(key.value)} itself is accepted; "
                "a relative tolerance has no width at zero",
                "give an absolute tolerance, or keep zero out with 'where:'",
            )


_SHOWN = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*(\|[^{}]*)?\}\}")


def printed_rounding(case: Case) -> Iterator[Finding]:
    """Whoever computes with the numbers as printed still lands inside the interval."""
    for name, value in _printed_values(case):
        scope = _recomputed(case, name, value)
        if scope is None:
            continue
        for part_id, key in case.variant.keys.items():
            if not isinstance(key, NumericKey):
                continue
            again = _key_in(scope, key)
            if again is not None and not key.low <= again.value <= key.high:
                yield case.finding(
                    "printed-rounding",
                    case.part_path(part_id),
                    f"part '{part_id}': with {name} as printed ({units.show(value)}) the answer "
                    f"is {units.number(again.value)}, outside {units.number(key.low)} to "
                    f"{units.number(key.high)}",
                    "print more digits, round the value itself, or widen the tolerance",
                )


def _printed_values(case: Case) -> Iterator[tuple[str, Value]]:
    """Every parameter or value that a text prints with less than its full precision."""
    problem, scope = case.problem, case.variant.scope
    texts = [problem.prompt, *problem.assumptions, *(p.ask for p in problem.parts)]
    snippets = {m.group(0): m.group(1) for text in texts for m in _SHOWN.finditer(text)}
    for name, parameter in problem.parameters.items():
        for shown in parameter.rows[0] if parameter.rows else (name,):
            snippets.setdefault(f"{{{{ {shown} }}}}", shown)
    own = {p.id for p in problem.parts}
    for snippet, name in snippets.items():
        true = scope.get(name)
        if name in own or true is None or isinstance(true, (str, bool)):
            continue
        read = _read_back(fill(snippet, scope, case.facts), true)
        if read is not None and not _close(read, true):
            yield name, read


def _read_back(text: str, like: Value) -> Value | None:
    unit = (like.unit or "") if isinstance(like, Quantity) else ""
    if isinstance(like, Quantity) and not unit:
        unit = text.split(maxsplit=1)[1] if " " in text else ""
    try:
        return units.quantity(units.read(text, unit).value, unit)
    except ValueError:
        return None  # a text that makes words of the number


def _close(a: Value, b: Value) -> bool:
    x = a.magnitude if isinstance(a, Quantity) else a
    y = b.magnitude if isinstance(b, Quantity) else b
    return math.isclose(float(x), float(y), rel_tol=1e-12)


def _recomputed(case: Case, name: str, value: Value) -> dict[str, Value] | None:
    scope: dict[str, Value] = {**case.variant.parameters, name: value}
    try:
        for other, expression in case.problem.values.items():
            if other != name:
                scope[other] = evaluate(expression, scope, case.facts)
    except ExpressionError:
        return None
    return {**case.variant.scope, **scope}


def _key_in(scope: Mapping[str, Value], key: NumericKey) -> NumericKey | None:
    try:
        again = kinds.find(key.part.kind).key(key.part, replace(key.draw, scope=scope))
    except (ExpressionError, ValueError):
        return None
    return again if isinstance(again, NumericKey) else None


def texts(case: Case) -> Iterator[Finding]:
    """Everything a student may ever read renders with no undefined name."""
    dice = case.variant.draw
    try:
        dice.fill(case.problem.explanation, dice.scope)
    except TextError as error:
        yield case.finding("texts", ("explanation",), error.what, "check the names in the braces")
    for part_id, key in case.variant.keys.items():
        try:
            kinds.find(key.part.kind).explain(key)
        except (TextError, ExpressionError) as error:
            yield case.finding("texts", case.part_path(part_id), error.what, "check the names")


def drawable(case: Case) -> Iterator[Finding]:
    """The variant can be drawn at all: dimensions agree and expressions have values."""
    try:
        _ = case.variant
    except DrawError as error:
        yield Finding(
            problem=case.problem.id,
            check=error.check,
            where=case.source.at(error.path),
            what=error.what,
            fix=error.fix or "check the expressions and their units",
            seed=case.number,
        )


# In the order in which they make sense: what can't be drawn is not looked at further.
CHECKS: tuple[Check, ...] = (
    second_computation,
    full_marks,
    zero_marks,
    examples,
    trivial_guesses,
    readable_numbers,
    printed_rounding,
    texts,
)
