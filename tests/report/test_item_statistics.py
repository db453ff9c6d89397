"""The statistics of parts and of the whole paper in the class report."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from grader.grading.late_list import minutes_with_paper
from grader.model import Verdict
from grader.model.course import HandedIn, TimeSource
from grader.model.result import Row
from grader.report import class_page, summarize
from grader.report.pages import format_percent
from grader.report.summary import ClassSummary
from tests.helpers.report import TEMPLATES, a_mark, a_missing_row, a_row


def summary_of(rows: list[Row], **changes: object) -> ClassSummary:
    fields: dict[str, object] = {
        "exam": "midterm",
        "title": "Midterm",
        "release": "5d41402abc4b2a76",
        "engine": "0.1.0",
        "published": False,
    }
    return summarize(rows, **(fields | changes))  # type: ignore[arg-type]


def a_class(students: int = 40, parts: int = 6, seed: int = 1) -> list[Row]:
    """Able students solve more; a part is solved or not."""
    dice = random.Random(seed)
    rows = []
    for number in range(students):
        ability = dice.gauss(0, 1)
        marks = []
        for part in range(1, parts + 1):
            right = ability + dice.gauss(0, 1) > (part - parts / 2) / parts
            verdict = Verdict.CORRECT if right else Verdict.INCORRECT
            marks.append(a_mark(f"q{part}_size", 2.0 if right else 0.0, verdict=verdict))
        rows.append(a_row(f"s{number:03}", *marks))
    return rows


def test_discrimination_and_thirds_are_those_of_a_direct_computation() -> None:
    rows = a_class()
    points = np.array([[mark.points for mark in row.marks] for row in rows], float)
    found = summary_of(rows)
    for index, part in enumerate(found.parts):
        rest = points.sum(axis=1) - points[:, index]
        assert part.discrimination == pytest.approx(np.corrcoef(points[:, index], rest)[0, 1])
        assert part.mean_share == pytest.approx(points[:, index].mean() / 2)
        assert part.mean_interval
        assert part.mean_interval.low < points[:, index].mean() / 2 < part.mean_interval.high
        assert part.thirds
        assert part.thirds.lowest < part.thirds.highest
    assert found.whole.reliability
    cov = np.cov(points.T)
    alpha = 6 / 5 * (1 - np.trace(cov) / cov.sum())
    assert found.whole.reliability.alpha == pytest.approx(alpha)


def test_parts_of_one_question_are_one_item() -> None:
    rows = [
        a_row(
            row.student.id,
            *(replace(m, name=f"q{1 + i // 3}_{i}") for i, m in enumerate(row.marks)),
        )
        for row in a_class()
    ]
    whole = summary_of(rows).whole
    assert whole.reliability
    assert (whole.items, whole.reliability.items) == ("questions", 2)
    single = [
        a_row(row.student.id, *(replace(m, name=f"q1_{i}") for i, m in enumerate(row.marks)))
        for row in a_class()
    ]
    whole = summary_of(single).whole
    assert whole.reliability
    assert (whole.items, whole.reliability.items) == ("parts", 6)


def test_alpha_says_why_it_can_not_be_computed() -> None:
    rows = a_class()
    shorter = a_row("short", *rows[0].marks[:4])
    assert "papers differ" in summary_of([*rows, shorter]).whole.why_not
    assert "Fewer than three" in summary_of(rows[:2]).whole.why_not
    same = [a_row(f"s{i}", a_mark("q1_a"), a_mark("q2_a")) for i in range(5)]
    assert "same total" in summary_of(same).whole.why_not
    dropped = a_mark("q2_a", points=0.0, max_points=0.0)
    left = [a_row(f"s{i}", a_mark("q1_a"), dropped) for i in range(5)]
    assert "a single question that counts" in summary_of(left).whole.why_not.lower()
    page = class_page(summary_of(same), TEMPLATES)
    assert "All students have the same total." in page


def test_problems_of_a_pool_count_as_the_same_question() -> None:
    """Which of them a student got is then part of the error."""
    rows = a_class()
    rows[3:9] = [
        a_row(r.student.id, replace(r.marks[0], problem="other", part="else"), *r.marks[1:])
        for r in rows[3:9]
    ]
    whole = summary_of(rows).whole
    assert whole.reliability
    assert whole.reliability.items == 6


def test_students_with_open_marks_are_left_out_of_alpha() -> None:
    rows = a_class()
    rows[5] = a_row("open", *rows[5].marks[:5], a_mark("q6_size", None, verdict=Verdict.UNSETTLED))
    whole = summary_of([*rows, a_missing_row("nobody")]).whole
    assert whole.reliability
    assert (whole.reliability.students, whole.omitted_count) == (39, 1)


def test_a_part_with_a_wrong_key_is_a_question_to_the_instructor() -> None:
    """Good students give an answer that the key calls wrong."""
    rows = []
    for row in a_class():
        good = row.score > 6
        answer = "B (Both of them)" if good else "A (Neither)"
        odd = a_mark(
            "q7_which",
            0.0 if good else 2.0,
            verdict=Verdict.INCORRECT if good else Verdict.CORRECT,
            kind="choice",
            answer=answer,
        )
        rows.append(a_row(row.student.id, *row.marks, odd))
    found = summary_of(rows)
    last = found.parts[-1]
    assert last.discrimination
    assert last.discrimination < 0
    assert [one.id for one in last.mistakes] == ["Both of them"]
    assert not last.mistakes[0].is_declared
    questions = last.questions
    assert len(questions) == 2
    assert all(text.endswith("?") for text in questions)
    assert "key right" in questions[0]
    assert "'Both of them' did better" in questions[1]
    page = class_page(found, TEMPLATES)
    assert "Parts to look at" in page
    assert "did better on the rest" in page
    assert all(not part.questions for part in found.parts[:-1])


@pytest.mark.parametrize(
    ("points", "verdict", "said"),
    [
        (2.0, Verdict.CORRECT, "that easy?"),
        (0.0, Verdict.INCORRECT, "Is the key right, and is the question clear?"),
        (0.0, Verdict.ABSENT, "Was there enough time?"),
    ],
)
def test_what_everyone_or_nobody_solved_is_asked_about(
    points: float, verdict: Verdict, said: str
) -> None:
    rows = [
        a_row(row.student.id, *row.marks, a_mark("q7_same", points, verdict=verdict))
        for row in a_class()
    ]
    last = summary_of(rows).parts[-1]
    assert any(said in text for text in last.questions)
    few = summary_of(rows[:9]).parts[-1]
    assert few.questions == ()


def test_the_page_says_how_the_outer_thirds_did() -> None:
    found = summary_of(a_class(), minutes=[40.0, 50.0, 70.0, 75.0])
    page = class_page(found, TEMPLATES)
    part = found.parts[0]
    assert part.thirds
    said = f"{part.thirds.lowest:.0%} solved it; of those in the highest third"
    assert said in page
    assert "had the paper for 48 to 71 minutes; the median is 60." in page
    assert "How long students worked is not known" in class_page(summary_of(a_class()), TEMPLATES)


def test_statistics_are_json() -> None:
    data = json.loads(json.dumps(summary_of(a_class()).statistics(), allow_nan=False))
    assert data["whole"]["items_are"] == "questions"
    assert len(data["whole"]["alpha_interval"]) == 2
    assert data["whole"]["minutes"] is None
    assert len(data["parts"]) == 6
    empty = json.dumps(summary_of([]).statistics(), allow_nan=False)
    assert json.loads(empty)["parts"] == []


def test_minutes_need_a_start_and_an_end() -> None:
    begin = datetime(2026, 10, 5, 9, tzinfo=UTC)

    def seen(student: str, started: int | None, received: int | None) -> HandedIn:
        def at(minutes: int | None) -> str | None:
            return None if minutes is None else (begin + timedelta(minutes=minutes)).isoformat()

        return HandedIn(
            student=student, source=TimeSource.STAFF, started=at(started), received=at(received)
        )

    times = [seen("a", 0, None), seen("a", None, 45), seen("b", None, 50), seen("c", 5, 65)]
    assert minutes_with_paper(times) == [45.0, 60.0]


def test_code_that_failed_is_not_called_blank() -> None:
    rows = [
        a_row(f"s{n}", a_mark(points=0.0, verdict=Verdict.ABSENT, answer=None), a_mark("q2_b"))
        for n in range(12)
    ]
    summary = summary_of(rows)
    page = class_page(summary, TEMPLATES)
    assert "<b>100%</b> gave no answer" in page
    assert "left it blank" not in page
    assert any("the code for it failed" in one for one in summary.parts[0].questions)


def test_nearly_all_points_are_not_all_of_them() -> None:
    assert format_percent(165.5 / 166) == "99%"
    assert format_percent(0.5 / 166) == "1%"
    assert [format_percent(share) for share in (0.0, 1.0, 1 - 1e-12)] == ["0%", "100%", "100%"]
