"""Checks that compare answers with the key: the solution's, the reference's and the mistakes'."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from grader.expressions import ExpressionError, TextError
from grader.grading.score import carried_key, score
from grader.kinds import Example, Unreadable, kinds
from grader.kinds.answers import right_value
from grader.kinds.attempts import CodeKey, required_packages
from grader.kinds.code import CodeKind
from grader.kinds.hidden.solutions import Given
from grader.kinds.numeric import NumericKey
from grader.kinds.prediction import MeasuredPrediction, Prediction
from grader.model import (
    Answer,
    Evidence,
    Judgment,
    Key,
    Mark,
    Mistake,
    Outcome,
    Paper,
    Raw,
    Verdict,
    packages,
)
from grader.notebook import Cell
from grader.notebook.render import render, solution
from grader.units.quantity import Value
from grader.verify.case import Case, Finding
from grader.verify.code import calls_of, runs_code
from grader.verify.solutions import call, failure_line
from grader.wire import encoding

# An independent solution that measures or simulates may differ in the last digits; a formula that
# is wrong by one term differs by far more than this.
AGREEMENT = 1e-6


def check_second_computation(case: Case) -> Iterator[Finding]:
    """Yields a finding for each key on which the problem's solution file does not agree."""
    if case.solve is None:
        return
    try:
        numbers = repr(case.variant.draw.parameters)
        if numbers not in case.solve_results:
            given = Given(case.variant.draw.parameters, case.facts)
            case.solve_results[numbers] = call(case.solve, given)
        solved = case.solve_results[numbers]
    except (Exception, SystemExit) as error:  # noqa: BLE001 - an author's code may raise anything
        where = failure_line(error, Path(case.solve.__code__.co_filename))
        yield replace(
            case.finding(
                "second-computation",
                (),
                f"the solution raised {type(error).__name__}: {error}",
                "change solve() so that it works for every variant",
            ),
            where=where,
        )
        return
    for part_id, key in case.variant.keys.items():
        yield from _check_agreement(case, part_id, key, solved)
    for extra in sorted(set(solved) - set(case.variant.keys)):
        what = f"the solution answers part '{extra}', which does not exist"
        fix = "rename it in the solution or in the spec"
        yield case.finding("second-computation", ("parts",), what, fix)


def _check_agreement(
    case: Case, part_id: str, key: Key, solved: Mapping[str, object]
) -> Iterator[Finding]:
    """Yields a finding unless the solution computes the key of the part."""
    kind, at = kinds.find(key.part.kind), case.part_path(part_id)
    if kind.needs_solution or kind.answer(key) is None:
        return  # a person grades it, or hidden cases do
    if part_id not in solved:
        what = f"the solution does not answer part '{part_id}'"
        fix = f"add '{part_id}' to what solve() returns"
        yield case.finding("second-computation", at, what, fix)
        return
    try:
        value = kind.read_solution(solved[part_id], key)
        right = kind.judge(value, key).share == 1 and _agree(value, right_value(kind, key))
        shown = kind.format_value(value, key)
    except (ValueError, TypeError, KeyError) as error:
        right, shown = False, f"{solved[part_id]!r} ({error})"
    if not right:
        what = (
            f"the key is {kind.format_value(right_value(kind, key), key)}, "
            f"but the solution computes {shown}"
        )
        fix = "find out which one is wrong before grading anyone"
        yield case.part_finding("second-computation", part_id, what, fix)


def _agree(mine: object, key: object) -> bool:
    """Returns whether the numbers in *mine* agree with those in *key*; True if there are none."""
    if isinstance(mine, MeasuredPrediction) and isinstance(key, MeasuredPrediction):
        return _agree(mine.value, key.value)
    if isinstance(mine, (int, float)) and isinstance(key, (int, float)):
        return math.isclose(mine, key, rel_tol=AGREEMENT, abs_tol=1e-12)
    if isinstance(mine, (list, tuple)) and isinstance(key, (list, tuple)):
        return len(mine) == len(key) and all(map(_agree, mine, key))
    return True  # without numbers, the kind's own judgment decides


def check_full_marks(case: Case) -> Iterator[Finding]:
    """Yields a finding for each reference answer that does not earn full marks."""
    if _is_skipped(case):
        return
    if runs_code(case):
        cells = render(case.paper, case.templates, solution(case.paper))
        evidence = evidence_of(cells, case)
    else:  # notebooks of other variants have the same cells, with other numbers
        keys = dict(case.paper.named_keys())
        evidence = _make_evidence(_solution_values(case.paper, keys), {}, keys)
    grade = score(case.paper, evidence)
    for mark in grade.marks:
        if mark.points != mark.max_points and not is_deferred(mark, case.variant.keys[mark.part]):
            what = (
                f"the right answer to '{mark.part}' ({mark.answer}) earns {mark.points} of "
                f"{mark.max_points:g}: {mark.feedback}"
            )
            fix = "make the key, its tolerance and its unit agree"
            yield case.finding("full-marks", case.part_path(mark.part), what, fix)


def is_deferred(mark: Mark, key: Key) -> bool:
    """Returns whether a right answer stays open, because a person grades it or because this machine
    lacks a package."""
    lacking = packages.missing_packages(required_packages(key.part, key.draw.solution))
    is_manual = kinds.find(key.part.kind).answer(key) is None
    return mark.verdict is Verdict.UNSETTLED and (is_manual or bool(lacking))


def _is_skipped(case: Case) -> bool:
    """Returns whether the variant has code parts, and its seed is one for which no code runs."""
    return any(map(_is_code, case.variant.keys.values())) and not runs_code(case)


def check_zero_marks(case: Case) -> Iterator[Finding]:
    """Yields a finding for each answer of the untouched notebook that earns points, or has another
    verdict than absent."""
    if not runs_code(case):  # the answers of an untouched notebook are the same for all variants
        return
    cells = render(case.paper, case.templates)
    grade = score(case.paper, evidence_of(cells, case, run=False))
    for mark in grade.marks:
        if mark.points != 0 or mark.verdict is not Verdict.ABSENT:
            what = (
                f"the untouched notebook gets '{mark.verdict}' and {mark.points} points for "
                f"'{mark.part}'"
            )
            fix = "an empty answer must earn 0"
            yield case.finding("zero-marks", case.part_path(mark.part), what, fix)


def evidence_of(cells: tuple[Cell, ...], case: Case, *, run: bool = True) -> Evidence:
    """Returns the evidence that running these cells would give, computed without a kernel.

    The code cells must be plain assignments or answers to code parts. Without *run*, no function
    is called: then only a judgment of the code itself is possible.
    """
    assigned: dict[str, object] = {}
    code_raws: dict[str, Raw] = {}
    keys = dict(case.paper.named_keys())
    code = {n.replace("_", "-"): n for n, key in keys.items() if _is_code(key)}
    assigns = re.compile(rf"^(?:{'|'.join(keys)})\b *=", re.MULTILINE)
    for cell in cells:
        if cell.type != "code":
            continue
        if cell.id in code:
            name = code[cell.id]
            code_raws[name] = _raw_of(keys[name], name, cell.source, case, run=run)
            continue
        for statement in ast.parse(cell.source).body if assigns.search(cell.source) else ():
            if isinstance(statement, ast.Assign) and (name := _target_name(statement)) in keys:
                assigned[name] = ast.literal_eval(statement.value)
    return _make_evidence(assigned, code_raws, keys)


def _raw_of(key: Key, name: str, source: str, case: Case, *, run: bool) -> Raw:
    """Returns the raw answer *name* that running *source*, the text of its answer cell, would
    give."""
    if not run:
        return {"t": "code", "source": source, "name": name, "value": {"t": "object"}, "calls": []}
    kind = kinds.find(key.part.kind)
    assert isinstance(kind, CodeKind)  # noqa: S101 - `_is_code` holds
    assert isinstance(key, CodeKey)  # noqa: S101
    raw = kind.simulate_run(key, name, source)
    if "deferred" not in raw:
        case.right[key.part.id] = calls_of(raw)
    return raw


def _is_code(key: Key) -> bool:
    return kinds.find(key.part.kind).needs_solution


def _target_name(statement: ast.Assign) -> str:
    target = statement.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


def _solution_values(paper: Paper, keys: Mapping[str, Key]) -> Mapping[str, object]:
    """Returns the right answers of all parts but code, as students assign them."""
    sources = solution(paper).items()
    return {n: ast.literal_eval(source) for n, source in sources if not _is_code(keys[n])}


def check_carried_forward(case: Case) -> Iterator[Finding]:
    """Yields a finding for each part that gives too few points to an answer that follows from a
    wrong earlier one."""
    question = case.paper.questions[0]
    right = _solution_values(case.paper, dict(case.paper.named_keys()))
    for part_id, key in case.variant.keys.items():
        for used in key.part.uses:
            wrong = _wrong_answer(case.variant.keys[used])
            if wrong is None or key.part.carry.within < _OFF:
                continue
            kind = kinds.find(key.part.kind)
            follows = carried_key(kind, key, {used: wrong[1]})
            if follows is None:
                continue
            answer = kind.answer(follows)
            answers = {**right, question.name(used): wrong[0], question.name(part_id): answer}
            marks = {
                m.part: m
                for m in score(
                    case.paper, _make_evidence(answers, {}, dict(case.paper.named_keys()))
                ).marks
            }
            least = (1 - key.part.carry.discount) * marks[part_id].max_points
            points = marks[part_id].points
            if points is None or points < least - 1e-6:
                what = (
                    f"{marks[part_id].answer} follows from a wrong '{used}' of "
                    f"{marks[used].answer} and earns {points} of {marks[part_id].max_points:g}"
                )
                fix = "check whether a mistake matches this answer or 'carry' excludes it"
                yield case.part_finding("carried-forward", part_id, what, fix)


# Far enough to be wrong, and close enough to be carried.
_OFF = 1.13


def _wrong_answer(key: Key) -> tuple[object, Value] | None:
    """Returns a wrong answer to *key* in two forms: as students write it, and as a value for
    later parts."""
    if not isinstance(key, NumericKey) or not key.value or isinstance(key.part, Prediction):
        return None
    value = key.value * _OFF
    wrong = round(value) + 1 if isinstance(key.value, int) else value
    if key.low <= wrong <= key.high:
        return None
    carried = kinds.find(key.part.kind).carry_value(wrong, key)
    return None if carried is None else (wrong, carried)


def _make_evidence(
    given: Mapping[str, object], called: Mapping[str, Raw], keys: Mapping[str, Key]
) -> Evidence:
    """Returns evidence of an execution with the values *given* and the raw answers *called*."""
    raws = {n: encoding.encode_answer(v) for n, v in given.items()} | dict(called)
    raws = {n: kinds.find(keys[n].part.kind).ideal_raw(raw, keys[n]) for n, raw in raws.items()}
    return Evidence(
        submission_sha256="0" * 64,
        outcome=Outcome.FINISHED,
        answers={n: Answer(name=n, raw=raw) for n, raw in raws.items()},
        cells=(),
        seconds=0.0,
    )


def check_examples(case: Case) -> Iterator[Finding]:
    """Yields a finding for each sample answer that does not earn what it declares, for the declared
    reason."""
    for part_id, key in case.variant.keys.items():
        if _is_code(key) and not runs_code(case):
            continue
        kind, at = kinds.find(key.part.kind), case.part_path(part_id)
        try:
            samples = case.examples(part_id)
        except (ExpressionError, TextError, ValueError) as error:
            what = getattr(error, "what", str(error))
            mistake_id = _find_broken_mistake(key)
            where = case.mistake_path(part_id, mistake_id) if mistake_id else at
            named = f"the mistake '{mistake_id}': " if mistake_id else ""
            fix = "check its expressions, and that its value has the dimension of the part's unit"
            yield case.finding("mistakes", where, f"part '{part_id}': {named}{what}", fix)
            continue
        for sample in samples:
            if sample.share is None and not runs_code(case):
                continue  # what can't be read is the same for all variants
            try:
                value = kind.read(sample.raw, key)
            except Unreadable as reason:
                if sample.share is not None:
                    what = f"{sample.why} is unreadable: {reason.sentence}"
                    yield case.part_finding("examples", part_id, what, "fix the kind")
                continue
            judged = kind.judge(value, key)
            if judged.share != sample.share or judged.mistake != sample.mistake:
                yield _judgment_finding(
                    case, part_id, sample, judged, kind.format_value(value, key)
                )


def _find_broken_mistake(key: Key) -> str | None:
    """Returns the id of the first mistake for which the samples can't be computed, even without the
    other mistakes; None if they can be computed for every mistake."""
    kind = kinds.find(key.part.kind)
    mistakes: tuple[Mistake, ...] = getattr(key.part, "mistakes", ())
    for mistake in mistakes:
        part_with_one_mistake = replace(key.part, mistakes=(mistake,))  # type: ignore[call-arg]
        try:
            kind.examples(kind.key(part_with_one_mistake, key.draw))
        except (ExpressionError, TextError, ValueError):
            return mistake.id
    return None


def _judgment_finding(
    case: Case, part_id: str, sample: Example, judged: Judgment, shown: str
) -> Finding:
    """Returns the finding that *sample* was not judged as it should be."""
    if sample.mistake is None:
        return case.part_finding(
            "examples",
            part_id,
            f"{sample.why} ({shown}) is judged {judged.verdict} and earns {judged.share}, not "
            f"{sample.share}",
            "fix the spec or the kind",
        )
    if judged.verdict is Verdict.CORRECT:
        what, fix = (
            f"the mistake '{sample.mistake}' ({shown}) is within the accepted range",
            "narrow the tolerance, or exclude such variants with 'where:' or 'when:'",
        )
    else:
        other = f"'{judged.mistake}'" if judged.mistake else f"'{judged.verdict}'"
        what, fix = (
            f"the mistake '{sample.mistake}' ({shown}) is judged as {other}",
            "both coincide for these numbers; exclude this case with 'where:' or 'when:'",
        )
    at = case.mistake_path(part_id, sample.mistake)
    return case.finding("mistakes", at, f"part '{part_id}': {what}", fix)
