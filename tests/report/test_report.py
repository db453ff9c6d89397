"""CSV, JSON, pages and the numbers of a class report."""

from __future__ import annotations

import base64
import csv
import hashlib
import html
import io
import json
import math
import re
import statistics
import time
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.collect import collect
from grader.errors import SpecError
from grader.grading.tally import tally
from grader.model import Outcome, Override, Student, Verdict
from grader.model.paper import question_number
from grader.model.result import EvidenceSummary, Standing
from grader.report import (
    class_page,
    feedback_page,
    file_name,
    grade_json,
    grades_csv,
    summarize,
    write_class_report,
    write_csv,
    write_feedback,
    write_grade_json,
)
from grader.report.pages import format_seconds
from grader.report.statistics.items import correlation
from grader.report.summary import histogram, quartiles
from grader.text.markdown import author_text, feedback_text
from grader.text.mathml import formula_html
from tests.helpers.report import (
    TEMPLATES,
    a_class,
    a_feedback,
    a_full_feedback,
    a_mark,
    a_missing_row,
    a_part,
    a_row,
    as_late,
)


def summary_of(rows, **changes):
    about: dict[str, Any] = {
        "exam": "midterm",
        "title": "Midterm",
        "release": "5d41402abc4b2a76",
        "engine": "0.1.0",
        "published": False,
    }
    return summarize(rows, **about | changes)


class _Reader(HTMLParser):
    """Collects tags, ids, in-page links, and whether every tag is closed."""

    VOID = frozenset({"meta", "br", "hr", "img", "input", "link", "col", "wbr"})

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.links, self.attributes, self.stack = [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        found = dict(attrs)
        if "id" in found:
            self.ids.append(found["id"])
        if found.get("href", "").startswith("#"):
            self.links.append(found["href"][1:])
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.stack.pop()

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag


SCRIPT = (TEMPLATES[0] / "report" / "tables.js").read_text().rstrip("\n")


def without_script(page):
    """The class report without its one script, which its policy names by its hash."""
    assert page.count(f"<script>{SCRIPT}</script>") == 1
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert f'<meta http-equiv="Content-Security-Policy" content="{policy}">' in page
    return page.replace(f"<script>{SCRIPT}</script>", "")


def checked(page):
    shown, page = page, without_script(page) if ": class report</title>" in page else page
    read = _Reader(page)
    assert read.stack == []
    assert len(read.ids) == len(set(read.ids))
    assert set(read.links) <= set(read.ids)
    assert not [name for name in read.attributes if name.startswith("on")]
    assert not {"script", "iframe", "object", "embed", "link", "img", "form"} & set(read.tags)
    assert not re.search(r"""(src|href|action)=["']?\s*(https?:)?//""", page)
    assert {"main", "header", "footer", "h1"} <= set(read.tags)
    return shown


class TestCsv:
    def table(self, rows, **more):
        return list(csv.reader(io.StringIO(grades_csv(rows, **more), newline="")))

    def test_it_has_a_column_a_part_in_the_order_of_the_paper(self):
        rows = [
            a_row("bob", a_mark("q10_last", 0.0), a_mark("q2_time", 1.5), a_mark("q2_a", 2.0)),
            a_row("ada", a_mark("q10_last"), a_mark("q2_time"), a_mark("q2_a")),
        ]
        assert self.table(rows) == [
            ["student", "total", "max", "q2_time", "q2_a", "q10_last", "standing"],
            ["ada", "6", "6", "2", "2", "2", "graded"],
            ["bob", "3.5", "6", "1.5", "2", "0", "graded"],
        ]

    def test_an_open_mark_and_a_missing_submission_are_empty_cells_and_no_zeros(self):
        rows = [
            a_row("ada", a_mark(), a_mark("q2_why", None, verdict=Verdict.UNSETTLED)),
            a_row("bob", a_mark(points=0.0), a_mark("q2_why", 0.0)),
            a_missing_row("eve"),
            a_row("mia", standing=Standing.REFUSED, grade=None, max_score=4.0),
            a_row("zoe", standing=Standing.WAITING, grade=None, max_score=4.0),
        ]
        assert self.table(rows)[1:] == [
            ["ada", "2", "4", "2", "", "graded"],
            ["bob", "0", "4", "0", "0", "graded"],
            ["eve", "", "4", "", "", "no submission"],
            ["mia", "", "4", "", "", "can't be read"],
            ["zoe", "", "4", "", "", "not graded yet"],
        ]

    def test_the_grade_before_one_that_waits_still_counts(self):
        row = a_row("ada", a_mark(), standing=Standing.WAITING)
        assert self.table([row])[1] == ["ada", "2", "2", "2", "not graded yet"]

    def test_a_pooled_slot_has_a_column_for_every_problem(self):
        rows = [
            a_row("ada", a_mark("q4_x", problem="ring"), a_mark("q4_y", problem="ring")),
            a_row("bob", a_mark("q4_x", 1.0, problem="kv-cache")),
        ]
        expected = ["q4_x (kv-cache)", "q4_x (ring)", "q4_y (ring)"]
        table = self.table(rows, pooled={4})
        assert table[0][3:-1] == expected
        assert table[1][3:-1] == ["", "2", "2"]
        assert table[2][3:-1] == ["1", "", ""]
        assert self.table(rows)[0][3:-1] == ["q4_x (kv-cache)", "q4_x (ring)", "q4_y"]

    @pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
    def test_a_cell_never_starts_a_formula(self, start):
        table = self.table([a_row(f"{start}HYPERLINK(1)", a_mark())])
        assert table[1][0] == f"'{start}HYPERLINK(1)"

    @given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12))
    def test_any_id_survives_commas_quotes_and_lines(self, student):
        table = self.table([a_row(student, a_mark())])
        assert table[1][0] in {student, f"'{student}"}
        assert len(table) == 2

    def test_an_empty_class_has_a_header(self):
        assert self.table([]) == [["student", "total", "max", "standing"]]

    def test_points_have_two_decimals_at_most_and_no_padding(self):
        rows = [a_row("ada", a_mark(points=1 / 3), a_mark("q2_x", 0.1 + 0.2))]
        assert self.table(rows)[1][3:-1] == ["0.33", "0.3"]


class TestGradeJson:
    def test_a_student_without_a_submission_has_a_file_without_marks(self):
        text = grade_json(a_missing_row(), exam="midterm", engine="0.1.0", release="r9")
        assert json.loads(text) == {
            "student": "eve",
            "set": "midterm",
            "submission_sha256": None,
            "score": 0.0,
            "max_score": 4.0,
            "complete": False,
            "marks": [],
            "engine": "0.1.0",
            "release": "r9",
            "environment": {},
        }

    def test_an_override_shows_in_points_and_total(self):
        override = Override(
            student="ada", name="q1_size", points=1.0, reason="r", by="prof", at="now"
        )
        row = a_row("ada", a_mark(points=0.0))
        (row,) = tally(
            {"ada": row.student}, [row.grade], max_points=lambda _: 0.0, overrides=[override]
        )
        data = json.loads(grade_json(row, exam="", engine="", release=""))
        assert (data["score"], data["marks"][0]["points"]) == (1.0, 1.0)
        assert "prof" not in json.dumps(data)

    def test_text_that_is_not_unicode_still_makes_valid_json(self, tmp_path):
        row = a_row("ada", a_mark(answer="a\ud800b", feedback="ü"))
        path = write_grade_json(tmp_path, row, exam="", engine="", release="")
        data = json.loads(path.read_text(encoding="utf-8"))
        assert data["marks"][0]["answer"] == r"a\ud800b"  # written out, so that all can read it
        assert data["marks"][0]["feedback"] == "ü"

    def test_numbers_that_are_not_finite_are_never_written(self):
        with pytest.raises(ValueError, match="Out of range"):
            grade_json(a_row("ada", a_mark(points=math.nan)), exam="", engine="", release="")


class TestFileNames:
    @pytest.mark.parametrize(
        ("student", "name"),
        [
            ("ada", "ada"),
            ("ada.lovelace@uni.edu", "ada.lovelace@uni.edu"),
            ("Ünal Ö", "Ünal Ö"),
            ("../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd"),
            ("a/b", "a%2Fb"),
            ("a\\b", "a%5Cb"),
            (".", "%2E"),
            ("..", "%2E%2E"),
            ("", "%"),
            ("100%", "100%25"),
            ("CON", "%43ON"),
            ("a.", "a%2E"),
            ("\ud800", "%ED%A0%80"),
        ],
    )
    def test_an_id_is_safe_and_as_readable_as_it_can_be(self, student, name):
        assert file_name(student, ".json") == f"{name}.json"

    @given(st.text(st.characters(), max_size=300), st.text(st.characters(), max_size=300))
    def test_different_ids_have_different_names_that_stay_in_the_folder(self, one, two):
        names = [file_name(student, ".html") for student in (one, two)]
        assert (names[0] == names[1]) == (one == two)
        for name in names:
            assert not set(name) & set('/\\:*?"<>|\0\n')
            assert len(name.encode()) < 200
            assert not name.startswith(".")


@pytest.mark.parametrize(
    ("mark", "number"), [("q3_x", 3), ("q12_q4_x", 12), ("q_x", 0), ("q3", 0), ("aq3_x", 0)]
)
def test_the_name_of_a_mark_tells_the_number_of_its_problem(mark, number):
    assert question_number(mark) == number


class TestNumbers:
    def test_quartiles_are_those_of_a_spreadsheet(self):
        # 1, 2, 4, 7, 11: QUARTILE.INC gives 2, 4, 7; for six numbers 2.5, 5.5, 10.
        assert quartiles([1, 2, 4, 7, 11]) == (2, 4, 7)
        assert quartiles([1, 2, 4, 7, 11, 16]) == (2.5, 5.5, 10)
        assert quartiles([3]) == (3, 3, 3)
        assert quartiles([]) is None

    @given(st.lists(st.floats(0, 1), min_size=2, max_size=30))
    def test_quartiles_agree_with_the_standard_library(self, numbers):
        ordered = sorted(numbers)
        expected = statistics.quantiles(ordered, n=4, method="inclusive")
        assert quartiles(ordered) == pytest.approx(tuple(expected))

    def test_the_last_bin_holds_full_marks_and_borders_belong_above(self):
        assert histogram([0, 0.1, 0.29999999999999999, 0.3, 0.7, 0.999, 1, 1.2], 10) == (
            (1, 1, 0, 2, 0, 0, 0, 1, 0, 3)
        )

    def test_correlation_is_pearsons(self):
        # Means 2 and 5; products of deviations 3 + 0 + 3 = 6; squares 2 and 18; 6 / 6 = 1.
        assert correlation([1, 2, 3], [2, 5, 8]) == pytest.approx(1)
        # Deviations -1, 0, 1 and -1, 2, -1: products 1 + 0 - 1 = 0.
        assert correlation([1, 2, 3], [1, 4, 1]) == pytest.approx(0)
        # Deviations -1.5 -.5 .5 1.5 and -1 1 -1 1: 1.5 - .5 - .5 + 1.5 = 2; 2 / sqrt(5 * 4).
        assert correlation([0, 1, 2, 3], [0, 2, 0, 2]) == pytest.approx(2 / math.sqrt(20))

    @pytest.mark.parametrize(
        ("xs", "ys"),
        [([], []), ([1, 2], [1, 2]), ([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [0.1 + 0.2, 0.3, 0.3])],
    )
    def test_correlation_is_undefined_without_spread_or_with_too_few(self, xs, ys):
        assert correlation(xs, ys) is None

    @given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 40)), min_size=3, max_size=30))
    def test_correlation_agrees_with_the_standard_library(self, pairs):
        xs, ys = [float(x) for x, _ in pairs], [float(y) for _, y in pairs]
        found = correlation(xs, ys)
        if len(set(xs)) == 1 or len(set(ys)) == 1:
            assert found is None
        else:
            assert found == pytest.approx(statistics.correlation(xs, ys), abs=1e-9)


class TestSummary:
    def four(self):
        """Four students, three parts of two points; totals 6, 3, 1 and 0 of 6."""
        points = {"ada": (2, 2, 2), "bob": (2, 1, 0), "cy": (0, 0, 1), "dan": (0, 0, 0)}
        names = ("q1_a", "q2_b", "q3_c")
        verdicts = {2: Verdict.CORRECT, 1: Verdict.PARTIAL, 0: Verdict.INCORRECT}
        return [
            a_row(
                student,
                *(
                    a_mark(name, float(n), verdict=verdicts[n])
                    for name, n in zip(names, of, strict=True)
                ),
            )
            for student, of in points.items()
        ]

    def test_headline_numbers_by_hand(self):
        totals = summary_of([*self.four(), a_missing_row("eve", 6.0)]).totals
        assert totals.students == 5
        assert totals.standings[Standing.GRADED] == 4
        assert totals.standings[Standing.MISSING] == 1
        assert totals.max_score == 6
        assert totals.mean * 6 == pytest.approx(2.5)
        # Ordered 0 1 3 6: quartiles at 0.75, 2, 3.75.
        assert [6 * q for q in totals.quartiles] == pytest.approx([0.75, 2, 3.75])
        assert (totals.lowest, totals.highest) == (0, 1)
        assert totals.bins == (1, 1, 0, 0, 0, 1, 0, 0, 0, 1)
        assert (totals.open_marks, totals.open_totals) == (0, 0)

    def test_parts_by_hand(self):
        a, b, c = summary_of(self.four()).parts
        assert [part.names for part in (a, b, c)] == [("q1_a",), ("q2_b",), ("q3_c",)]
        assert (a.share_correct, b.share_correct, c.share_correct) == (0.5, 0.25, 0.25)
        assert (a.mean_share, b.mean_share, c.mean_share) == (0.5, 0.375, 0.375)
        assert b.mix == {Verdict.CORRECT: 1, Verdict.PARTIAL: 1, Verdict.INCORRECT: 2}
        # a: 1 1 0 0; the rest of the paper: 4 1 1 0 of 4. Deviations .5 .5 -.5 -.5 and
        # .625 -.125 -.125 -.375: products .5; squares 1 and .5625: .5 / .75 = 2/3.
        assert a.discrimination == pytest.approx(2 / 3)

    def test_discrimination_is_na_when_everybody_earns_the_same(self):
        rows = [
            a_row("ada", a_mark(), a_mark("q2_b", 0.0)),
            a_row("bob", a_mark(), a_mark("q2_b", 1.0)),
            a_row("cy", a_mark(), a_mark("q2_b", 2.0)),
        ]
        first, second = summary_of(rows).parts
        assert first.discrimination is None
        assert second.discrimination is None
        assert "n/a" in class_page(summary_of(rows), TEMPLATES)

    def test_a_paper_with_one_part_has_no_rest_to_compare_with(self):
        rows = [a_row(name, a_mark(points=float(p))) for p, name in enumerate(("a", "b", "c"))]
        (part,) = summary_of(rows).parts
        assert part.discrimination is None

    def test_open_marks_count_nowhere_but_among_the_open(self):
        waiting = a_mark("q2_b", None, verdict=Verdict.UNSETTLED)
        rows = [a_row("ada", a_mark(), waiting), a_row("bob", a_mark(), a_mark("q2_b", 1.0))]
        summary = summary_of(rows)
        part = summary.parts[1]
        assert (part.students, part.settled_count, part.mean_share) == (2, 1, 0.5)
        assert part.mix[Verdict.UNSETTLED] == 1
        assert (summary.totals.open_marks, summary.totals.open_totals) == (1, 1)

    def test_mistakes_are_counted_with_what_a_student_reads(self):
        def wrong(mistake, text):
            return a_mark(points=0.5, verdict=Verdict.MISTAKE, mistake=mistake, feedback=text)

        rows = [
            a_row("ada", wrong("not-sharded", "1/8 of it")),
            a_row("bob", wrong("not-sharded", "1/4 of it")),
            a_row("cy", wrong("weights-only", "More than weights.")),
            a_row("dan", a_mark()),
        ]
        (part,) = summary_of(rows).parts
        assert [(m.id, m.students, m.share, m.feedback) for m in part.mistakes] == [
            ("not-sharded", 2, 0.5, "1/8 of it"),
            ("weights-only", 1, 0.25, "More than weights."),
        ]

    def test_one_students_numbers_are_not_shown_as_everybodys(self):
        def wrong(mistake, text):
            return a_mark(points=0.5, verdict=Verdict.MISTAKE, mistake=mistake, feedback=text)

        label = "One student's feedback, with that student's numbers:"
        for texts, varies in (
            (("1/8 of it", "1/4 of it"), True), (("1/8 of it",), True), (("All.", "All."), False),
            (("All.",), False),
        ):  # fmt: skip
            rows = [a_row(f"s{n}", wrong("not-sharded", text)) for n, text in enumerate(texts)]
            summary = summary_of(rows)
            assert summary.parts[0].mistakes[0].varies is varies
            assert (label in html.unescape(class_page(summary, TEMPLATES))) is varies

    def test_the_reason_of_an_override_is_not_shown_as_everybodys_feedback(self):
        mark = a_mark(points=0.0, verdict=Verdict.MISTAKE, mistake="fp32", feedback="Plain.")
        by_hand = Override(
            student="ada", name="q1_size", points=1.0, reason="was ill", by="prof", at="now"
        )
        students = {name: Student(id=name) for name in ("ada", "bob")}
        grades = [a_row(name, mark).grade for name in students]
        rows = tally(students, grades, max_points=lambda _: 0.0, overrides=[by_hand])
        (part,) = summary_of(rows).parts
        assert [m.feedback for m in part.mistakes] == ["Plain."]

    def test_a_problem_from_a_pool_is_one_line_whatever_its_number(self):
        rows = [
            a_row("ada", a_mark("q2_x", problem="ring")),
            a_row("bob", a_mark("q3_x", problem="ring")),
        ]
        (part,) = summary_of(rows).parts
        assert part.names == ("q2_x", "q3_x")
        assert part.students == 2

    def test_a_grade_counts_while_a_newer_file_waits_and_its_total_is_open(self):
        waiting = a_row("ada", a_mark(), standing=Standing.WAITING, complete=False)
        new = a_row("bob", standing=Standing.WAITING, grade=None, complete=False)
        summary = summary_of([waiting, new, a_row("cy", a_mark(points=0.0))])
        totals = summary.totals
        assert (totals.graded_count, totals.standings[Standing.WAITING]) == (2, 2)
        assert (totals.mean, totals.open_totals) == (0.5, 1)
        page = checked(class_page(summary, TEMPLATES))
        assert "The latest file of 2 students is not graded yet: ada, bob" in page
        assert page.count('<span class="tag">newer file not graded yet</span>') == 1
        assert page.count('<span class="tag">not graded yet</span>') == 1

    def test_open_marks_are_no_zeros_in_mean_median_and_histogram(self):
        waiting = a_mark("q2_b", None, verdict=Verdict.UNSETTLED)
        rows = [a_row(name, a_mark(), waiting) for name in ("ada", "bob")]
        totals = summary_of(rows).totals
        assert (totals.mean, totals.quartiles, totals.bins[-1]) == (1.0, (1.0, 1.0, 1.0), 2)
        assert (totals.graded_count, totals.open_totals, totals.open_marks) == (2, 2, 2)

    def test_a_file_that_can_not_be_read_counts_in_no_statistic(self):
        mark = a_mark(points=None, verdict=Verdict.UNREADABLE)
        refused = a_row("bob", mark, standing=Standing.REFUSED, refusal="a PDF")
        summary = summary_of([a_row("ada", a_mark()), refused])
        assert (summary.totals.graded_count, summary.totals.mean) == (1, 1.0)
        assert (summary.parts[0].students, summary.parts[0].settled_count) == (1, 1)

    def test_the_marks_of_a_file_that_can_not_be_read_are_open(self):
        mark = a_mark(points=None, verdict=Verdict.UNREADABLE)
        refused = a_row("bob", mark, standing=Standing.REFUSED, refusal="a PDF")
        summary = summary_of([a_row("ada", a_mark()), refused])
        assert (summary.totals.open_totals, summary.totals.open_marks) == (1, 1)
        page = class_page(summary, TEMPLATES)
        assert "every total is final" not in page

    def test_papers_worth_different_amounts_are_compared_by_share(self):
        rows = [a_row("ada", a_mark()), a_row("bob", a_mark(), a_mark("q2_b", 0.0))]
        totals = summary_of(rows).totals
        assert totals.max_score is None
        assert totals.mean == pytest.approx(0.75)

    def test_the_tiles_show_no_points_that_nobody_has(self):
        """If marks are open, shares are of different points, so that only they are shown."""
        waiting = a_mark("q2_b", None, verdict=Verdict.UNSETTLED)
        rows = [
            a_row("ada", a_mark(points=1.0), waiting),
            a_row("bob", a_mark(points=1.0), a_mark("q2_b", 2.0)),
        ]
        tiles = class_page(summary_of(rows), TEMPLATES).partition('class="tiles"')[2]
        assert "<dt>Mean</dt><dd>62%</dd><dd>of the settled points</dd>" in tiles
        assert "<dt>Range</dt><dd>50% – 75%</dd>" in tiles

    def test_slow_and_failed_notebooks_are_found_with_their_owners(self):
        rows = [a_row(name, a_mark()) for name in ("ada", "bob", "cy")]
        shas = [row.grade.submission_sha256 for row in rows]
        ran = {
            shas[0]: EvidenceSummary(
                submission_sha256=shas[0], outcome=Outcome.FINISHED, seconds=3, failed_cells=1
            ),
            shas[1]: EvidenceSummary(
                submission_sha256=shas[1], outcome=Outcome.TIMEOUT, seconds=600, note="600 s"
            ),
            shas[2]: EvidenceSummary(
                submission_sha256=shas[2], outcome=Outcome.FINISHED, seconds=2
            ),
            "old": EvidenceSummary(submission_sha256="old", outcome=Outcome.CRASHED, seconds=1),
        }
        summary = summary_of(rows, evidence=ran)
        assert [line.students for line in summary.failed_runs] == [("bob",), ("ada",)]
        assert [line.students for line in summary.slowest] == [("bob",), ("ada",), ("cy",)]
        assert summary.run_seconds == (3, 605)
        page = class_page(summary, TEMPLATES)
        assert page.count("Times include hidden cases") == 2
        assert "reached a time limit" in page

    def test_files_that_were_not_read_are_not_said_to_be_the_same(self, tmp_path):
        # Such as a link and a file that is too large: of both the bytes are nothing.
        (tmp_path / "ada.ipynb").symlink_to("elsewhere.ipynb")
        (tmp_path / "bob.ipynb").write_bytes(b"")
        found = collect(tmp_path, {name: Student(id=name) for name in ("ada", "bob")})
        rows = [
            replace(row, grade=replace(row.grade, submission_sha256=one.sha256))
            for one in found.submissions
            for row in [a_row(one.student, a_mark(points=0.0), refusal=one.refusal)]
        ]
        assert len(rows) == 2
        assert summary_of(rows).same_file == ()

    def test_the_same_file_from_two_students_is_told(self):
        rows = [a_row("ada", a_mark()), a_row("bob", a_mark())]
        same = replace(rows[1].grade, submission_sha256=rows[0].grade.submission_sha256)
        summary = summary_of([rows[0], replace(rows[1], grade=same)])
        assert summary.same_file == (("ada", "bob"),)
        assert "Identical files from ada, bob" in class_page(summary, TEMPLATES)


ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<svg/onload=alert(1)>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    "[x](javascript:alert(1))",
    "[x](  JaVaScRiPt:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "![x](https://evil.example/x.png)",
    "<https://evil.example>",
    "](javascript:alert(1))",
    r"$\text{<script>alert(1)</script>}$",
    r"$\text{&lt;script&gt;alert(1)&lt;/script&gt;}$",
    r"$\href{javascript:alert(1)}{x}$",
    r'$\color{red" onload="alert(1)}{x}$',
    r"$\style{background:url(//evil.example)}{x}$",
    "$$</math><script>alert(1)</script>$$",
    "```<script>\nalert(1)\n```",
    "</style><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
]


class TestHostileText:
    @pytest.mark.parametrize("text", ATTACKS)
    def test_nothing_from_a_student_becomes_markup_in_feedback(self, text):
        part = a_part(answer=text, why=text, look_at=text, verdict=Verdict.INCORRECT)
        student = Student(id=text, name=text, section=text)
        page = checked(feedback_page(a_feedback(part, student=student, refusal=text), TEMPLATES))
        assert "49" not in page.partition("</style>")[2]

    @pytest.mark.parametrize("text", ATTACKS)
    def test_nothing_from_a_student_becomes_markup_in_the_class_report(self, text):
        mark = a_mark(answer=text, feedback=text, verdict=Verdict.MISTAKE, mistake=text)
        row = a_row("ada", mark, student=Student(id=text, name=text), refusal=text)
        ran = EvidenceSummary(
            submission_sha256=row.grade.submission_sha256,
            outcome=Outcome.CRASHED,
            seconds=1,
            note=text,
        )
        summary = summary_of([row], notices=[text], evidence={row.grade.submission_sha256: ran})
        checked(class_page(summary, TEMPLATES))

    def test_no_page_holds_a_control_character(self):
        text = "a\x1b]8;;http://evil\x07b\x00c\x9b2Jd\x7fe"
        part = a_part(answer=text, why=text, look_at=text, verdict=Verdict.INCORRECT)
        mark = a_mark(answer=text, feedback=text, verdict=Verdict.MISTAKE, mistake="slip")
        row = a_row("ada", mark, refusal=text)
        sha = row.grade.submission_sha256
        ran = EvidenceSummary(submission_sha256=sha, outcome=Outcome.CRASHED, seconds=1, note=text)
        summary = summary_of([row], notices=[text], evidence={sha: ran})
        for page in (
            feedback_page(a_feedback(part, refusal=text), TEMPLATES),
            class_page(summary, TEMPLATES),
        ):
            assert "http://evil" in page
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", page)

    @pytest.mark.parametrize("text", ATTACKS)
    def test_even_an_author_can_not_put_scripts_into_a_page(self, text):
        made = str(author_text(text))
        assert "<script" not in made.casefold()
        assert "<img" not in made
        assert 'href="javascript' not in made.casefold()
        assert 'href="data' not in made.casefold()

    @given(st.text(max_size=60))
    def test_any_feedback_becomes_closed_harmless_html(self, text):
        read = _Reader(str(feedback_text(text)))
        assert read.stack == []
        assert "href" not in read.attributes
        assert "src" not in read.attributes

    @pytest.mark.parametrize(
        "latex",
        [
            "{" * 5000,
            "x" * 5000,
            r"\frac{1",
            r"\left(",
            r"\nonsense{x}",
            "x^x^x",
            r"\def\a{\a\a}\a",
        ],
    )
    def test_a_formula_that_can_not_be_converted_falls_back_to_code(self, latex):
        assert formula_html(latex).startswith('<code class="latex">')

    @given(st.text(st.sampled_from("\\{}^_&$<>abfracsqrtext123 []()"), max_size=40))
    def test_any_formula_becomes_closed_harmless_html(self, latex):
        read = _Reader(formula_html(latex))
        assert read.stack == []
        assert all(tag == "code" or tag.startswith("m") for tag in read.tags)

    @pytest.mark.parametrize(
        "text", ["> " * 3000, "*a " * 5000, "- " * 3000, "`" * 9999, "[" * 9999]
    )
    def test_pathological_markdown_is_done_at_once(self, text):
        start = time.process_time()
        assert feedback_text(text)
        assert author_text(text)
        assert time.process_time() - start < 2


class TestMarkdown:
    def test_formulas_become_mathml_and_words_stay_words(self):
        made = str(author_text("Each holds $\\frac{112}{4}$ GB, *not* USD 5 or `x`."))
        assert "<mfrac>" in made
        assert "<em>not</em>" in made
        assert "<code>x</code>" in made

    def test_money_is_not_a_formula(self):
        assert "<math" not in str(author_text("It costs $5 and $6."))

    def test_display_formulas_stand_alone(self):
        assert 'display="block"' in str(author_text("So\n\n$$x^2$$\n\nholds."))

    def test_names_with_underscores_are_not_emphasis(self):
        assert str(feedback_text("q3_per_gpu and q3_n_x")) == "<p>q3_per_gpu and q3_n_x</p>\n"

    def test_tables_scroll_in_a_box_of_their_own(self):
        made = str(author_text("| a |\n|---|\n| 1 |"))
        assert made.startswith('<div class="scroll"')
        assert made.endswith("</table></div>\n")

    def test_the_way_for_plain_text_gives_what_the_parser_gives(self):
        plain = "No answer (cell 4 stopped), so it earns 2.5 points; that's all."
        parsed = str(feedback_text(plain + "*")).replace("*", "")
        assert feedback_text(plain).unescape() == html.unescape(parsed)

    def test_an_author_may_link_to_the_web(self):
        assert '<a href="https://example.org">' in str(author_text("[x](https://example.org)"))


class TestFeedbackPage:
    def test_it_is_closed_and_needs_nothing_from_outside(self):
        page = checked(feedback_page(a_full_feedback(), TEMPLATES, engine="0.1.0"))
        assert "default-src 'none'" in page

    def test_the_time_is_that_of_the_cells_only(self):
        assert "The cells took " in feedback_page(a_full_feedback(), TEMPLATES)

    def test_every_verdict_has_a_word_and_a_sign_and_not_only_a_colour(self):
        page = feedback_page(a_full_feedback(), TEMPLATES)
        for verdict, word in {
            "correct": "Correct",
            "partial": "Partly correct",
            "mistake": "Known mistake",
            "incorrect": "Incorrect",
            "absent": "No answer",
            "unreadable": "Can&#39;t be read",
            "unsettled": "Open",
        }.items():
            assert f'<use href="#i-{verdict}"/></svg> {word}</span>' in page
            assert f'<symbol id="i-{verdict}"' in page

    def test_it_shows_the_answer_as_read_and_the_points(self):
        page = feedback_page(a_feedback(a_part()), TEMPLATES)
        assert 'Read as <span class="answer">28 GB</span>' in page
        assert "<strong>2</strong> <span>of 2 points</span>" in page
        one = feedback_page(a_feedback(a_part(points=1.0, max_points=1.0)), TEMPLATES)
        assert "<strong>1</strong> <span>of 1 point</span>" in one

    @pytest.mark.parametrize(
        ("kinds", "sentence"),
        [
            (["explanation"], "open: 1 part waits for manual grading"),
            (["explanation", "explanation"], "open: 2 parts wait for manual grading"),
            (["explanation", "numeric"], "open: 2 parts are not graded yet"),
        ],
    )
    def test_an_open_total_says_what_it_waits_for(self, kinds, sentence):
        parts = [
            a_part(f"q{n}_x", kind=kind, points=None, verdict=Verdict.UNSETTLED)
            for n, kind in enumerate(kinds)
        ]
        page = feedback_page(a_feedback(a_part(), *parts), TEMPLATES)
        assert sentence in page
        assert "points so far" in page

    def test_before_release_it_says_that_solutions_will_come(self):
        assert "after they are released" in feedback_page(a_feedback(a_part()), TEMPLATES)
        assert "after they are released" not in feedback_page(
            a_feedback(a_part(), is_published=True), TEMPLATES
        )

    def test_a_broken_template_is_an_error_that_says_where(self, tmp_path):
        (tmp_path / "report").mkdir()
        (tmp_path / "report" / "feedback.html.j2").write_text("{% if %}")
        with pytest.raises(SpecError, match="can't be used") as caught:
            feedback_page(a_feedback(a_part()), (tmp_path, *TEMPLATES))
        assert str(tmp_path) in str(caught.value)

    def test_a_bank_may_override_one_template(self, tmp_path):
        (tmp_path / "report").mkdir()
        (tmp_path / "report" / "style.css").write_text("body { color: hotpink }")
        page = feedback_page(a_feedback(a_part()), (tmp_path, *TEMPLATES))
        assert "hotpink" in page
        assert "--ground" not in page

    @pytest.mark.slow
    def test_a_thousand_pages_take_seconds(self):
        start = time.process_time()
        for n in range(1000):
            parts = [
                a_part(
                    f"q1_p{p}",
                    why=f"Each of {n} keeps 1/{n + p} of $x_{p}$.",
                    accepted_answer=f"**{n}**",
                )
                for p in range(20)
            ]
            feedback_page(a_feedback(*parts, is_published=True), TEMPLATES)
        assert time.process_time() - start < 15


class TestClassPage:
    def class_of(self, students, parts=8, **changes):
        rows = list(tally({}, a_class(students, parts), max_points=lambda _: 0.0))
        return summary_of([*rows, a_missing_row("zoe", 16.0)], **changes)

    def test_it_is_closed_and_needs_nothing_from_outside(self):
        checked(class_page(self.class_of(40, notices=["x99.ipynb: unknown student"]), TEMPLATES))

    def test_a_class_that_nobody_is_graded_in_has_a_report(self):
        for rows in ([], [a_missing_row()]):
            page = checked(class_page(summary_of(rows), TEMPLATES))
            assert "No student is graded yet" in page

    def test_it_tells_who_handed_in_nothing_and_what_was_odd(self):
        page = class_page(self.class_of(3, notices=["x99.ipynb: unknown student"]), TEMPLATES)
        assert "No submission from 1 student: zoe" in page
        assert "x99.ipynb: unknown student" in page
        assert '<span class="tag">no submission</span>' in page

    def test_plots_have_a_text_for_those_who_can_not_see_them(self):
        page = class_page(self.class_of(20), TEMPLATES)
        assert re.search(r'<svg class="histogram"[^>]* role="img" aria-labelledby=', page)
        assert re.search(r"90 to 100 percent: \d+\.", page)
        assert re.search(
            r'class="mix" role="img" aria-label="\d+ correct, \d+ partly correct', page
        )

    def test_the_contents_lead_to_every_section(self):
        page = class_page(self.class_of(20), TEMPLATES)
        nav = page[page.index('<nav aria-label="Contents">') : page.index("</nav>")]
        listed = re.findall(r'href="#([a-z]+)"', nav)
        assert listed == re.findall(r'<section aria-labelledby="([a-z]+)"', page)

    def test_the_medians_line_is_drawn_before_the_counts_that_cover_it(self):
        page = class_page(self.class_of(20), TEMPLATES)
        assert page.index('<line class="middle"') < page.index('<text class="count"')
        assert re.search(r"\.histogram \.count {[^}]*paint-order: stroke", page)

    def test_sections_have_figures_of_their_own(self):
        people = {"ada": ("B", 2.0), "bob": ("A", 1.0), "cy": ("A", 0.0), "dan": ("A", None)}
        rows = [
            a_row(id_, a_mark(points=points), student=Student(id=id_, section=section))
            for id_, (section, points) in people.items()
        ]
        sections = summary_of(rows).sections
        assert list(sections) == ["A", "B"]
        a, b = sections.values()
        assert (a.students, a.graded_count, a.mean, a.quartiles[1]) == (3, 2, 0.25, 0.25)
        assert (b.students, b.graded_count, b.mean, b.quartiles[1]) == (1, 1, 1.0, 1.0)
        assert '<h2 id="sections">' in checked(class_page(summary_of(rows), TEMPLATES))
        assert summary_of([a_row("ada", a_mark())]).sections == {}

    def test_cells_sort_by_number_and_not_by_how_it_is_written(self):
        rows = [a_row("ada", a_mark(points=1 / 3)), a_row("bob", a_mark(points=None))]
        page = class_page(summary_of(rows), TEMPLATES)
        assert 'data-value="0.333333">0.33 / 2' in page
        assert 'data-value="">–' in page

    def test_late_submissions_and_deductions_are_counted_and_listed(self):
        rows = [as_late(a_row("ada", a_mark(), a_mark("q2_b"))), a_row("bob", a_mark())]
        summary = summary_of(rows)
        page = checked(class_page(summary, TEMPLATES))
        assert "<dt>Late</dt><dd>1</dd><dd>1 point deducted in all</dd>" in page
        assert '3 / 4</td><td class="num" data-value="1.0">1</td>' in page
        assert '<span class="tag">late</span>' in page
        without = class_page(summary_of(rows[1:]), TEMPLATES)
        assert "deduct" not in without

    def test_no_two_landmarks_have_the_same_name(self):
        page = class_page(self.class_of(20), TEMPLATES)
        assert 'role="region"' not in page
        assert 'role="region"' not in feedback_page(a_full_feedback(), TEMPLATES)

    def test_header_cells_have_a_scope(self):
        page = class_page(self.class_of(5), TEMPLATES)
        assert not re.search(r"<th(?![^>]*scope=)[ >]", page)

    def test_students_link_to_their_feedback_whatever_their_id(self, tmp_path):
        student = Student(id="a/b #1?%", name="")
        write_feedback(tmp_path, a_feedback(a_part(), student=student), TEMPLATES)
        row = a_row("x", a_mark(), student=student)
        page = class_page(summary_of([row]), TEMPLATES)
        (file,) = (tmp_path / "feedback").iterdir()
        assert file.name == "a%2Fb #1%3F%25.html"
        assert 'href="../feedback/a%252Fb%20%231%253F%2525.html"' in page

    @pytest.mark.slow
    def test_a_class_of_ten_thousand_with_forty_parts_is_summed_up_in_seconds(self):
        rows = list(tally({}, a_class(10_000, 40), max_points=lambda _: 0.0))
        start = time.process_time()
        page = class_page(summary_of(rows), TEMPLATES)
        spent = time.process_time() - start
        assert page.count("<tr>") > 10_000
        assert spent < 3


class TestWriting:
    def test_every_file_lies_where_the_contract_says(self, tmp_path):
        row = a_row("ada", a_mark())
        write_csv(tmp_path, [row])
        write_grade_json(tmp_path, row, exam="", engine="", release="")
        write_feedback(tmp_path, a_feedback(a_part()), TEMPLATES)
        write_class_report(tmp_path, summary_of([row]), TEMPLATES)
        found = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()}
        assert found == {
            "grades.csv",
            "grades/ada.json",
            "feedback/ada.html",
            "report/index.html",
        }

    def test_pages_with_text_that_is_not_unicode_are_written(self, tmp_path):
        path = write_feedback(tmp_path, a_feedback(a_part(answer="a\ud800b")), TEMPLATES)
        assert r"a\ud800b" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0.004, "0.00 s"),
        (0.25, "0.25 s"),
        (12.34, "12.3 s"),
        (312, "5 min 12 s"),
        (3599.7, "60 min 0 s"),
    ],
)
def test_seconds_are_said_as_people_say_them(number, said):
    assert format_seconds(number) == said
