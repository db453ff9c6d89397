"""Scoring: a pure function of paper and evidence, with carried-forward answers and guards."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.grading.score import score, score_refused
from grader.kinds import kinds
from grader.model import (
    Answer,
    Evidence,
    Grade,
    Key,
    Outcome,
    Submission,
    Verdict,
)
from tests.helpers.scores import CHAIN, a_paper, evidence, graded


def test_right_answers_earn_their_points() -> None:
    marks = graded(share=1.75, time="1.75 ms", fits="A")
    assert [marks[p].points for p in ("share", "time", "fits")] == [2, 4, 1]
    assert marks["share"].answer == "1.75 GB"


def test_an_explanation_waits_for_a_person_and_keeps_the_total_open() -> None:
    grade = score(
        a_paper(), evidence(share=1.75, time=1.75, fits="A", why="It is half a word each.")
    )
    assert grade.marks[-1].verdict is Verdict.UNSETTLED
    assert grade.marks[-1].points is None
    assert not grade.complete
    assert (grade.score, grade.max_score) == (7, 8)


CLAIM = """\
id: claim
title: Weights of a model
family: memory-math
parameters:
  weights: {choice: [14], unit: GB}
prompt: A model has {{ weights }} of weights.
parts:
  - {id: fits, kind: true_false, ask: They fit into 80 GB., answer: weights <= 80 * GB}
  - id: fits_why
    kind: explanation
    ask: Give the reason for your answer to part (a).
    points: 2
    rubric: One point for comparing {{ weights }} with 80 GB.
"""


def test_a_claim_is_settled_while_its_written_reason_waits_for_a_person() -> None:
    marks = graded(a_paper(CLAIM), fits=True, fits_why="14 GB is less than 80 GB.")
    assert (marks["fits"].points, marks["fits"].verdict) == (1, Verdict.CORRECT)
    assert (marks["fits_why"].points, marks["fits_why"].verdict) == (None, Verdict.UNSETTLED)
    wrong = graded(a_paper(CLAIM), fits="no", fits_why="It is too large for it.")
    assert (wrong["fits"].points, wrong["fits_why"].points) == (0, None)


def test_a_named_mistake_earns_its_credit() -> None:
    mark = graded(share=3.5)["share"]
    assert (mark.verdict, mark.mistake, mark.points) == (Verdict.MISTAKE, "fp32", 0.5)
    assert mark.feedback == "That is fp32."


def test_a_known_unit_slip_is_recognised_without_being_listed() -> None:
    mark = graded(share=1.75e9 / 2**30)["share"]
    assert mark.verdict is Verdict.MISTAKE
    assert "GiB" in mark.feedback
    mark = graded(share=14.0)["share"]
    assert mark.verdict is Verdict.MISTAKE


def test_a_wrong_earlier_answer_is_carried_forward_at_its_discount() -> None:
    mark = graded(share=2.5, time=2.5)["time"]
    assert (mark.verdict, mark.points) == (Verdict.PARTIAL, 3)
    assert "q1_share = 2.5 GB" in mark.feedback
    assert "2.5 ms" in mark.feedback


def test_a_choice_follows_the_students_own_number() -> None:
    assert graded(share=3.4, fits="B")["fits"].points == 1
    assert graded(share=3.4, fits="A")["fits"].points == 1, "the true key comes first"


def test_rounding_in_an_accepted_answer_is_carried_without_a_discount() -> None:
    # 1.764 is accepted for 1.75; 1.778 lies 1.6 % from the true time, and 0.8 % from its own.
    mark = graded(share=1.764, time=1.778)["time"]
    assert (mark.verdict, mark.points) == (Verdict.CORRECT, 4)
    assert graded(share=1.75, time=1.778)["time"].points == 0


def test_the_true_key_earns_everything_even_after_a_wrong_earlier_answer() -> None:
    mark = graded(share=2.5, time=1.75)["time"]
    assert (mark.verdict, mark.points) == (Verdict.CORRECT, 4)


@pytest.mark.parametrize("trivial", [0, -1.75, 3.1e6, 1e-9])
def test_an_earlier_answer_that_makes_the_part_trivial_is_not_carried(trivial: float) -> None:
    mark = graded(share=trivial, time=trivial)["time"]
    assert mark.points == 0
    assert mark.verdict is Verdict.INCORRECT


def test_an_authors_guard_stops_the_carrying() -> None:
    guarded = CHAIN.replace("within: 20}", "within: 20, where: [share < 2 * GB]}")
    assert graded(a_paper(guarded), share=2.5, time=2.5)["time"].points == 0
    assert graded(a_paper(guarded), share=1.9, time=1.9)["time"].points == 3


def test_an_unreadable_earlier_answer_is_not_carried() -> None:
    marks = graded(share="about 2", time=2.0)
    assert marks["share"].verdict is Verdict.UNREADABLE
    assert marks["time"].points == 0


def test_absent_answers_say_why() -> None:
    paper = a_paper()
    told = Answer(name="q1_share", raw=None, absent="cell 2 stopped with ZeroDivisionError")
    found = Evidence(
        submission_sha256="a" * 64,
        outcome=Outcome.FINISHED,
        answers={"q1_share": told},
        cells=(),
        seconds=0.0,
    )
    marks = score(paper, found).marks
    assert marks[0].verdict is Verdict.ABSENT
    assert "ZeroDivisionError" in marks[0].feedback
    assert "no cell sets q1_time" in marks[1].feedback


def test_the_placeholder_is_absent_and_not_wrong() -> None:
    assert graded(share=...)["share"].verdict is Verdict.ABSENT


def test_our_own_fault_is_never_a_zero() -> None:
    refused = Evidence(
        submission_sha256="a" * 64,
        outcome=Outcome.REFUSED,
        answers={},
        cells=(),
        seconds=0.0,
        note="we could not start a kernel",
    )
    grade = score(a_paper(), refused)
    assert {mark.verdict for mark in grade.marks} == {Verdict.UNSETTLED}
    assert all(mark.points is None for mark in grade.marks)


def test_other_work_on_the_machine_costs_no_point() -> None:
    why = "code cell 2 hit a time limit while the machine was busy with other work"
    wrong = evidence(share=1.75, time=99.0)
    disturbed = replace(wrong, environment={"disturbed": dict.fromkeys(wrong.answers, why)})
    settled = {mark.part: mark for mark in score(a_paper(), wrong).marks}
    marks = {mark.part: mark for mark in score(a_paper(), disturbed).marks}
    assert marks["share"] == settled["share"]  # with all points it stands
    assert settled["time"].points == 0
    assert (marks["time"].points, marks["time"].verdict) == (None, Verdict.UNSETTLED)
    assert why in marks["time"].feedback
    # A part without an answer in the evidence was not affected.
    assert marks["fits"] == settled["fits"]


def test_a_mark_of_a_second_run_says_so_where_it_lost_points() -> None:
    why = "code cell 2 hit a time limit while the machine was busy with other work"
    again = replace(evidence(share=1.75, time=99.0), environment={"rerun": why})
    marks = {mark.part: mark for mark in score(a_paper(), again).marks}
    assert why not in marks["share"].feedback
    assert marks["time"].points == 0
    assert marks["time"].feedback.endswith(f"second run, alone, because in the first run {why}.")


def test_what_builds_on_a_part_that_we_failed_at_is_opened_only_where_that_may_earn_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    numeric = type(kinds.find("numeric"))
    usual = numeric.judge

    def judge(self: object, value: object, key: Key) -> object:
        return 1 / 0 if key.part.id == "share" else usual(self, value, key)  # type: ignore[arg-type]

    monkeypatch.setattr(numeric, "judge", judge)
    open_ = graded(share=1.75, time=2.5)
    assert (open_["share"].points, open_["time"].points) == (None, None)
    assert "2.5 ms" in str(open_["time"].answer)  # for the person who marks it by hand
    for blank, verdict in (("", Verdict.ABSENT), ("about 2", Verdict.UNREADABLE)):
        mark = graded(share=1.75, time=blank)["time"]
        assert (mark.verdict, mark.points) == (verdict, 0)


def test_a_file_that_is_no_notebook_is_unreadable_and_no_zero_and_says_so() -> None:
    submission = Submission(
        student="ada", path="ada.ipynb", sha256="b" * 64, refusal="the file is empty"
    )
    grade = score_refused(a_paper(), submission)
    assert {mark.verdict for mark in grade.marks} == {Verdict.UNREADABLE}
    assert {mark.points for mark in grade.marks} == {None}
    assert not grade.complete
    assert grade.marks[0].feedback == "the file is empty"


def test_scoring_is_a_pure_function() -> None:
    def once() -> Grade:
        return score(a_paper(), evidence(share=2.5, time=2.5, fits="B"))

    assert once() == once()


def test_before_release_no_mark_says_the_key() -> None:
    for answers in ({"share": 2.5, "time": 2.0}, {"share": 3.5}, {"share": "x"}, {"share": 1.63}):
        for mark in score(a_paper(), evidence(**answers)).marks:
            assert "1.75" not in mark.feedback


@pytest.mark.parametrize("huge", [1e307, 10**299], ids=["float", "int"])
def test_an_earlier_answer_beyond_every_float_in_bits_is_not_carried(huge: float) -> None:
    marks = graded(share=huge, time=huge)
    assert marks["share"].verdict is Verdict.INCORRECT
    assert marks["time"].points == 0


def test_another_choice_than_the_right_one_is_carried_whatever_it_is() -> None:
    chosen = """\
  - id: bytes
    kind: integer
    ask: Bytes of a parameter, if it does not fit?
    points: 2
    uses: [fits]
    carry: {discount: 50%}
    answer: "2 if fits == 'yes' else 1"
"""
    paper = a_paper(CHAIN[: CHAIN.index("  - id: why")] + chosen)
    mark = graded(paper, share=1.75, fits="B", bytes=1)["bytes"]
    assert (mark.verdict, mark.points) == (Verdict.PARTIAL, 1)
    assert graded(paper, share=1.75, fits="B", bytes=2)["bytes"].points == 2
