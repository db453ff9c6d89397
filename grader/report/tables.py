"""Rows as CSV and as JSON, for programs and spreadsheets."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

from grader.model import Mark
from grader.model.result import Row
from grader.report.names import question_number
from grader.text.spreadsheet import csv_line, escape_cell
from grader.words import points


def grades_csv(rows: Iterable[Row], *, pooled: Collection[int] = ()) -> str:
    """Returns a header and a line per row, sorted by student: student, total, max, parts, standing.

    Open marks and parts that were not on the student's paper are empty cells, and so is the total
    while nothing is settled; the standing says why. *pooled* are the numbers of problems that may
    differ between students.
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
    several = _ambiguous_names(keys)
    header = ["student", "total", "max"]
    for name, problem in keys:
        ambiguous = columns[name, problem][0] in pooled or name in several
        header.append(escape_cell(f"{name} ({problem})" if ambiguous else name))
    # Last, so that the part columns follow the first three, as in earlier versions.
    table = [csv_line([*header, "standing"])]
    for row, earned in lines:
        total = points(row.total)
        cells = [points(earned.get(key)) for key in keys]
        who = [escape_cell(row.student.id), total, points(row.max_score)]
        table.append(csv_line([*who, *cells, row.standing.value]))
    return "\n".join(table) + "\n"


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
        "marks": [_mark_data(mark) for mark in row.marks],
        "engine": grade.engine if grade else engine,
        "release": grade.release if grade else release,
        "environment": dict(grade.environment) if grade else {},
    }
    return json.dumps(plain, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def _ambiguous_names(keys: Iterable[tuple[str, str]]) -> set[str]:
    """Returns the names under which more than one problem was asked."""
    names = [name for name, _ in keys]
    return {name for name in names if names.count(name) > 1}


def _mark_data(mark: Mark) -> dict[str, object]:
    return {
        "problem": mark.problem,
        "part": mark.part,
        "name": mark.name,
        "kind": mark.kind,
        "points": mark.points,
        "max_points": mark.max_points,
        "verdict": mark.verdict.value,
        "mistake": mark.mistake,
        "answer": mark.answer,
        "feedback": mark.feedback,
    }
