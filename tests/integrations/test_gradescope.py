"""Gradescope's results.json, and the limit on how often one is made."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given

from grader.errors import SetupError
from grader.integrations.gradescope.results import (
    Tiers,
    Visibility,
    counted_runs,
    earlier_counted_runs,
    export_notes,
    rate_refusal,
    results_json,
    ungraded_result,
)
from grader.model import Verdict
from grader.model.result import Standing
from tests.helpers.export import (
    a_hostile_result,
    a_mixed_result,
    a_problem,
    a_result,
    an_empty_result,
    an_open_result,
    hostile,
)
from tests.helpers.gradescope import checked
from tests.helpers.report import a_part


def test_the_file_of_a_result(golden) -> None:
    golden("gradescope-results.json", results_json(a_mixed_result()).decode())


def test_every_part_is_a_test_and_the_score_is_their_sum() -> None:
    document = checked(results_json(a_mixed_result()))
    assert [t["number"] for t in document["tests"]] == ["1.1", "1.2", "2.1", "2.2"]
    assert document["score"] == sum(t["score"] for t in document["tests"]) == 4.25
    assert [t["status"] for t in document["tests"]] == ["passed", "failed", "failed", "failed"]


def test_an_open_part_has_no_score_and_the_text_says_so() -> None:
    document = checked(results_json(an_open_result()))
    assert document["score"] == 2
    assert "score" not in document["tests"][1]
    assert "status" not in document["tests"][1]
    assert "q1_why" in document["output"]
    assert document["extra_data"]["complete"] is False
    assert "q1_why" in export_notes(an_open_result(), Tiers())[0]


def test_nothing_to_read_is_told_and_what_waits_is_no_result() -> None:
    refused = an_empty_result(Standing.REFUSED, refusal="the file is a PDF")
    for result, said in ((an_empty_result(), "no notebook"), (refused, "the file is a PDF")):
        document = json.loads(results_json(result))
        assert said in document["output"]
        assert "score" not in document
    with pytest.raises(SetupError, match="not graded yet"):
        results_json(an_empty_result(Standing.WAITING))


def test_tiers_say_who_sees_what() -> None:
    part = a_part("q1_size", accepted_answer="**28 GB**")
    result = a_result(a_problem(1, part, solution="So it is."), is_published=True)
    document = checked(results_json(result))
    assert [t["visibility"] for t in document["tests"]] == ["visible", "after_published"]
    assert "28 GB" in document["tests"][1]["output"]
    assert "hides the total" in export_notes(result, Tiers())[0]
    hidden = Tiers(marks=Visibility.AFTER_DUE, solutions=Visibility.STAFF, output=Visibility.ALWAYS)
    document = checked(results_json(result, tiers=hidden))
    assert [t["visibility"] for t in document["tests"]] == ["after_due_date", "hidden"]
    assert document["stdout_visibility"] == "visible"


def test_unpublished_results_have_no_solution() -> None:
    # `reveal` gives none; and if one did come, it would stay here.
    result = a_result(
        a_problem(1, a_part("q1_size", accepted_answer="28"), solution="x"), is_published=False
    )
    assert len(checked(results_json(result))["tests"]) == 1
    assert export_notes(result, Tiers()) == ()


@given(hostile)
def test_students_words_stay_words(text: str) -> None:
    document = checked(results_json(a_hostile_result(text)))
    for test in document["tests"]:
        assert test["output_format"] == "text"
        assert "\x1b" not in test["output"]
    assert "\x1b" not in document["output"]
    json.dumps(document, ensure_ascii=False).encode()


NOW = datetime.fromisoformat("2026-11-02T12:00:00.000000-08:00")


def before(minutes: float) -> str:
    return (NOW - timedelta(minutes=minutes)).isoformat()


def metadata(*earlier: dict[str, Any]) -> dict[str, Any]:
    return {"id": 1, "created_at": NOW.isoformat(), "previous_submissions": list(earlier)}


def an_earlier(minutes: float, **changes: Any) -> dict[str, Any]:
    fields = {"submission_time": before(minutes), "score": 3.0, "autograder_error": False}
    return {**fields, **changes}


def test_the_first_submission_counts() -> None:
    assert rate_refusal({"created_at": NOW.isoformat()}, most=1, minutes=60) is None
    assert rate_refusal(metadata(), most=1, minutes=60) is None


def test_one_more_than_allowed_is_too_soon_and_keeps_the_score() -> None:
    given_ = metadata(an_earlier(50), an_earlier(10, score="4.5"))
    assert rate_refusal(given_, most=3, minutes=60) is None
    found = rate_refusal(given_, most=2, minutes=60)
    assert found
    assert (NOW + timedelta(minutes=10)).isoformat(timespec="seconds") in found.sentence
    document = checked(found.results_json())
    assert document["score"] == 4.5
    assert "2 submissions within 60 minutes" in document["output"]


def test_what_lies_longer_back_does_not_count() -> None:
    given_ = metadata(an_earlier(60), an_earlier(61))
    assert rate_refusal(given_, most=1, minutes=60) is None


def test_our_own_failures_do_not_count() -> None:
    assert rate_refusal(metadata(an_earlier(5, autograder_error=True)), most=1, minutes=60) is None


def test_times_are_compared_with_the_submission_s_and_not_with_now() -> None:
    # Graded again years later, or after hours in a queue, the answer is the same.
    old = {
        "created_at": "2020-01-01T10:00:00Z",
        "previous_submissions": [{"submission_time": "2020-01-01T01:59:00-08:00", "score": 1}],
    }
    assert rate_refusal(old, most=1, minutes=2)
    assert rate_refusal(old, most=1, minutes=1) is None


def test_what_was_too_soon_itself_does_not_count() -> None:
    """A student who tries every five minutes is graded every hour, not never."""
    graded, counted = 0, 0
    earlier: list[dict[str, Any]] = []
    start = NOW
    for minutes in range(0, 24 * 60, 5):
        when = start + timedelta(minutes=minutes)
        given_ = {"created_at": when.isoformat(), "previous_submissions": earlier}
        refused = rate_refusal(given_, most=1, minutes=60)
        if refused:
            data = refused.results_json()
        else:
            graded += 1
            data = results_json(a_mixed_result(), counted=counted_runs(given_, minutes=60))
        document = checked(data)
        assert document["score"] == 4.25
        # Gradescope keeps the results of the latest alone.
        earlier = [{k: v for k, v in one.items() if k != "results"} for one in earlier]
        latest = {"submission_time": when.isoformat(), "score": document["score"]}
        earlier.append({**latest, "results": document, "autograder_error": False})
        counted += 1
    assert graded == 24
    assert counted == 288


def test_a_run_that_does_not_finish_leaves_the_limit_as_it_is() -> None:
    first, second = an_earlier(50), an_earlier(40)
    first["results"] = {"extra_data": {"counted": [before(50)]}}
    second["results"] = {"extra_data": {"counted": [before(50), before(40)]}}
    text = ungraded_result("Grading did not finish.", unfinished=True)
    unfinished = an_earlier(30, score=None, results=json.loads(text))
    assert rate_refusal(metadata(first, second, unfinished), most=2, minutes=60)
    assert rate_refusal(metadata(first, unfinished), most=2, minutes=60) is None


def test_an_error_does_not_make_submissions_count_that_were_too_soon() -> None:
    first, refused = an_earlier(70), an_earlier(20)
    first["results"] = {"extra_data": {"counted": [before(70)]}}
    refused["results"] = {"extra_data": {"too_soon": True, "counted": [before(70)]}}
    error = an_earlier(10, score=None, autograder_error=True, results=None)
    assert rate_refusal(metadata(first, refused, error), most=1, minutes=60) is None
    later = an_earlier(5)  # without a list of its own, such as of an earlier version
    assert earlier_counted_runs(metadata(refused, error, later)) == (before(70), before(5))


@pytest.mark.parametrize("broken", [{}, {"created_at": "yesterday"}, {"created_at": None}])
def test_metadata_without_a_time_is_said(broken: dict[str, Any]) -> None:
    with pytest.raises(SetupError, match=r"submission_metadata\.json"):
        rate_refusal(broken, most=1, minutes=60)


def test_odd_metadata_is_no_crash() -> None:
    earlier = [None, 1, {"score": {}}]
    odd: dict[str, Any] = {"created_at": NOW.isoformat(), "previous_submissions": earlier}
    assert rate_refusal(odd, most=1, minutes=60) is None
    odd["previous_submissions"] = [an_earlier(1, results=[], score="x")]
    found = rate_refusal(odd, most=1, minutes=60)
    assert found
    assert found.score is None
    document = json.loads(found.results_json())
    assert "score" not in document
    assert all("score" not in test for test in document["tests"])
    assert "last score" not in document["output"]
    assert document["extra_data"]["counted"] == [odd["previous_submissions"][0]["submission_time"]]


def test_a_wrong_part_is_failed_and_a_right_one_passed() -> None:
    part = a_part("q1_size", points=0.0, verdict=Verdict.INCORRECT)
    assert checked(results_json(a_result(a_problem(1, part))))["tests"][0]["status"] == "failed"
