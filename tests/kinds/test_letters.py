"""Answers by letter: choice, multi_choice, true_false, ordering and matching."""

from __future__ import annotations

import contextlib
import itertools
import random
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.kinds import Unreadable, kinds
from grader.kinds.answers import carried_answer
from grader.kinds.lettered import Item
from grader.kinds.matching import MatchItem
from grader.kinds.multi_choice import each_option, net_correct
from grader.kinds.options import AnswerOption
from grader.kinds.ordering import all_or_nothing, longest_run, pair_share
from grader.model import Key, Part, Verdict
from grader.notebook.render.answer_cells import choices_text, placeholder
from grader.wire.encoding import encode_answer
from tests.helpers.kinds import (
    COMPUTED,
    FORMATS,
    REASONS,
    SHARDED,
    STEPS,
    a_choice,
    a_draw,
    a_key,
    a_matching,
    a_multi_choice,
    a_numeric,
    a_reasoned_claim,
    a_table,
    a_true_false,
    an_ordering,
    is_blank,
    judged,
    refused,
    said,
)

CHOICE, ORDERING, MATCHING = (kinds.find(k) for k in ("choice", "ordering", "matching"))


def unshuffled() -> Key:
    """A is bfloat16 and right, B float32, C 8-bit float, D int4."""
    return a_key(a_choice(shuffle=False))


# ---- choice


@pytest.mark.parametrize(
    "written",
    [
        "A",
        "a",
        " A) ",
        "(A)",
        "A.",
        "a:",
        "bfloat16",
        "  BFloat16 ",
        "A) bfloat16",
        "option A",
        "Option a)",
        "answer: A",
        "the answer is a.",
        "choice=A",
        "option A) bfloat16",
    ],
)
def test_a_letter_is_read_in_any_dress(written: str) -> None:
    assert judged(unshuffled(), written).verdict is Verdict.CORRECT


def test_a_text_of_one_letter_that_is_no_option_is_that_text() -> None:
    key = a_key(
        a_choice(
            options=(AnswerOption(text="x", correct=True), AnswerOption(text="n")), shuffle=False
        )
    )
    assert judged(key, "x").verdict is Verdict.CORRECT
    assert judged(key, "B").verdict is Verdict.INCORRECT


def test_what_was_chosen_is_said_with_its_text() -> None:
    assert said(unshuffled(), "b") == "B (float32)"


@pytest.mark.parametrize("written", ["E", "AB", "A or B", "float", "A) float32", "?"])
def test_what_is_no_letter_that_stands_there_is_unreadable(written: str) -> None:
    assert "A to D" in refused(unshuffled(), written)


def test_a_wrong_option_with_feedback_is_a_mistake_by_its_id() -> None:
    judgment = judged(unshuffled(), "B")
    assert judgment.verdict is Verdict.MISTAKE
    assert (judgment.mistake, judgment.share) == ("float32", 0.5)
    assert judgment.note == "That has 4 bytes."
    assert judged(unshuffled(), "C").note == "That has 1 byte, not 2."


def test_a_wrong_option_without_feedback_is_just_wrong() -> None:
    judgment = judged(unshuffled(), "D")
    assert (judgment.verdict, judgment.mistake) == (Verdict.INCORRECT, None)


def test_which_option_is_right_may_depend_on_the_numbers() -> None:
    options = (
        AnswerOption(id="few", text="Few", correct="gpus <= 8"),
        AnswerOption(id="many", text="Many", correct="gpus > 8"),
    )

    def right(gpus: int) -> object:
        key = a_key(a_choice(options=options), gpus=gpus)
        return carried_answer(CHOICE, key)

    assert (right(8), right(16)) == ("few", "many")


def test_a_computed_option_is_printed_with_its_unit_and_digits() -> None:
    options = (
        AnswerOption(id="a", value="weights / 3", unit="GB", digits=2, correct=True),
        AnswerOption(id="b", value="weights / 3", unit="MB"),
    )
    texts = choices_text(a_key(a_choice(options=options, shuffle=False)))
    assert texts == "- **A.** 4.7 GB\n- **B.** 4667 MB"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((AnswerOption(text="x"), AnswerOption(text="y")), "none is"),
        (
            (AnswerOption(text="x", correct=True), AnswerOption(text="y", correct=True)),
            "'x' and 'y'",
        ),
        ((AnswerOption(text="x", correct=True),), "2 to 26"),
        (
            (AnswerOption(text="x", correct=True), AnswerOption(text=" X ", id="other")),
            "two of the choices",
        ),
        ((AnswerOption(text="x y", correct=True), AnswerOption(text="x-y")), "have the id"),
        ((AnswerOption(text="A", correct=True), AnswerOption(text="no")), "mistaken for"),
        ((AnswerOption(value=1, correct=True), AnswerOption(text="no")), "needs an 'id'"),
        ((AnswerOption(text="{{ gpus }}", correct=True), AnswerOption(text="no")), "needs an 'id'"),
        ((AnswerOption(id="x", correct=True), AnswerOption(text="no")), "either 'text' or 'value'"),
    ],
)
def test_options_that_cannot_be_judged_are_the_authors_error(
    options: tuple[AnswerOption, ...], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        CHOICE.examples(a_key(a_choice(options=options)))


def test_two_computed_options_that_come_out_alike_are_the_authors_error() -> None:
    options = (
        AnswerOption(id="half", value="weights / 2", unit="GB", correct=True),
        AnswerOption(id="shared", value="weights / gpus", unit="GB"),
    )
    with pytest.raises(ValueError, match="7 gb"):
        a_key(a_choice(options=options), gpus=2)


def test_the_sheet_tells_no_ids_since_they_may_tell_the_answer() -> None:
    assert "right" not in str(CHOICE.sheet(a_key(a_choice(options=COMPUTED))))


# ---- multi_choice


@pytest.mark.parametrize(
    "answer",
    [
        ["A", "B", "C"],
        ("c", "b", "a"),
        {"A", "B", "C"},
        "ABC",
        "a, b, c",
        "A B C",
        "A and B and C",
        "A; B & C",
        "(A), (B), C)",
        ["parameters", "gradients", "optimizer state"],
        ["A", "A", "B", "C"],
        np.array(["A", "B", "C"]),
        np.array(["c", "a", "b"], dtype=object),
    ],
)
def test_several_letters_are_read_in_any_dress(answer: object) -> None:
    assert judged(a_key(a_multi_choice()), answer).verdict is Verdict.CORRECT


def test_letters_are_read_from_a_text_of_any_length() -> None:
    key = a_key(a_multi_choice())
    assert said(key, "AB, " * 2_500) == said(key, "AB")


def test_choosing_nothing_is_an_answer_and_leaving_it_blank_is_none() -> None:
    key = a_key(a_multi_choice(options=SHARDED[3:]))
    assert judged(key, []).verdict is Verdict.CORRECT
    assert judged(key, set()).verdict is Verdict.CORRECT
    assert judged(key, "none").verdict is Verdict.CORRECT
    assert said(key, []) == "none of them"
    assert is_blank(key, ...)
    assert is_blank(key, "")
    assert is_blank(key, [...])


@pytest.mark.parametrize(
    "answer", ["none", "None.", "none of them", "none of the above", ["none"], {"None of them"}]
)
def test_none_of_them_is_said_in_words_too(answer: object) -> None:
    assert said(a_key(a_multi_choice()), answer) == "none of them"


def test_an_option_that_reads_none_of_them_is_chosen_by_its_text() -> None:
    options = (AnswerOption(text="none of the above", correct=True), AnswerOption(text="something"))
    key = a_key(a_multi_choice(options=options))
    assert said(key, "None of the above") == "A"
    assert said(key, ["none of the above"]) == "A"
    assert said(key, "none") == "none of them"


def test_an_option_that_starts_like_a_label_is_read_by_its_text() -> None:
    options = (AnswerOption(text="option B", id="x", correct=True), AnswerOption(text="other"))
    key = a_key(a_choice(options=options, shuffle=False))
    assert said(key, "option b") == "A (option B)"


@pytest.mark.parametrize(
    "answer",
    [
        ["A", "Z"],
        np.array([["A"], ["B"]]),
        np.ones(3),
        ["A", ...],
        ["A", 1],
        "A, Z",
        1,
        None,
        {"A": 1},
    ],
)
def test_what_is_no_list_of_letters_is_unreadable(answer: object) -> None:
    assert not is_blank(a_key(a_multi_choice()), answer)
    assert refused(a_key(a_multi_choice()), answer)


# The table of the reference: three of five are right (A, B, C).
RULES = [
    # chosen, all-or-nothing, each-option, net-correct
    ("ABC", 1, 1, 1),
    ("AB", 0, 4 / 5, 2 / 3),
    ("ABCD", 0, 4 / 5, 2 / 3),
    ("ABD", 0, 3 / 5, 1 / 3),
    ("AD", 0, 2 / 5, 0),
    ("", 0, 2 / 5, 0),
    ("ABCDE", 0, 3 / 5, 1 / 3),
    ("DE", 0, 0, 0),
]


@pytest.mark.parametrize(("chosen", "nothing", "each", "net"), RULES)
def test_the_named_rules_give_part_credit(
    chosen: str, nothing: float, each: float, net: float
) -> None:
    found = [
        judged(a_key(a_multi_choice(rule=rule)), list(chosen)).share
        for rule in ("all-or-nothing", "each-option", "net-correct")
    ]
    assert found == pytest.approx([nothing, each, net])


letters = st.frozensets(st.sampled_from("ABCDE"))


@given(chosen=letters, right=letters)
def test_no_rule_gives_everything_for_less_than_the_right_options(
    chosen: frozenset[str], right: frozenset[str]
) -> None:
    for rule in (each_option, net_correct):
        earned = rule(chosen, right, 5)
        assert 0 <= earned <= 1
        assert (earned == 1) == (chosen == right)


def test_choosing_everything_earns_nothing_net_when_half_are_wrong() -> None:
    assert net_correct(frozenset("ABCD"), frozenset("AB"), 4) == 0


def test_an_option_chosen_wrongly_speaks_up() -> None:
    judgment = judged(a_key(a_multi_choice(rule="net-correct")), "ABCD")
    assert judgment.verdict is Verdict.PARTIAL
    assert judgment.mistake == "acts"
    assert judgment.note == "Activations stay where they are."
    assert judged(a_key(a_multi_choice()), "ABCD").verdict is Verdict.MISTAKE


def test_the_right_answer_says_why_options_are_right() -> None:
    options = (
        AnswerOption(text="parameters", correct=True, feedback="Each GPU holds a share."),
        AnswerOption(text="activations", feedback="They stay where they are."),
        AnswerOption(text="gradients", correct="gpus > 1", feedback="A single GPU shards nothing."),
    )
    key = a_key(a_multi_choice(options=options))
    _, reasons = kinds.find("multi_choice").explain(key).split("\n\n")
    assert reasons == "**A.** Each GPU holds a share."
    judgment = judged(key, "B")
    assert judgment.note == "They stay where they are.", "a missing option is not given away"


def test_a_single_option_has_no_credit_of_its_own_among_several() -> None:
    with pytest.raises(ValueError, match="'rule' sets the points"):
        a_key(a_multi_choice(options=FORMATS))


# ---- true_false


@pytest.mark.parametrize("answer", [True, np.bool_(1), "true", "True.", "T", "yes", "Y"])
def test_a_claim_is_affirmed_in_any_dress(answer: object) -> None:
    assert judged(a_key(a_true_false()), answer).verdict is Verdict.CORRECT


@pytest.mark.parametrize("answer", [1, 0, 1.0, "1", "maybe", None, [True]])
def test_a_number_is_no_truth_value(answer: object) -> None:
    assert "give True or False" in refused(a_key(a_true_false()), answer)


def test_the_truth_may_depend_on_the_numbers() -> None:
    key = a_key(a_true_false(answer="gpus > 16", feedback="There are {{ gpus }}."))
    judgment = judged(key, True)
    assert (judgment.verdict, judgment.note) == (Verdict.INCORRECT, "There are 16.")


def test_a_claim_whose_answer_is_a_number_is_the_authors_error() -> None:
    with pytest.raises(ValueError, match="true or false"):
        a_key(a_true_false(answer="gpus"))


def reason(key: Key, option: str) -> str:
    """The letter of a reason."""
    return next(c.letter for c in key.choices if c.id == option)  # type: ignore[attr-defined]


@pytest.mark.parametrize("form", ["{}, {}", "{} {}", "{}: {}", "{} because {}", "{}; ({})"])
def test_a_claim_and_its_reason_are_read_from_one_text(form: str) -> None:
    key = a_key(a_reasoned_claim())
    for truth in ("True", "true", "T", "yes"):
        answer = form.format(truth, reason(key, "small"))
        assert judged(key, answer).verdict is Verdict.CORRECT, answer


@pytest.mark.parametrize("text", ["N/A", "n/a", "T/F", "n/a A"])
def test_a_text_with_a_slash_does_not_say_whether_the_claim_is_true(text: str) -> None:
    with pytest.raises(Unreadable, match="is neither true nor false"):
        judged(a_key(a_reasoned_claim()), text)


@pytest.mark.parametrize(
    ("truth", "option", "share", "verdict"),
    [
        (True, "small", 1, Verdict.CORRECT),
        (True, "shared", 0.75, Verdict.PARTIAL),
        (True, "streamed", 0.75, Verdict.PARTIAL),
        (True, None, 0.75, Verdict.PARTIAL),
        (False, "small", 0, Verdict.INCORRECT),
        (False, "shared", 0, Verdict.MISTAKE),
        (False, None, 0, Verdict.INCORRECT),
        (None, "small", 0, Verdict.INCORRECT),
    ],
)
def test_the_reason_counts_only_with_the_right_answer(
    truth: bool | None, option: str | None, share: float, verdict: Verdict
) -> None:
    key = a_key(a_reasoned_claim(reason_share=0.25))
    answer = [... if truth is None else truth, ... if option is None else reason(key, option)]
    judgment = judged(key, answer)
    assert (judgment.share, judgment.verdict) == (share, verdict)
    assert judgment.mistake == ("shared" if option == "shared" else None)


def test_feedback_names_what_the_wrong_reason_confuses() -> None:
    key = a_key(a_reasoned_claim(feedback="They fit."))
    shared = reason(key, "shared")
    assert judged(key, [True, shared]).note == "True is right. They are replicated."
    assert judged(key, [False, shared]).note == "They fit. They are replicated."
    assert "does not count" in judged(key, [False, reason(key, "small")]).note
    assert judged(key, True).note == "True is right. The reason is missing."


def test_an_unreadable_reason_costs_only_the_reason() -> None:
    judgment = judged(a_key(a_reasoned_claim()), [True, "Z"])
    assert judgment.share == 0.5
    assert "is not one of the letters A to C" in judgment.note


def test_an_unreadable_truth_or_an_empty_reason_is_said() -> None:
    key = a_key(a_reasoned_claim())
    judgment = judged(key, ["maybe", reason(key, "small")])
    assert judgment.share == 0
    assert "is neither true nor false" in judgment.note
    assert judged(key, [True, None]).note == "True is right. The reason is missing."


def test_reports_show_a_claim_and_its_reason_even_if_one_is_missing() -> None:
    key = a_key(a_reasoned_claim())
    kind, letter = kinds.find("true_false"), reason(key, "small")
    for truth, shown in ((True, "True"), (..., "blank"), ("maybe", "unreadable")):
        raw = encode_answer([truth, letter])
        assert kind.format_value(kind.read(raw, key), key).startswith(f"{shown}, reason {letter}")


@pytest.mark.parametrize("answer", [[True, "A", "B"], [], "perhaps A", 1, ["maybe", 3]])
def test_what_is_neither_a_truth_nor_a_reason_is_refused(answer: object) -> None:
    assert refused(a_key(a_reasoned_claim()), answer)


def test_a_wrong_set_of_reasons_is_the_authors_error() -> None:
    for change in (
        {"reasons": REASONS[1:]},
        {"reasons": (*REASONS, replace(REASONS[0], id="again", text="It does."))},
        {"reasons": REASONS[:1]},
        {"reasons": (REASONS[0], replace(REASONS[1], credit=0.5))},
    ):
        with pytest.raises(ValueError, match=r"reason|choices"):
            a_key(a_reasoned_claim(**change))


def test_a_claim_that_a_later_part_uses_is_true_or_false_whatever_the_reason() -> None:
    key = a_key(a_reasoned_claim())
    assert kinds.find("true_false").carry_value((True, "A"), key) is True
    assert carried_answer(kinds.find("true_false"), key) is True


# ---- ordering


def order_of(key: Key, ids: str) -> list[str]:
    """The letters of items, given by the first letters of their ids."""
    letters = {c.id[0]: c.letter for c in key.choices}  # type: ignore[attr-defined]
    return [letters[i] for i in ids]


def test_an_order_is_read_as_a_list_or_a_text() -> None:
    key = a_key(an_ordering())
    order = order_of(key, "lfbu")
    forms = [
        order,
        tuple(order),
        np.array(order),
        "".join(order),
        "".join(order).lower(),
        " -> ".join(order),
    ]
    for form in forms:
        assert judged(key, form).verdict is Verdict.CORRECT, form


def test_an_order_names_every_letter_once() -> None:
    key = a_key(an_ordering())
    assert refused(key, ["A", "B", "C"]) == "D is missing; give every letter once."
    assert refused(key, ["A", "B"]) == "C, D are missing; give every letter once."
    assert refused(key, "ABCDA") == "A appears more than once; give every letter once."
    assert "no order" in refused(key, {"A", "B", "C", "D"})
    assert "one of the letters" in refused(key, "ABCX")


DIAMOND = (("load", "forward", "update"), ("load", "backward", "update"))


def test_every_order_that_respects_the_dependencies_is_right() -> None:
    key = a_key(an_ordering(order=DIAMOND))
    right = {"lfbu", "lbfu"}
    for order in itertools.permutations("lfbu"):
        share = judged(key, order_of(key, "".join(order))).share
        assert (share == 1) == ("".join(order) in right), order


@pytest.mark.parametrize(
    ("order", "run", "paired"),
    # In the order l f b u: the longest stretch that is in order, and the pairs out of 6.
    [("lfbu", 1, 1), ("fbul", 3 / 4, 3 / 6), ("lbfu", 2 / 4, 5 / 6), ("flub", 2 / 4, 4 / 6),
     ("lufb", 2 / 4, 4 / 6), ("ubfl", 0, 0), ("fblu", 2 / 4, 4 / 6)],
)  # fmt: skip
def test_part_credit_for_an_order_goes_by_a_named_rule(
    order: str, run: float, paired: float
) -> None:
    found = []
    for rule in ("all-or-nothing", "longest-run", "pairs"):
        key = a_key(an_ordering(credit=rule))
        found.append(judged(key, order_of(key, order)).share)
    assert found == pytest.approx([float(order == "lfbu"), run, paired])


@pytest.mark.thorough
@given(st.permutations("ABCDE"), st.sets(st.tuples(*[st.sampled_from("ABCDE")] * 2), min_size=1))
def test_no_rule_gives_everything_for_a_wrong_order(
    order: list[str], some: set[tuple[str, str]]
) -> None:
    before = frozenset((a, b) for a, b in some if a < b) or frozenset({("A", "B")})
    whole = all_or_nothing(order, before)
    for rule in (longest_run, pair_share):
        assert 0 <= rule(order, before) <= 1
        assert (rule(order, before) == 1) == (whole == 1)


def test_reading_down_what_is_shown_is_not_a_right_order() -> None:
    for seed in range(200):
        key = a_key(an_ordering(order=DIAMOND), seed)
        assert judged(key, "ABCD").share == 0, seed


@pytest.mark.parametrize(
    ("order", "said"),
    [
        ((), "empty"),
        ((("load",),), "at least two"),
        ((("load", "fly"),), "'fly'"),
        ((("load", "forward"), ("forward", "backward", "load")), "before itself"),
    ],
)
def test_an_order_that_cannot_be_kept_is_the_authors_error(
    order: tuple[tuple[str, ...], ...], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        a_key(an_ordering(order=order))


def test_an_explained_order_says_whether_others_are_right_too() -> None:
    assert "other orders" not in ORDERING.explain(a_key(an_ordering()))
    assert "other orders" in ORDERING.explain(a_key(an_ordering(order=DIAMOND)))


# ---- matching


def pairs_of(key: Key, ids: str) -> dict[int, str]:
    """The letters of targets, given by the first letters of their ids, by item number."""
    letters = {c.id[0]: c.letter for c in key.choices}  # type: ignore[attr-defined]
    return {n: letters[i] for n, i in enumerate(ids, 1)}


def test_matches_are_read_as_a_dict_a_list_or_a_text() -> None:
    key = a_key(a_matching())
    right = pairs_of(key, "agp")
    forms = [
        right,
        {str(n): letter.lower() for n, letter in right.items()},
        {float(n): letter for n, letter in right.items()},
        np.array(list(right.values())),
        list(right.values()),
        "".join(right.values()),
        " ".join(f"{n}{letter}" for n, letter in right.items()),
        ", ".join(f"{n}: {letter}" for n, letter in reversed(right.items())),
        "; ".join(f"({n} -> {letter})" for n, letter in right.items()),
        {1: "the adam", 2: "the grads", 3: "the params"},
    ]
    for form in forms:
        assert judged(key, form).verdict is Verdict.CORRECT, form


def test_every_match_counts_and_a_blank_one_costs_only_itself() -> None:
    key = a_key(a_matching())
    right = pairs_of(key, "agp")
    assert judged(key, pairs_of(key, "aga")).share == pytest.approx(2 / 3)
    for answer in ({1: right[1], 2: right[2]}, {**right, 3: ...}, {**right, 3: None}):
        judgment = judged(key, answer)
        assert judgment.share == pytest.approx(2 / 3)
        assert judgment.verdict is Verdict.PARTIAL
        assert judgment.cells == {"1": "correct", "2": "correct", "3": "absent"}


def test_an_unreadable_match_costs_only_itself_and_is_named() -> None:
    key = a_key(a_matching())
    judgment = judged(key, {**pairs_of(key, "agp"), 2: "Z"})
    assert judgment.share == pytest.approx(2 / 3)
    assert judgment.cells["2"] == "unreadable"
    assert 'Item 2: "Z" is not one of the letters A to D' in judgment.note


def test_matches_for_items_that_are_not_there_are_unreadable() -> None:
    key = a_key(a_matching())
    assert "numbered 1 to 3" in refused(key, {0: "A", 1: "B", 2: "C"})
    assert "numbered 1 to 3" in refused(key, "4A")
    assert "numbered 1 to 3" in refused(key, {1.5: "A"})
    assert "numbered 1 to 3" in refused(key, {0.0: "A"})
    assert "4 letters" in refused(key, ["A", "B", "C", "D"])
    assert "can't be read" in refused(key, "A is first")


def test_a_long_text_takes_no_time_to_be_no_matches() -> None:
    key = a_key(a_matching())
    began = time.process_time()
    assert "can't be read" in refused(key, "1" + " " * 9_987 + "1")
    assert time.process_time() - began < 0.3


def test_a_dict_left_as_it_was_is_blank() -> None:
    key = a_key(a_matching())
    assert placeholder(key) == "{1: ..., 2: ..., 3: ...}"
    assert is_blank(key, {1: ..., 2: ..., 3: ...})
    assert is_blank(key, {})


def test_a_target_may_belong_to_several_items() -> None:
    items = tuple(MatchItem(id=i, text=i, match="adam") for i in ("x", "y"))
    key = a_key(a_matching(items=items))
    assert judged(key, pairs_of(key, "aa")).share == 1


def test_a_match_without_its_target_is_the_authors_error() -> None:
    items = (MatchItem(id="x", text="x", match="nowhere"),)
    with pytest.raises(ValueError, match="'nowhere'"):
        a_key(a_matching(items=items))


# ---- all of them


@pytest.mark.parametrize(
    ("part", "rule"),
    [
        (a_multi_choice(), "all or nothing"),
        (a_multi_choice(rule="each-option"), "each option counts"),
        (a_multi_choice(rule="net-correct"), "each wrong letter cancels a right one"),
        (an_ordering(), "all or nothing"),
        (an_ordering(credit="longest-run"), "the longest run in a right order counts"),
        (an_ordering(credit="pairs"), "each pair in the right order counts"),
        (a_matching(), "each item counts"),
        (a_table(), "each number counts"),
    ],
)
def test_whoever_answers_in_parts_is_told_how_they_score_and_no_refusal_repeats_it(
    part: Part, rule: str
) -> None:
    key = a_key(part)
    assert kinds.find(part.kind).instructions(key).endswith(f"; {rule}")
    for answer in (1.5, "?", None, ["?"]):
        assert rule not in refused(key, answer)


@pytest.mark.parametrize(
    ("part", "right", "wrong"),
    [
        (a_choice(), "bfloat16", ["A", 1, None]),
        (a_multi_choice(), {"params", "grads", "adam"}, ["params", ["Z"], 3]),
        (a_true_false(), np.bool_(1), [1, "perhaps"]),
        (a_reasoned_claim(), (True, "small"), [True, (True, "A"), [True], "small"]),
        (an_ordering(), [s.id for s in STEPS], ["load", ["load"] * 3, 7]),
        (a_matching(), {"one": "adam", "two": "grads", "three": "params"}, [{"one": "adam"}, 1]),
    ],
)
def test_solutions_return_ids_whatever_the_letters(
    part: object, right: object, wrong: list[object]
) -> None:
    for seed in range(5):
        key = a_key(part, seed)  # type: ignore[arg-type]
        kind = kinds.find(key.part.kind)
        assert kind.judge(kind.read_solution(right, key), key).share == 1
        for answer in wrong:
            with pytest.raises(ValueError, match="is"):
                kind.read_solution(answer, key)


def test_texts_of_several_lines_stay_inside_their_points() -> None:
    items = (Item(id="a", text="```\nx = 1\n```"), Item(id="b", text="two"))
    key = a_key(an_ordering(items=items, order=(("a", "b"),)))
    assert "```\n  x = 1\n  ```" in choices_text(key)


def test_options_carry_their_id_into_later_parts() -> None:
    key = a_key(a_choice())
    assert carried_answer(CHOICE, key) == "bfloat16"
    assert kinds.find("true_false").carry_value(True, a_key(a_true_false())) is True
    assert ORDERING.carry_value(("A",), a_key(an_ordering())) is None


def test_a_part_that_uses_a_choice_sees_its_id() -> None:
    part = a_numeric(answer="pick(format, 'bfloat16', 2, 'float32', 4) * GB")
    assert a_key(part, format="float32").value == 4


def test_random_text_is_read_or_refused_and_never_breaks() -> None:
    dice = random.Random(1)
    keys = [a_key(p) for p in (a_choice(), a_multi_choice(), an_ordering(), a_matching())]
    for _ in range(500):
        text = "".join(dice.choice("ABCDE abc123(),;:->\n.→") for _ in range(dice.randint(0, 12)))
        for key in keys:
            with contextlib.suppress(Unreadable):
                judged(key, text)


def test_a_draw_decides_the_order_and_nothing_else_does() -> None:
    one, two = (CHOICE.key(a_choice(), a_draw(3)).choices for _ in range(2))
    assert one == two


@pytest.mark.parametrize("answer", ["1A 2B 1C", {1: "A", "1": "B"}, {1: "A", "01": "A"}])
def test_an_item_that_is_given_twice_is_unreadable(answer: object) -> None:
    assert refused(a_key(a_matching()), answer) == (
        "Item 1 is given twice; give one letter for each."
    )


def test_one_right_item_is_counted_in_the_singular() -> None:
    key = a_key(a_matching())
    assert judged(key, {1: key.right[0]}).note == "1 of 3 items is matched correctly."
