"""Rows as CSV and as JSON, for programs and spreadsheets."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import asdict

from grader.model.paper import question_number
from grader.model.result import Feedback, Row, Standing
from grader.text.spreadsheet import csv_line, escape_cell
from grader.text.words import points

DEDUCTION_FIELDS = ("raw", "deduction", "why")
"""Columns for a class in which the course deducts points from anybody."""
_MARK_FIELDS = (
    "problem", "part", "name", "kind", "points", "max_points", "verdict", "mistake", "answer",
    "feedback",
)  # fmt: skip


def grades_csv(rows: Iterable[Row], *, pooled: Collection[int] = ()) -> str:
    """Returns a header and a line per row, sorted by student; what is open is an empty cell.

    *pooled* are the numbers of problems that may differ between students.
    """
    lines: list[tuple[Row, dict[tuple[str, str], float | None]]] = []
    columns: dict[tuple[str, str], tuple[int, str, int]] = {}
    for row in rows:
        earned: dict[tuple[str, str], float | None] = {}
        for position, mark in enumerate(row.marks):
            key = mark.name, mark.problem
            earned[key] = mark.points
            if key not in columns:
                columns[key] = (question_number(mark.name), mark.problem, position)
        lines.append((row, earned))
    lines.sort(key=lambda line: line[0].student.id)
    keys = sorted(columns, key=lambda key: columns[key])
    asked = Counter(name for name, _ in keys)
    header = ["student", "total", "max"]
    for name, problem in keys:
        ambiguous = columns[name, problem][0] in pooled or asked[name] > 1
        header.append(escape_cell(f"{name} ({problem})" if ambiguous else name))
    deducts = any(row.deduction for row, _ in lines)
    # Last, so that the part columns follow the first three, as in earlier versions.
    table = [csv_line([*header, "standing", *(DEDUCTION_FIELDS if deducts else ())])]
    for row, earned in lines:
        total = points(row.total)
        cells = [points(earned.get(key)) for key in keys]
        student_cells = [escape_cell(row.student.id), total, points(row.max_score)]
        deduction = deduction_cells(row) if deducts else ()
        table.append(csv_line([*student_cells, *cells, row.standing.value, *deduction]))
    return "\n".join(table) + "\n"


def deduction_cells(result: Row | Feedback) -> tuple[str, str, str]:
    """Returns the points before the deduction, the deduction, and its reason."""
    taken = result.deduction
    if taken is None:
        return points(result.total), "", ""
    return points(result.raw_score), points(taken.points), escape_cell(taken.why)


def _deduction_data(row: Row) -> dict[str, object]:
    """Returns what the course's policies did to a grade; nothing without a course."""
    data: dict[str, object] = {"exempt": True} if row.standing is Standing.EXEMPT else {}
    if row.deduction is not None:
        data |= {"raw_score": row.raw_score, "deduction": asdict(row.deduction)}
    if row.policy_notes:
        data["policy_notes"] = list(row.policy_notes)
    return data


def _request_data(row: Row) -> dict[str, object]:
    """Returns the student's regrade requests and the replies, without the staff's names."""
    requests = [
        {
            "name": request.name,
            "text": request.text,
            "at": request.at,
            "state": request.state.value,
            "reply": request.answer.reply if request.answer else None,
        }
        for request in row.requests
    ]
    return {"regrade_requests": requests} if requests else {}


def grade_json(row: Row, *, exam: str, engine: str, release: str) -> str:
    """Returns a student's grade as JSON; the three arguments replace a missing grade."""
    grade = row.grade
    plain = {
        "student": row.student.id,
        "set": grade.exam if grade else exam,
        "submission_sha256": grade.submission_sha256 if grade else None,
        "score": row.score,
        "max_score": row.max_score,
        "complete": row.complete,
        **_deduction_data(row),
        **_request_data(row),
        "marks": [{name: getattr(mark, name) for name in _MARK_FIELDS} for mark in row.marks],
        "engine": grade.engine if grade else engine,
        "release": grade.release if grade else release,
        "environment": dict(grade.environment) if grade else {},
    }
    return json.dumps(plain, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
