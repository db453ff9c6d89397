"""GitHub Classroom's formats: what its autograding reporter reads, and `autograding.json`."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from grader.errors import SetupError
from grader.integrations.equal_weights import Quanta, Split, split
from grader.integrations.results import SAID, graded, left_out, listed, open_parts, reason, settled
from grader.model.exported import Exported, Result
from grader.model.result import ShownPart, ShownProblem
from grader.text.escape import inert, inert_line
from grader.words import points

AUTOGRADING = ".github/classroom/autograding.json"
RUNNERS = "runners"
"""The output that has all runner ids, as the reporter's input wants them."""

# Linux takes no longer string for one variable of a process, name and all.
_LONGEST_VARIABLE = 128 * 1024 - 256
_LONGEST_REASON = 1000
_VERSION = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """One problem, as the reporter is told of it."""

    id: str
    """Letters and digits alone: with anything else the reporter misreports errors."""
    payload: Mapping[str, object]

    @property
    def variable(self) -> str:
        """The environment variable in which the reporter looks for it."""
        return f"{self.id.upper()}_RESULTS"

    @property
    def encoded(self) -> str:
        """The payload as that variable wants it: base64 of JSON."""
        data = json.dumps(self.payload, ensure_ascii=False, allow_nan=False)
        return base64.b64encode(data.encode()).decode("ascii")


def runners(result: Result, *, partial: bool = False) -> tuple[Runner, ...]:
    """A runner for every problem with something to earn.

    The reporter shows two totals, of which one counts passing tests and the other adds their
    scores; so a problem's points are tests of equal weight, as many of them passing as points
    were earned. Raises SetupError as `graded` does.
    """
    found: list[Runner] = []
    scores = _Scores()
    for problem in graded(result, partial=partial):
        made = split(settled(problem))
        if made is not None:
            # Once, and not again for every problem.
            told = () if found else result.feedback.warnings
            found.append(_runner(problem, made, scores, result.feedback.refusal, told))
    return tuple(found)


class _Scores:
    """Scores of tests whose sum, as the reporter adds them up, is the exact one as it is written.

    Ten times 0.1 adds up to 0.9999999999999999, and that is what a class would read.
    """

    def __init__(self) -> None:
        self._exact = Fraction(0)
        self._sum = 0.0

    def of(self, step: Fraction) -> float | int:
        """The score of one more test that is worth *step*."""
        self._exact += step
        value, wanted = float(step), float(self._exact)
        if self._sum + value != wanted:
            value = wanted - self._sum
        self._sum += value
        return _number(value)


def outputs(found: Iterable[Runner]) -> dict[str, str]:
    """The step's outputs: a name for every runner, and `runners` for the reporter's input."""
    listing = list(found)
    return {**{one.id: one.encoded for one in listing}, RUNNERS: ",".join(r.id for r in listing)}


def github(result: Result, *, partial: bool = False) -> Exported:
    """The reporter's JSON of every problem, to be looked at or to be sent by another program."""
    made = runners(result, partial=partial)
    files = {
        f"{one.id}.json": _json({"variable": one.variable, "payload": one.payload}) for one in made
    }
    files["outputs.json"] = _json(outputs(made))
    return Exported(files=files, notes=notes(result, partial=partial))


def notes(result: Result, *, partial: bool = False) -> tuple[str, ...]:
    """What the reporter's format can't hold of *result*."""
    problems = graded(result, partial=partial)
    said = list(left_out(result))
    for problem in problems:
        made = split(settled(problem))
        if made is not None and not made.exact:
            said.append(
                f"problem {problem.number} earned {problem.points:.7g} points and is sent as "
                f"{made.points:.7g}: the reporter counts tests of equal weight"
            )
    nothing = [f"q{p.number}" for p in problems if settled(p) and split(settled(p)) is None]
    if nothing:
        said.append(f"not sent, as nothing can be earned there: {listed(nothing)}")
    return tuple(said)


def _runner(
    problem: ShownProblem,
    made: Split,
    scores: _Scores,
    refusal: str | None,
    warnings: Sequence[str],
) -> Runner:
    number = f"q{problem.number}"
    tests = [test for one in made.quanta for test in _tests(one, made, problem, scores)]
    if refusal:
        tests[0]["test_code"] = inert_line(refusal)
    most = sum(one.total for one in made.quanta) * made.step
    passed = all(one.passed == one.total for one in made.quanta)
    payload: dict[str, object] = {
        "version": _VERSION,
        "status": "pass" if passed else "fail",
        "max_score": _number(float(most)),
        "tests": tests,
    }
    waiting = open_parts([problem])
    said = [f"warning: {text}" for text in warnings]
    if waiting:
        said.append(f"still open, and not counted: {', '.join(waiting)}")
    if said:
        payload["message"] = inert_line("; ".join(said))
    runner = Runner(id=number, payload=payload)
    if len(runner.encoded) + len(runner.variable) < _LONGEST_VARIABLE:
        return runner
    for test in tests:
        test["test_code"] = ""
    return Runner(id=number, payload=payload)


def _tests(
    one: Quanta, made: Split, problem: ShownProblem, scores: _Scores
) -> list[dict[str, object]]:
    """Passing ones first; why is told with the first that does not pass."""
    name = one.part.name if one.part else f"problem {problem.number}"
    earned = points(one.part.points if one.part else problem.points)
    worth = points(one.part.max_points if one.part else float(made.step * one.total))
    title = f"{name}: {earned} of {worth} points"
    why = _why(one.part) if one.part else ""
    tests: list[dict[str, object]] = []
    for count in range(1, one.total + 1):
        passes = count <= one.passed
        place = f", {count} of {one.total}" if one.total > 1 else ""
        tests.append(
            {
                "name": inert_line(f"{title}{place}"),
                "status": "pass" if passes else "fail",
                "score": scores.of(made.step) if passes else 0,
                "message": None,
                "test_code": why if count == one.passed + 1 else "",
                "filename": "",
                # Anything else but zero is printed as a line number, its absence too.
                "line_no": 0,
                "duration": 0,
            }
        )
    return tests


def _why(part: ShownPart) -> str:
    answer = f", answer: {part.answer}" if part.answer else ""
    told = f"{SAID[part.verdict]}{answer}\n{reason(part)}"[:_LONGEST_REASON]
    return "\n".join(inert(f"  {row}") for row in told.strip().splitlines())


def _number(value: float) -> float | int:
    return int(value) if value == int(value) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A test of `autograding.json`: a command that exits with 0, or prints what is expected."""

    name: str
    run: str
    setup: str = ""
    input: str = ""
    output: str = ""
    comparison: str = "included"
    minutes: int = 1
    points: int | None = None


def autograding(checks: Sequence[Check]) -> Exported:
    """`.github/classroom/autograding.json`, as GitHub's education/autograding action reads it.

    Raises SetupError for what that action would misunderstand.
    """
    return Exported(files={AUTOGRADING: _json({"tests": [_check(one) for one in checks]})})


def _check(check: Check) -> dict[str, object]:
    if check.comparison not in {"included", "exact", "regex"}:
        raise SetupError(
            f"'{check.name}' compares by '{check.comparison}'",
            fix="use included, exact or regex",
        )
    if check.minutes < 1 or (check.points is not None and check.points < 0):
        raise SetupError(
            f"'{check.name}' has {check.minutes} minutes and {check.points} points",
            fix="give it at least one minute, and no negative points",
        )
    data: dict[str, object] = {
        "name": inert_line(check.name),
        "setup": check.setup,
        "run": check.run,
        "input": check.input,
        "output": check.output,
        "comparison": check.comparison,
        "timeout": check.minutes,
    }
    if check.points is not None:
        data["points"] = check.points
    return data


def _json(data: object) -> bytes:
    return (json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
