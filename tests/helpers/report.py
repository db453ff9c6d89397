"""Marks, grades, rows and feedback for tests: valid by default; a test changes one thing."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.model import Grade, Mark, Outcome, Student, Verdict
from grader.model.course import Deduction
from grader.model.result import (
    CellTrouble,
    Feedback,
    GivenValue,
    Row,
    RunSummary,
    ShownPart,
    ShownProblem,
    Standing,
)

TEMPLATES = (Path(__file__).parents[2] / "templates",)


def a_mark(name: str = "q1_size", points: float | None = 2.0, **changes: Any) -> Mark:
    """A correct mark of 2 points."""
    fields: dict[str, Any] = {
        "problem": f"problem-{name.partition('_')[0]}",
        "part": name.partition("_")[2],
        "name": name,
        "kind": "numeric",
        "points": points,
        "max_points": 2.0,
        "verdict": Verdict.CORRECT,
        "mistake": None,
        "answer": "28 GB",
        "feedback": "Within 1 %.",
        **changes,
    }
    return Mark(**fields)


def a_grade(student: str = "ada", *marks: Mark, **changes: Any) -> Grade:
    """A grade with these marks."""
    fields: dict[str, Any] = {
        "student": student,
        "exam": "midterm",
        "submission_sha256": student.encode().hex().ljust(64, "0")[:64],
        "marks": marks,
        "engine": "0.1.0",
        "release": "5d41402abc4b2a76",
        **changes,
    }
    return Grade(**fields)


def a_row(who: str = "ada", *marks: Mark, **changes: Any) -> Row:
    """The row of a graded student."""
    grade = a_grade(who, *marks)
    fields: dict[str, Any] = {
        "student": Student(id=who),
        "standing": Standing.GRADED,
        "grade": grade,
        "score": grade.score,
        "max_score": grade.max_score,
        "complete": grade.complete,
        **changes,
    }
    return Row(**fields)


LATE = Deduction(
    points=1.0,
    why="Handed in Oct 6, 2026, 12:00 CEST, 12 h after the due date (Oct 5, 2026, 23:59 CEST). "
    "Deduction: 25% of the maximum points for each started day, 25% in all.",
    late_seconds=43200.0,
)


def as_late(row: Row) -> Row:
    """*row* with a deduction."""
    return replace(row, score=row.score - 1, raw_score=row.score, deduction=LATE)


def a_missing_row(student: str = "eve", max_score: float = 4.0) -> Row:
    """The row of a student without a submission."""
    return a_row(
        student, standing=Standing.MISSING, grade=None, max_score=max_score, complete=False
    )


def a_part(name: str = "q1_size", **changes: Any) -> ShownPart:
    """A correct part as a student sees it."""
    fields: dict[str, Any] = {
        "id": name.partition("_")[2],
        "name": name,
        "kind": "numeric",
        "ask": "How much model state does one GPU hold, in terms of $n$?",
        "answer": "28 GB",
        "verdict": Verdict.CORRECT,
        "why": "Within 1 %.",
        "look_at": "",
        "points": 2.0,
        "max_points": 2.0,
        **changes,
    }
    return ShownPart(**fields)


def a_feedback(*parts: ShownPart, **changes: Any) -> Feedback:
    """The feedback of one student on one problem with these parts."""
    problem = ShownProblem(number=1, id="memory", title="Model state per GPU", parts=parts)
    fields: dict[str, Any] = {
        "student": Student(id="ada", name="Ada Lovelace", section="B"),
        "exam": "midterm",
        "title": "Midterm",
        "release": "5d41402abc4b2a76",
        "standing": Standing.GRADED,
        "is_published": False,
        "score": problem.points,
        "max_score": problem.max_points,
        "complete": not problem.unsettled,
        "problems": (problem,),
        **changes,
    }
    return Feedback(**fields)


def a_full_feedback() -> Feedback:
    """Published feedback that uses everything a page can show, with long and awkward content."""
    parts = tuple(
        a_part(
            f"q1_{verdict.value}",
            verdict=verdict,
            points=None if verdict is Verdict.UNSETTLED else 1.0,
            kind="explanation" if verdict is Verdict.UNSETTLED else "numeric",
            answer="a_long_word_without_any_space_" * 9,
            why="Because $\\frac{16 \\cdot 7 \\times 10^{9}}{4}$ is **not** " + "very " * 40,
            look_at="Check the units, and the assumptions under the question.",
            accepted_answer="**28 GB**; accepted from 27.72 GB to 28.28 GB",
        )
        for verdict in Verdict
    )
    wide = "| " + " | ".join(f"column {i}" for i in range(12)) + " |\n" + "|---" * 12 + "|\n"
    problem = ShownProblem(
        number=1,
        id="memory",
        title="A title that goes on for long enough to need a second line on a phone",
        parts=parts,
        prompt=wide + "| 1 " * 12 + "|\n\n```\n" + "x = 1 + " * 40 + "1\n```\n",
        given_values=(GivenValue(label="bandwidth of the memory of every GPU", value="3.35 TB/s"),),
        assumptions=("1 GB = $10^9$ bytes.", "No activations."),
        solution="So\n\n$$" + " + ".join(f"x_{{{i}}}^2" for i in range(30)) + " = 28$$\n\nGB.",
    )
    troubles = (
        CellTrouble(number=6, outcome=Outcome.FINISHED, error="NameError: " + "y" * 300, line=2),
        CellTrouble(number=9, outcome=Outcome.TIMEOUT, error="timeout"),
    )
    return a_feedback(
        problems=(problem,),
        is_published=True,
        run=RunSummary(sentence="2 of 9 code cells failed.", seconds=61.2, troubles=troubles),
    )


def a_class(students: int, parts: int, seed: int = 0) -> Iterator[Grade]:
    """Grades of a made-up class, the same for the same seed."""
    dice = random.Random(seed)
    for s in range(students):
        skill = dice.random()
        yield a_grade(f"s{s:05d}", *(_some_mark(dice, p, skill) for p in range(parts)))


def _some_mark(dice: random.Random, place: int, skill: float) -> Mark:
    name = f"q{place // 4 + 1}_part{place % 4}"
    answer = f"{dice.random() * 100:.4g} GB"
    if dice.random() < skill:
        return a_mark(name, answer=answer)
    match dice.randrange(6):
        case 0:
            text = f"That is all of it; each GPU keeps 1/{2 ** dice.randrange(6)}."
            verdict, points, mistake = Verdict.MISTAKE, 0.5, "not-sharded"
            return a_mark(name, points, verdict=verdict, mistake=mistake, feedback=text)
        case 1:
            return a_mark(name, 1.0, verdict=Verdict.PARTIAL, answer=answer, feedback="Half.")
        case 2:
            return a_mark(name, 0.0, verdict=Verdict.ABSENT, answer=None, feedback="No answer.")
        case 3:
            return a_mark(name, 0.0, verdict=Verdict.UNREADABLE, answer=None, feedback="A list.")
        case 4 if place % 4 == 3:
            return a_mark(name, None, verdict=Verdict.UNSETTLED, answer=answer, feedback="Waits.")
        case _:
            return a_mark(name, 0.0, verdict=Verdict.INCORRECT, answer=answer, feedback="No.")
