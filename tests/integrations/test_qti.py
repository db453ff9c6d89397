"""QTI 1.2 for Canvas: an exam, read and graded as Canvas does, against the grader's own judge."""

from __future__ import annotations

import html
import io
import json
import random
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from grader.bank.folders import Bank
from grader.draw import draw, sample_seed
from grader.errors import SetupError
from grader.integrations.lms.quizzes.qti import Qti
from grader.integrations.lms.variants import quiz_question
from grader.integrations.quiz_items import quiz_items
from grader.kinds import kinds
from grader.model import Key, Mistake, Part
from grader.model.item import NumberItem, NumberRange
from grader.model.quiz import Quiz
from grader.text.markdown import plain_text
from tests.helpers.commands import fails, ok
from tests.helpers.kinds import (
    a_choice,
    a_code,
    a_key,
    a_multi_choice,
    a_numeric,
    a_short_text,
    a_table,
    a_true_false,
    an_explanation,
    an_integer,
    an_ordering,
)
from tests.helpers.qti_reader import Group, Item, Package, read
from tests.helpers.quizzes import (
    Reply,
    a_choosing,
    a_field,
    a_pooled_bank,
    a_quiz,
    an_asked,
    an_item_field,
    as_written,
    asked_parts,
    exported_by_keys,
    hostile,
    judged_share,
    near_a_cut,
    numbered,
    quiz_problems,
    replies,
)


def exported(quiz: Quiz, **options: Any) -> tuple[Package, tuple[str, ...]]:
    found = Qti(**options).export(quiz)
    return read(found.files["exam.zip"]), found.notes


def items_of(package: Package) -> list[Item]:
    return [i for e in package.entries for i in (e.items if isinstance(e, Group) else [e])]


def share(items: list[Item], reply: Reply, key: Key) -> float:
    """What Canvas gives for the reply to a part, whose items these are."""
    given, first = reply.given, items[0]
    if isinstance(given, frozenset) and first.type == "matching_question":
        count = len(first.answers)
        return first.share(["Yes" if i in given else "No" for i in range(count)])
    if isinstance(given, frozenset):
        return first.share(given or {len(first.answers) - 1})  # "None of these"
    if isinstance(given, tuple) and first.type == "matching_question":
        return first.share([plain_text(key.choices[i].text) for i in given])  # type: ignore[attr-defined]
    if isinstance(given, tuple):
        pairs = zip(items, given, strict=True)
        return sum(item.share(number) for item, number in pairs) / len(items)
    return first.share(given)


def without_mistakes(key: Key, reply: Reply) -> float:
    """What the judge gives, less what mistakes keep: that is said not to survive."""
    if key.part.kind == "table":
        cells = [c for row in key.cells for c in row]  # type: ignore[attr-defined]
        kind = kinds.find("numeric")
        shares = [kind.judge(n, c).share for n, c in zip(reply.given, cells, strict=True)]  # type: ignore[arg-type]
        return sum(s == 1 for s in shares) / len(shares)
    wanted = judged_share(key, reply)
    if key.part.kind in ("numeric", "integer", "choice", "short_text", "true_false"):
        return float(wanted == 1)
    return wanted


def agrees(items: list[Item], key: Key, dice: random.Random) -> int:
    earning = 0
    for reply in replies(key, dice):
        if near_a_cut(key, reply.given):
            continue
        wanted = without_mistakes(key, reply)
        got = share(items, reply, key)
        if key.part.kind == "multi_choice" and key.part.rule == "all-or-nothing":  # type: ignore[attr-defined]
            assert (got == 1) is (wanted == 1)
        elif getattr(key.part, "match", "") != "exact":
            assert got == pytest.approx(wanted), reply
        earning += got > 0
    return earning


FITTING = [
    part
    for part in asked_parts("explanation", "ordering")
    if getattr(part, "answer", "") != "2 ** 64 - 1"
]


def worth(key: Key) -> float:
    return float(len(quiz_items(key)))


@pytest.mark.parametrize("part", FITTING, ids=numbered(FITTING))
def test_a_part_is_graded_there_as_here(part: Part) -> None:
    for seed in range(3):
        key = a_key(part, seed)
        package, _ = exported(a_quiz([an_asked(a_field(key, worth(key)))]))
        assert agrees(items_of(package), key, random.Random(seed)) > 0


def test_both_ends_of_the_interval_are_accepted_but_for_the_last_digit() -> None:
    key = a_key(a_numeric())
    package, _ = exported(a_quiz([an_asked(a_field(key))]))
    (item,) = items_of(package)
    low, high = 0.875 * 0.99, 0.875 * 1.01
    assert [item.share(round(x, 9)) for x in (low, high)] == [1, 1]
    assert [item.share(round(x, 9)) for x in (low - 1e-6, high + 1e-6)] == [0, 0]


TYPES = {
    "numeric": "numerical_question",
    "integer": "numerical_question",
    "table": "numerical_question",
    "choice": "multiple_choice_question",
    "true_false": "true_false_question",
    "matching": "matching_question",
    "short_text": "short_answer_question",
}


@pytest.mark.parametrize("part", [p for p in FITTING if p.kind in TYPES], ids=lambda p: p.kind)
def test_a_part_has_canvass_own_type(part: Part) -> None:
    key = a_key(part)
    package, _ = exported(a_quiz([an_asked(a_field(key, worth(key)))]))
    one = "multiple_choice_question" if getattr(part, "reasons", ()) else TYPES[part.kind]
    assert {item.type for item in items_of(package)} == {one}


def test_no_mistake_is_among_the_answers() -> None:
    """Canvas's importer gives every answer of a number the weight 100, whatever its score."""
    wrong = Mistake(id="m", value="weights", feedback="Divide.", credit=0.25)
    package, notes = exported(a_quiz([an_asked(a_field(a_key(a_numeric(mistakes=(wrong,)))))]))
    (item,) = items_of(package)
    assert len(item.answers) == 1
    assert item.share(14) == 0
    assert "mistakes with partial credit get none: q1_share" in notes


def test_wrong_options_keep_their_feedback_and_no_points() -> None:
    package, notes = exported(a_quiz([an_asked(a_field(a_key(a_choice(shuffle=False))))]))
    (item,) = items_of(package)
    told = [item.comments.get(f"{a['id']}_fb") for a in item.answers]
    assert told == [None, "That has 4 bytes.", "That has 1 byte, not 2.", None]
    assert [bool(a["weight"]) for a in item.answers] == [True, False, False, False]
    assert any(n.startswith("wrong options with partial credit") for n in notes)


def test_variants_are_a_group_of_which_one_is_picked() -> None:
    key = a_key(a_numeric())
    asked = [an_asked(a_field(key, 1.5), variant=n, prompt=f"Number {n}.") for n in (1, 2, 3)]
    package, _ = exported(a_quiz(asked, asked[:1]))
    group, alone = package.entries
    assert isinstance(group, Group)
    assert (group.points, len(group.items)) == (1.5, 3)
    assert ["Number 2." in item.text for item in group.items] == [False, True, False]
    assert isinstance(alone, Item)
    assert package.points == 3
    assert package.metadata["time_limit"] == "30"
    assert package.metadata["hide_results"] == "always"
    assert package.description == "<p>Read <em>well</em>.</p>\n"


def test_every_part_has_the_whole_prompt() -> None:
    fields = [
        a_field(a_key(a_numeric()), 2, "a"),
        a_field(a_key(a_true_false()), 1, "b"),
        a_field(a_key(an_explanation()), 3, "c"),
    ]
    two = [an_asked(*fields, variant=n, prompt=f"Number {n}.") for n in (1, 2)]
    package, notes = exported(a_quiz(two))
    assert [e.title for e in package.entries] == ["1 Weights (a)", "1 Weights (b)", "1 Weights (c)"]
    for entry in package.entries:
        assert isinstance(entry, Group)
        for n, item in enumerate(entry.items, 1):
            assert f"Number {n}." in item.text
            assert "GPUs" in item.text
    assert items_of(package)[-1].type == "essay_question"
    assert any("with different numbers: 1" in note for note in notes)
    assert any("rubric" in note for note in notes)


def test_a_cell_of_a_table_says_which_it_is() -> None:
    key = a_key(a_table())
    package, _ = exported(a_quiz([an_asked(a_field(key, 6))]))
    texts = [item.text for item in items_of(package)]
    assert "Here: n 2, weights. Give a number in GB, without the unit." in texts[0]
    assert "Here: n 8, time. Give a number in ms, without the unit." in texts[5]
    assert {item.points for item in items_of(package)} == {1}


def test_a_column_s_title_is_no_html_in_the_text_of_a_cell() -> None:
    ranges = (NumberRange(low=1, high=1, value=1, share=1),)
    title = "`fp16` & $x<y$"
    cell = NumberItem(ranges=ranges, row="a < b", column=title, weight=0.5)
    field = replace(a_field(a_key(a_table()), 2), items=(cell, cell))
    package, _ = exported(a_quiz([an_asked(field)]))
    said = html.unescape(items_of(package)[0].text)
    assert r"Here: a < b, fp16 & \(x<y\). Give a number." in said


@pytest.mark.parametrize(
    ("part", "points", "why"),
    [
        (a_code(), 2, "it has no equivalent of code parts"),
        (an_ordering(), 2, "no question type for orderings"),
        (a_numeric(), 0.125, "two decimals, and it is worth 0.125"),
        (a_numeric(), 3.333333, "two decimals, and it is worth 3.33333"),
        (a_table(), 2, "two decimals, and each of its cells is worth 0.333333"),
        (an_integer(answer="2 ** 64 - 1"), 1, "Canvas loses digits of such a long number"),
        (a_numeric(answer="2e-5", unit=""), 1, "below 0.0001; ask in a smaller unit"),
    ],
)
def test_what_canvas_can_not_ask_is_refused_unless_it_is_to_be_left_out(
    part: Part, points: float, why: str
) -> None:
    quiz = a_quiz([an_asked(a_field(a_key(a_true_false()), 1), a_field(a_key(part), points))])
    with pytest.raises(SetupError, match=re.escape(why)) as refused:
        Qti().export(quiz)
    assert "--leave-out" in str(refused.value.fix)
    package, notes = exported(quiz, leave_out=True)
    assert [item.type for item in items_of(package)] == ["true_false_question"]
    assert package.points == 1
    assert re.match(rf"left out q1_\w+ \({points:g} points?\): ", notes[0])


@pytest.mark.parametrize("slot", [6.0, 5.5, 0.25])
def test_points_that_were_scaled_keep_two_decimals(slot: float) -> None:
    """Five points in a pool that is worth others; Canvas reads any number of points."""
    own = {"a": 2.0, "b": 2.0, "c": 1.0}
    share = {name: slot * points / 5 for name, points in own.items()}
    fields = [a_field(a_key(a_numeric()), share[name], name, name) for name in own]
    package, notes = exported(a_quiz([an_asked(*fields, variant=n) for n in (1, 2)]))
    assert [e.points for e in package.entries] == [round(p, 6) for p in share.values()]
    assert sum(e.points for e in package.entries) == pytest.approx(slot)
    assert package.points == slot
    assert not any("left out" in note for note in notes)


def test_what_is_graded_otherwise_is_noted() -> None:
    exact = a_short_text(match="exact", accept=("NCCL",))
    parts = (a_multi_choice(), exact, a_multi_choice(rule="each-option"))
    fields = [a_field(a_key(p), 1, x, x) for p, x in zip(parts, "abc", strict=True)]
    notes = exported(a_quiz([an_asked(*fields)]))[1]
    for start, end in (
        ("all or nothing here, but Canvas gives the share", ": q1_a"),
        ("Canvas ignores upper and lower case", ": q1_b"),
        ("asked option by option", ": q1_c"),
        ('has an additional option, "None of these"', ": q1_a"),
    ):
        assert any(n.startswith(start) and n.endswith(end) for n in notes), start


@pytest.mark.thorough
@given(prompt=hostile, option=hostile, told=hostile)
@settings(max_examples=150)
def test_no_text_of_a_spec_gets_out_of_its_place(prompt: str, option: str, told: str) -> None:
    field = an_item_field(a_choosing("right", f"no {option}", feedback=told), ask=prompt)
    package, _ = exported(a_quiz([an_asked(field, prompt=prompt)], title=f"x {prompt}"))
    (one,) = items_of(package)
    assert as_written(prompt) in one.text
    assert str(one.answers[1]["text"]).strip() == as_written(f"no {option}")
    assert one.comments[f"{one.answers[1]['id']}_fb"].strip() == as_written(told)
    assert "<script" not in one.text + str(one.answers[1]["text"])
    assert "<img" not in one.text


@pytest.mark.thorough
@pytest.mark.parametrize("name", quiz_problems())
def test_every_problem_of_the_bank_is_graded_alike_there(name: str) -> None:
    bank = Bank.open(())
    variant = draw(bank.problem(name), sample_seed(name, 3), bank.facts)
    asked = quiz_question(variant, {part.id: part.points for part in variant.problem.parts}, 1)
    for field in asked.fields:
        key = variant.keys[field.id]
        if not field.items or field.kind in ("ordering", "explanation"):
            continue
        worthy = a_field(key, worth(key))
        try:
            package, _ = exported(a_quiz([an_asked(worthy)]))
        except SetupError as refused:
            assert "below 0.0001" in refused.what
            continue
        assert agrees(items_of(package), key, random.Random(name)) > 0


def test_the_same_key_gives_the_same_file(tmp_path: Path) -> None:
    first, again, other = exported_by_keys(tmp_path, "qti")
    assert first == again
    assert first != other
    package = read(first)
    assert [len(e.items) for e in package.entries if isinstance(e, Group)] == [4, 4]
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        assert "non_cc_assessments/" in archive.namelist()
        assert {info.date_time[0] for info in archive.infolist()} == {1980}


POOL = """\
id: quiz
title: A quiz
problems:
  - {pool: [sample, other], points: 3}
"""


def test_a_pool_of_problems_with_parts_is_one_problem_for_all(tmp_path: Path) -> None:
    bank = a_pooled_bank(tmp_path / "bank", "other", exam=POOL)
    done = ok("export", "qti", "quiz", "--bank", bank, "--out", tmp_path / "e.zip", "--json")
    notes = json.loads(done.output)["notes"]
    assert "number 1 asks sample, not other: Canvas has no questions with parts" in notes
    titles = [e.title for e in read((tmp_path / "e.zip").read_bytes()).entries]
    assert titles == ["1 Weights of a model on one GPU (a)", "1 Weights of a model on one GPU (b)"]


def test_a_set_with_code_is_refused_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = fails(capsys, "export", "qti", "lab", "--out", tmp_path / "e.zip")
    assert "Canvas can't ask" in said
    assert "online_softmax" in said or "(code" in said or "code part" in said
    assert not (tmp_path / "e.zip").exists()


def test_the_format_byte_for_byte(golden) -> None:
    number, choice = a_field(a_key(a_numeric()), 1.5), a_field(a_key(a_true_false()))
    two = [an_asked(number, variant=n) for n in (1, 2)]
    data = Qti().export(a_quiz(two, [an_asked(choice)])).files["exam.zip"]
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        texts = [f"<!-- {n} -->\n{archive.read(n).decode()}" for n in archive.namelist()]
    golden("qti.xml", "\n".join(texts))
