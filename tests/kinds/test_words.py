"""Answers in words: short texts that are compared, and explanations that a person reads."""

from __future__ import annotations

import time
from typing import Any

import pytest

from grader.kinds import kinds
from grader.kinds.short_text import TextMistake
from grader.model import Verdict
from tests.helpers.kinds import (
    a_key,
    a_short_text,
    an_explanation,
    is_blank,
    judged,
    refused,
    said,
)

TEXT, EXPLANATION = kinds.find("short_text"), kinds.find("explanation")


@pytest.mark.parametrize(
    ("match", "accept", "right", "wrong"),
    [
        ("casefold", ("all-reduce",), ["All-Reduce", " ALL-REDUCE\n"], ["all reduce", "reduce"]),
        ("casefold", ("straße",), ["STRASSE", "straße"], ["strase"]),
        ("casefold", ("flash  attention",), ["Flash Attention", "flash\n attention"], ["flash"]),
        ("exact", ("NCCL", "nccl"), ["NCCL", "nccl", " NCCL "], ["Nccl"]),
        ("regex", ("(?i)all[- ]?reduce",), ["AllReduce", "all-reduce"], ["an all-reduce", "all"]),
        ("regex", ("fp{{ gpus }}", "half"), ["fp16", "half"], ["fp32", "{{ gpus }}"]),
    ],
)  # fmt: skip
def test_texts_are_compared_as_the_part_says(
    match: str, accept: tuple[str, ...], right: list[str], wrong: list[str]
) -> None:
    key = a_key(a_short_text(match=match, accept=accept, mistakes=(), example=right[0]))
    assert [judged(key, text).verdict for text in right] == [Verdict.CORRECT] * len(right)
    assert [judged(key, text).verdict for text in wrong] == [Verdict.INCORRECT] * len(wrong)


def test_letters_that_look_alike_are_the_same_letter() -> None:
    key = a_key(a_short_text(accept=("fp16",), mistakes=()))
    assert judged(key, "\uff46\uff50\uff11\uff16").share == 1


def test_a_named_mistake_has_its_feedback_and_credit() -> None:
    mistake = TextMistake(
        id="gather", accept=("all-gather",), feedback="Not on {{ gpus }} GPUs.", credit=0.5
    )
    judgment = judged(a_key(a_short_text(mistakes=(mistake,))), "All-Gather")
    assert judgment.verdict is Verdict.MISTAKE
    assert (judgment.mistake, judgment.share) == ("gather", 0.5)
    assert judgment.note == "Not on 16 GPUs."


@pytest.mark.parametrize("answer", [16, True, None, ["all-reduce"], len])
def test_what_is_no_text_is_unreadable(answer: object) -> None:
    assert "a short text in quotes" in refused(a_key(a_short_text()), answer)


def test_empty_texts_and_dots_are_no_answer() -> None:
    key = a_key(a_short_text())
    assert is_blank(key, "")
    assert is_blank(key, " \n ")
    assert is_blank(key, "...")
    assert is_blank(key, ...)
    assert "600 characters" in refused(key, "y" * 600)


def test_the_students_own_text_is_said_back_in_one_line_and_in_full() -> None:
    key = a_key(a_short_text())
    assert said(key, "all\nreduce " + "x" * 200) == "all reduce " + "x" * 200
    assert said(key, 'the "ring"') == 'the "ring"'


@pytest.mark.parametrize(
    "written",
    [
        "All\u2010Reduce",
        "all\u2011reduce.",
        "all\u2013reduce",
        "all\u2212reduce .",
        "all\uff0dreduce",
    ],
)
def test_typeset_dashes_and_a_full_stop_do_not_count_unless_the_match_is_exact(
    written: str,
) -> None:
    accept = ("all-reduce",)
    assert judged(a_key(a_short_text(accept=accept)), written).share == 1
    exact = a_key(a_short_text(accept=accept, match="exact", mistakes=()))
    # Full-width letters and signs are one form of the same character in every mode.
    assert judged(exact, written).share == ("\uff0d" in written)


@pytest.mark.parametrize("written", ['Amdahl\'s "law"', "amdahl\u2019s \u201claw\u201d."])
def test_typeset_quotes_do_not_count(written: str) -> None:
    for accepted in ('Amdahl\'s "law"', "Amdahl\u2018s \u201dlaw\u201d"):
        assert judged(a_key(a_short_text(accept=(accepted,), mistakes=())), written).share == 1


def test_a_mistake_is_recognised_in_typeset_form_too() -> None:
    assert judged(a_key(a_short_text()), "All\u2013Gather.").mistake == "gather"


def test_a_pattern_that_takes_for_ever_costs_nobody_a_point() -> None:
    hungry = r"(.*)(.*)(.*)(.*)(.*)(.*)[^a]\1"
    key = a_key(a_short_text(match="regex", accept=(hungry,), example="b", mistakes=()))
    started = time.process_time()
    judgment = judged(key, "a" * 300)
    assert time.process_time() - started < 5
    assert (judgment.verdict, judgment.share) == (Verdict.UNSETTLED, None)


def test_a_pattern_needs_an_example_and_the_gate_finds_one_that_is_missing() -> None:
    key = a_key(a_short_text(match="regex", accept=("bf?16",), mistakes=()))
    right = TEXT.examples(key)[0]
    assert (right.share, judged(key, right.raw["v"]).share) == (1, 0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"accept": ()}, "empty"), ({"match": "regex", "accept": ("(",), "mistakes": ()}, "pattern")],
)
def test_texts_that_cannot_be_compared_are_the_authors_error(
    changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        TEXT.examples(a_key(a_short_text(**changes)))


def test_a_pattern_that_accepts_everything_is_the_authors_error() -> None:
    key = a_key(a_short_text(match="regex", accept=(".*",), example="x", mistakes=()))
    with pytest.raises(ValueError, match="every text"):
        TEXT.examples(key)


def test_the_explanation_shows_alternatives_but_no_patterns() -> None:
    assert TEXT.explain(a_key(a_short_text())) == (
        "**all-reduce**; also accepted: all reduce, allreduce"
    )
    key = a_key(a_short_text(match="regex", accept=("(?i)a+b",), example="ab", mistakes=()))
    assert "(?i)" not in TEXT.explain(key)


def test_an_explanation_waits_for_a_person() -> None:
    judgment = judged(a_key(an_explanation()), "The link is the bottleneck.")
    assert (judgment.share, judgment.verdict) == (None, Verdict.UNSETTLED)
    assert "manual grading" in judgment.note
    assert said(a_key(an_explanation()), "one two\n\n  three") == "one two three"


def test_an_explanation_is_said_back_in_full_as_far_as_2000_characters() -> None:
    key = a_key(an_explanation())
    assert said(key, "word " * 300) == ("word " * 300).strip()
    long = said(key, "word " * 3000)
    assert len(long) == 2000
    assert long.endswith("…")


def test_an_explanation_has_words_of_the_students_own() -> None:
    key = a_key(an_explanation())
    assert is_blank(key, "\n...\n")
    assert is_blank(key, "")
    assert is_blank(key, ...)
    assert "at least 3 words" in refused(key, "too short")
    assert "at least 3 words" in refused(key, 42)
    assert EXPLANATION.read({"t": "str", "v": "\n...\nIt is slow.\n"}, key) == "It is slow."


def test_a_long_explanation_is_kept_and_says_that_it_was_cut() -> None:
    raw = {"t": "str", "v": "word " * 2000, "cut": True}
    assert EXPLANATION.read(raw, a_key(an_explanation())).endswith("[…]")


def test_a_rubric_has_the_variants_numbers_and_may_be_missing() -> None:
    assert EXPLANATION.explain(a_key(an_explanation())) == "Full marks for 16 GPUs."
    assert EXPLANATION.explain(a_key(an_explanation(rubric=""))) == "This part is graded manually."


def test_no_word_of_a_rubric_or_a_text_is_carried_into_later_parts() -> None:
    assert EXPLANATION.carry_value(None, a_key(an_explanation())) is None
    assert TEXT.carry_value("all-reduce", a_key(a_short_text())) is None
