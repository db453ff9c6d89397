"""Results for exporters' tests: of one student, of a class, and with what a hostile one writes."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import strategies as st

from grader.model import Outcome, Student, Verdict
from grader.model.exported import ClassResults, Result
from grader.model.result import CellTrouble, RunSummary, ShownPart, ShownProblem, Standing
from tests.helpers.report import a_feedback, a_part


def a_problem(number: int, *parts: ShownPart, **changes: Any) -> ShownProblem:
    """Problem *number* with these parts."""
    fields: dict[str, Any] = {"id": f"problem-{number}", "title": f"Title {number}", **changes}
    return ShownProblem(number=number, parts=parts, **fields)


def a_result(*problems: ShownProblem, **changes: Any) -> Result:
    """Ada's result on these problems."""
    fields: dict[str, Any] = {
        "problems": problems,
        "score": round(sum(p.points for p in problems), 6),
        "max_score": round(sum(p.max_points for p in problems), 6),
        "complete": not any(p.unsettled for p in problems),
        **changes,
    }
    return Result(
        feedback=a_feedback(**fields),
        submission_sha256="0" * 64,
        submitted_at="2026-11-02T10:00:00+01:00",
        seconds=1.25,
    )


def a_mixed_result(**changes: Any) -> Result:
    """Right, partly right, wrong, blank: 4.25 of 8 points in two problems."""
    first = a_problem(
        1,
        a_part("q1_size"),
        a_part("q1_fits", points=0.5, verdict=Verdict.MISTAKE, why="Per GPU, not in all."),
    )
    second = a_problem(
        2,
        a_part("q2_time", points=1.75, verdict=Verdict.PARTIAL, answer="3 ms"),
        a_part("q2_why", points=0.0, verdict=Verdict.ABSENT, answer=None, why="No answer."),
    )
    return a_result(first, second, **changes)


def an_open_result(**changes: Any) -> Result:
    """One part is right, one waits for a person."""
    parts = (
        a_part("q1_size"),
        a_part("q1_why", points=None, verdict=Verdict.UNSETTLED, why="A person reads this."),
    )
    return a_result(a_problem(1, *parts), **changes)


def an_empty_result(standing: Standing = Standing.MISSING, **changes: Any) -> Result:
    """Nobody handed in anything that was graded."""
    made = a_result(standing=standing, max_score=8.0, **{"student": Student(id="eve"), **changes})
    return Result(feedback=made.feedback)


def a_class_of(*results: Result) -> ClassResults:
    """A class."""
    return ClassResults(
        exam="midterm", title="Midterm", release="5d41402abc4b2a76", engine="0.1.0", results=results
    )


NASTY = (
    "::error::forged", "\n::set-output name=q1::x", "  ::add-mask::a", "##[error]x",
    "%0A::error::x",
    "=1+1", "+cmd|' /C calc'!A0", "-2", "@SUM(A1)", "\t=1", "<script>alert(1)</script>",
    "</details>", "| a | b |", "`", "```\n", "[x](javascript:alert(1))", "![x](http://a.b/c.png)",
    "@everyone", "#1", "www.evil.example", "https://evil.example", "a@b.example", "&lt;", "\\|",
    "$x$", "**b**", "__b__", "~~b~~", "1. x", "- x", "> x", "---", "a,b\";c", "\x00\x1b[2J\x7f\x85",
    "\ud800", "\u202egnp.exe", "\u2028", "\r\n", "\r", "é", "𝔘", "",
)  # fmt: skip
"""What students write to be taken for something else."""

hostile = st.lists(
    st.one_of(st.sampled_from(NASTY), st.text(st.characters(), max_size=12)), max_size=5
).map("".join)


def a_hostile_result(text: str) -> Result:
    """Every field that may hold a student's words holds *text*; 0.5 of 4 points."""
    part = a_part("q1_size", points=0.5, answer=text or None, why=text, verdict=Verdict.INCORRECT)
    other = a_part("q1_fits", points=0.0, answer=text or None, why=text, verdict=Verdict.UNREADABLE)
    trouble = CellTrouble(number=1, outcome=Outcome.FINISHED, error=text, line=1)
    return a_result(
        a_problem(1, part, other),
        student=Student(id="ada", name=text, email=text, section=text),
        run=RunSummary(sentence=f"Its kernel stopped: {text}", seconds=1.0, troubles=(trouble,)),
    )


def is_command(line: str) -> bool:
    """Whether a runner takes the line for a command, in either of the two forms that it knows."""
    trimmed = line.lstrip()
    if trimmed.startswith("::") and "::" in trimmed[2:]:
        return True
    return re.search(r"##\[[^\]]*\]", line) is not None


def lines_of(text: str) -> list[str]:
    return re.split(r"\r\n|\r|\n", text)
