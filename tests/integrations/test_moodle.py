"""Moodle XML: an exam, read and graded as Moodle does, earns what the grader's own judge gives."""

from __future__ import annotations

import json
import random
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.bank.folders import Bank
from grader.draw import draw, sample_seed
from grader.errors import SetupError
from grader.integrations.lms.quizzes.moodle import Moodle
from grader.integrations.lms.variants import make_quiz, quiz_question
from grader.model import Mistake, Part, Tolerance
from grader.model.item import AcceptedTexts, EssayItem, TextItem
from grader.model.quiz import Quiz
from tests.helpers.banks import SPEC, a_bank
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
from tests.helpers.moodle_reader import Category, Gap, Question, gaps_of, read
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


def exported(quiz: Quiz, **options: Any) -> tuple[list[Category], tuple[str, ...]]:
    found = Moodle(**options).export(quiz)
    return read(found.files["quiz.xml"]), found.notes


def only(quiz: Quiz) -> Question:
    ((one,),) = (category.questions for category in exported(quiz)[0])
    return one


def share(gaps: list[Gap], reply: Reply, key: Any) -> float:
    """What Moodle gives for the reply to a part, whose gaps these are."""
    given = reply.given
    if isinstance(given, frozenset) and gaps[0].kind == "several":
        last = len(gaps[0].answers) - 1  # "None of these"
        return gaps[0].share(given or {last})
    if isinstance(given, frozenset):  # asked one by one, yes or no
        chosen: list[object] = [int(i not in given) for i in range(len(gaps))]
    elif isinstance(given, tuple) and gaps[0].kind == "matching":
        return gaps[0].share([key.choices[i].text for i in given])
    elif isinstance(given, tuple) and gaps[0].kind != "ordering":
        chosen = list(given)
    else:
        return gaps[0].share(given)
    whole = sum(gap.weight for gap in gaps)
    return sum(g.weight * g.share(c) for g, c in zip(gaps, chosen, strict=True)) / whole


def beyond_14_digits(key: Any) -> bool:
    """Whether Moodle takes neighbours for the key, as a note says."""
    return key.part.kind == "integer" and abs(key.value) > 1e13


def agrees(gaps: list[Gap], key: Any, dice: random.Random) -> int:
    """Compares many answers; how many of them earned something."""
    earning = 0
    for reply in replies(key, dice):
        if near_a_cut(key, reply.given) or beyond_14_digits(key):
            continue
        wanted = judged_share(key, reply)
        if key.part.kind == "multi_choice" and key.part.rule == "all-or-nothing":
            assert (share(gaps, reply, key) > 1 - 1e-6) is (wanted == 1)
        else:
            assert share(gaps, reply, key) == pytest.approx(wanted, abs=2e-5), reply
        earning += wanted > 0
    return earning


FITTING = asked_parts("explanation")


@pytest.mark.parametrize("part", FITTING, ids=numbered(FITTING))
def test_a_part_alone_is_a_question_of_moodles_and_graded_as_here(part: Part) -> None:
    for seed in range(3):
        key = a_key(part, seed)
        one = only(a_quiz([an_asked(a_field(key))]))
        assert agrees(one.gaps, key, random.Random(seed)) > 3 or beyond_14_digits(key)


@pytest.mark.parametrize("part", [p for p in FITTING if p.kind != "ordering"], ids=lambda p: p.kind)
def test_a_part_among_others_is_gaps_in_their_text_and_graded_as_here(part: Part) -> None:
    for seed in range(3):
        key, other = a_key(part, seed), a_key(a_numeric())
        fields = (
            a_field(other, 1, "a", "first"),
            a_field(key, 3, "b", "middle"),
            a_field(other, 1, "c", "last"),
        )
        one = only(a_quiz([an_asked(*fields)]))
        assert one.type == "cloze"
        gaps = one.gaps[1:-1]
        assert agrees(gaps, key, random.Random(seed)) > 3 or beyond_14_digits(key)
        # Points stand in the same proportion as here.
        assert sum(gap.weight for gap in gaps) / one.mark == pytest.approx(3 / 5)
        assert {gap.weight for gap in gaps} == {gaps[0].weight}


TYPES = {
    "numeric": "numerical",
    "integer": "numerical",
    "choice": "multichoice",
    "true_false": "truefalse",
    "matching": "matching",
    "ordering": "ordering",
    "short_text": "shortanswer",
}


@pytest.mark.parametrize("part", [p for p in FITTING if p.kind in TYPES], ids=lambda p: p.kind)
def test_a_part_alone_has_moodles_own_type(part: Part) -> None:
    found = only(a_quiz([an_asked(a_field(a_key(part)))]))
    assert found.type == ("multichoice" if getattr(part, "reasons", ()) else TYPES[part.kind])
    assert found.mark == 2


def test_a_share_that_moodle_does_not_know_goes_into_a_gap() -> None:
    """The importer drops a question with such a share; it does not look into gaps."""
    odd = Mistake(id="m", value="2 * weights", feedback="Twice.", credit=0.37)
    key = a_key(a_numeric(mistakes=(odd,)))
    one = only(a_quiz([an_asked(a_field(key))]))
    assert one.type == "cloze"
    assert one.gaps[0].share(28) == pytest.approx(0.37)


def test_a_lopsided_interval_shows_the_key_and_accepts_all_of_it() -> None:
    key = a_key(a_numeric(tolerance=Tolerance(factor=2)))
    (gap,) = only(a_quiz([an_asked(a_field(key))])).gaps
    assert float(gap.answers[0].text) == 0.875
    assert [gap.share(x) for x in (0.4374, 0.4376, 0.875, 1.7499, 1.7501)] == [0, 1, 1, 1, 0]


def test_mistakes_are_answers_with_their_share_and_feedback() -> None:
    wrong = Mistake(id="m", value="weights", feedback="Divide by {{ gpus }}.", credit=0.25)
    key = a_key(a_numeric(mistakes=(wrong,)))
    (gap,) = only(a_quiz([an_asked(a_field(key))])).gaps
    (first, second) = gap.answers
    assert (first.share, second.share) == (1, 0.25)
    assert second.feedback == "Divide by 16."


def test_the_parts_of_a_variant_stay_together_under_one_prompt() -> None:
    keys = [a_key(p) for p in (a_numeric(), a_choice(), a_table(), a_true_false())]
    fields = [a_field(k, 1, letter) for k, letter in zip(keys, "abcd", strict=True)]
    one = only(a_quiz([an_asked(*fields)]))
    assert one.text.count("billion parameters") == 1
    assert [gap.kind for gap in one.gaps] == ["numerical", "single", *["numerical"] * 6, "single"]
    assert r"\(p &lt; 8\)" in one.text
    assert one.feedback == "<p>Divide.</p>"
    assert one.mark == 24  # six cells of a sixth of a point make it six times the points


def test_what_fits_into_no_gap_is_a_question_of_its_own_with_the_whole_prompt() -> None:
    fields = [
        a_field(a_key(a_numeric()), 1, "a"),
        a_field(a_key(an_explanation()), 3, "b"),
        a_field(a_key(an_ordering()), 2, "c"),
    ]
    quiz = a_quiz([an_asked(*fields), an_asked(*fields, variant=2)])
    categories, notes = exported(quiz)
    assert [[q.type for q in c.questions] for c in categories] == [
        ["numerical", "numerical"],
        ["essay", "essay"],
        ["ordering", "ordering"],
    ]
    assert all("billion parameters" in q.text for c in categories for q in c.questions)
    assert "Full marks for 16 GPUs." in categories[1].questions[0].rubric
    assert [c.path[-1] for c in categories] == [f"01 Weights ({x})" for x in "abc"]
    assert any("becomes 3 questions in Moodle" in note for note in notes)


def test_a_category_says_the_mark_that_moodle_can_not_know() -> None:
    category = exported(a_quiz([an_asked(a_field(a_key(a_table()), 2.5))]))[0][0]
    assert "maximum mark is 2.5" in category.info
    assert category.path == ["top", "A quiz", "01 Weights"]


def test_names_with_slashes_stay_one_category() -> None:
    asked = an_asked(a_field(a_key(a_numeric())), title="tokens/s and FLOP/s")
    category = exported(a_quiz([asked], title="Exam 1/2"))[0][0]
    assert category.path == ["top", "Exam 1/2", "01 tokens/s and FLOP/s"]


def test_code_is_refused_unless_it_is_to_be_left_out() -> None:
    quiz = a_quiz([an_asked(a_field(a_key(a_numeric()), 1), a_field(a_key(a_code()), 4))])
    with pytest.raises(SetupError, match=r"1 part of .*: q1_scaled \(4\): .*code"):
        Moodle().export(quiz)
    categories, notes = exported(quiz, leave_out=True)
    assert [q.type for q in categories[0].questions] == ["numerical"]
    assert "maximum mark is 1" in categories[0].info
    assert notes[0] == "left out q1_scaled (4 points): it has no equivalent of code parts"


def test_a_quiz_of_which_nothing_is_left_is_refused() -> None:
    with pytest.raises(SetupError, match="can't ask any part"):
        Moodle(leave_out=True).export(a_quiz([an_asked(a_field(a_key(a_code())))]))


@pytest.mark.parametrize(
    ("part", "why"),
    [
        (a_numeric(answer="3e-12", unit="", tolerance=Tolerance(relative=0.01)), "smaller unit"),
        (an_ordering(credit="longest-run"), "longest-run"),
    ],
)
def test_what_moodle_would_judge_otherwise_is_refused(part: Part, why: str) -> None:
    with pytest.raises(SetupError, match=why):
        Moodle().export(a_quiz([an_asked(a_field(a_key(part)))]))


def test_a_number_of_too_many_digits_is_noted() -> None:
    notes = exported(a_quiz([an_asked(a_field(a_key(an_integer(answer="2 ** 64 - 1"))))]))[1]
    assert "Moodle compares only 14 digits of whole numbers: q1_nodes" in notes


def test_every_note_names_its_parts() -> None:
    keys = [a_key(p) for p in (a_numeric(), an_integer(), a_short_text(), a_multi_choice())]
    fields = [a_field(k, 1, x) for k, x in zip(keys, "abcd", strict=True)]
    notes = exported(a_quiz([an_asked(*fields)]))[1]
    slips = next(note for note in notes if note.startswith("unit slips"))
    assert slips.endswith(": q1_share, q1_nodes")
    assert any(
        n.startswith("all or nothing here, but Moodle gives part") and n.endswith("q1_sharded")
        for n in notes
    )
    assert any("keep it private" in note for note in notes)


def decoded(html: str) -> str:
    return html.replace("&#126;", "~").replace("&#123;", "{").strip()


@pytest.mark.thorough
@given(prompt=hostile, options=st.lists(hostile, min_size=2, max_size=4), told=hostile)
@settings(max_examples=300)
def test_no_text_of_a_spec_gets_out_of_its_place(
    prompt: str, options: list[str], told: str
) -> None:
    options = [f"{i} {text}" for i, text in enumerate(options)]
    choosing = a_choosing(*options, feedback=told)
    whole = a_field(a_key(a_numeric()), 1, "a")
    fields = (whole, an_item_field(choosing, ask=prompt, letter="b"))
    for asked in (an_asked(*fields, prompt=prompt), an_asked(fields[1], prompt=prompt)):
        one = only(a_quiz([asked], title=prompt.replace("/", "") + "x"))
        gap = one.gaps[-1]
        assert len(one.gaps) == len(asked.fields)
        assert [decoded(a.text) for a in gap.answers] == [decoded(as_written(o)) for o in options]
        assert [a.share for a in gap.answers] == [1.0] + [0.0] * (len(options) - 1)
        assert {decoded(a.feedback) for a in gap.answers[1:]} == {decoded(as_written(told))}
        said = one.text + "".join(a.text + a.feedback for a in gap.answers)
        assert "<script" not in said
        assert "<img" not in said
        assert decoded(as_written(prompt)) in decoded(one.text)


@pytest.mark.thorough
@given(text=hostile, exact=st.booleans())
@settings(max_examples=300)
def test_any_accepted_text_is_found_again(text: str, exact: bool) -> None:
    text = " ".join(
        re.sub("[^\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "", text).split()
    ) or "x"  # fmt: skip
    item = TextItem(words=(AcceptedTexts(texts=(text,), share=1.0),), exact=exact)
    whole = a_field(a_key(a_numeric()), 1, "a")
    field = an_item_field(item, letter="b")
    for fields in ((field,), (whole, field)):
        categories, _ = exported(a_quiz([an_asked(*fields)]))
        (gap,) = (
            g for c in categories for q in c.questions for g in q.gaps if g.kind[:5] == "short"
        )
        assert gap.share(text) == 1
        assert gap.share(f"{text} no") == 0


def test_the_reader_knows_a_gap_when_it_sees_one() -> None:
    text, gaps = gaps_of("a {2:NM:=5:0.1~%25%7:0#no\\}} b {1:MCV:=x~%0%y} c")
    assert text == "a {#1} b {#2} c"
    assert [(g.kind, g.weight) for g in gaps] == [("numerical", 2), ("single", 1)]
    assert gaps[0].answers[1].feedback == "no}"
    assert [gaps[0].share(x) for x in (5.1, 7, 6)] == [1, 0.25, 0]


# The bank


@pytest.mark.thorough
@pytest.mark.parametrize("name", quiz_problems())
def test_every_problem_of_the_bank_is_graded_alike_there(name: str) -> None:
    bank = Bank.open(())
    problem = bank.problem(name)
    variants = [draw(problem, sample_seed(name, n), bank.facts) for n in range(2)]
    worth = {part.id: part.points for part in problem.parts}
    asked = [quiz_question(v, worth, n) for n, v in enumerate(variants, 1)]
    able = {
        f.id
        for f in asked[0].fields
        if f.items and not isinstance(f.items[0], EssayItem) and f.kind != "ordering"
    }
    asked_for = {f.id for f in asked[0].fields if f.items}
    able -= {f.id for f in asked[0].fields if not asked_for.issuperset(f.uses)}
    if not able:
        return
    categories, notes = exported(a_quiz(asked), leave_out=True)
    for number, variant in enumerate(variants):
        one = categories[0].questions[number]
        gaps = list(one.gaps)
        # A question of one part has a mark of its own, and its gaps are shares.
        whole = one.mark if len(able) > 1 else sum(gap.weight for gap in gaps)
        for field in asked[number].fields:
            if field.id not in able:
                assert any(f"q1_{field.id}" in note for note in notes) or field.items
                continue
            key = variant.keys[field.id]
            count = len(gaps) if len(able) == 1 else _gaps(field.kind, key)
            mine, gaps = gaps[:count], gaps[count:]
            agrees(mine, key, random.Random(number))
            assert sum(g.weight for g in mine) / whole == pytest.approx(
                field.points / sum(f.points for f in asked[number].fields if f.id in able)
            )
        assert not gaps


def _gaps(kind: str, key: Any) -> int:
    if kind == "table":
        return sum(len(row) for row in key.cells)
    if kind == "multi_choice" and key.part.rule == "each-option":
        return len(key.choices)
    return len(key.items) if kind == "matching" else 1


# The command


def test_the_same_key_gives_the_same_file_and_another_key_another(tmp_path: Path) -> None:
    first, again, other = exported_by_keys(tmp_path, "moodle")
    assert first == again
    assert first != other
    questions = read(first)[0].questions
    assert len({q.text for q in questions}) == len(questions) == 4
    assert len({q.idnumber for q in questions}) == 4


@pytest.mark.thorough
def test_more_variants_than_there_are_is_said(tmp_path: Path) -> None:
    bank = a_bank(tmp_path / "bank")
    out = tmp_path / "quiz.xml"
    done = ok(
        "export", "moodle", "quiz", "--bank", bank, "--variants", 40, "--out", out, "--json",
        "--private-key", "x",
    )  # fmt: skip
    data = json.loads(done.output)
    assert data["files"] == [str(out)]
    assert out.stat().st_mode & 0o077 == 0  # it has the keys
    assert "sample: found only 15 different variants instead of 40" in data["notes"]
    assert len(read(out.read_bytes())[0].questions) == 15


def test_a_file_of_another_format_is_not_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bank = a_bank(tmp_path / "bank")
    for system, name in (("moodle", "quiz.xml"), ("qti", "exam.zip")):
        command = ("export", system, "quiz", "--bank", bank, "--out", tmp_path / name)
        ok(*command)
        ok(*command)  # an earlier export is
        (tmp_path / name).write_bytes(b"PK\3\4 submissions")
        assert "this file exists already, and is of another kind" in fails(capsys, *command)
        assert (tmp_path / name).read_bytes() == b"PK\3\4 submissions"


POOL = """\
id: quiz
title: A quiz
problems:
  - {pool: [sample, other, third], choose: 2, points: 6}
"""


def test_a_pool_gives_one_problem_of_each_of_its_parts(tmp_path: Path) -> None:
    bank = a_pooled_bank(tmp_path / "bank", "other", "third", exam=POOL)
    out = tmp_path / "quiz.xml"
    done = ok("export", "moodle", "quiz", "--bank", bank, "--variants", 3, "--out", out, "--json")
    categories = read(out.read_bytes())
    problems = [{q.name.split()[0] for q in c.questions} for c in categories]
    assert sorted(map(len, problems)) == [1, 2]
    assert set().union(*problems) == {"sample", "other", "third"}
    assert all("maximum mark is 6" in c.info for c in categories)
    notes = json.loads(done.output)["notes"]
    assert any("split once" in note for note in notes)
    assert any("random key" in note for note in notes)


def test_problems_of_a_pool_with_different_points_are_scaled_to_the_highest(
    tmp_path: Path,
) -> None:
    exam = POOL.replace(", points: 6", "").replace(", third", "").replace("choose: 2", "choose: 1")
    bank = a_bank(tmp_path / "bank", exam=exam)
    other = SPEC.replace("id: sample", "id: other", 1).replace("points: 2", "points: 5")
    a_bank(tmp_path / "bank", spec=other, exam=exam)
    command = ("export", "moodle", "quiz", "--bank", bank, "--private-key", "k")
    done = ok(*command, "--out", tmp_path / "q.xml", "--json")
    notes = json.loads(done.output)["notes"]
    assert "number 1: each problem is worth 6 points; before: sample 3, other 6" in notes
    categories = read((tmp_path / "q.xml").read_bytes())
    assert "maximum mark is 6" in categories[0].info
    assert {q.mark for q in categories[0].questions} == {6}


def test_the_whole_midterm_can_be_asked_in_moodle(tmp_path: Path) -> None:
    quiz = make_quiz(Bank.open(()), "midterm", 3, "x")
    categories, _ = exported(quiz)
    assert len(categories) == len(quiz.pools) == 10
    assert all(len(c.questions) == 3 for c in categories)


def test_the_format_byte_for_byte(golden) -> None:
    keys = [a_key(p) for p in (a_numeric(), a_choice(), a_table(rows=(2,)))]
    fields = [a_field(k, 1, x) for k, x in zip(keys, "abc", strict=True)]
    alone = an_asked(a_field(a_key(a_true_false())), problem="fits", title="Fits")
    data = Moodle().export(a_quiz([an_asked(*fields)], [alone])).files["quiz.xml"]
    golden("moodle.xml", data.decode())


def test_only_elements_that_the_importer_reads_are_written() -> None:
    keys = [a_key(part) for part in FITTING if getattr(part, "credit", "") != "longest-run"]
    pools = [[an_asked(a_field(key))] for key in keys]
    data = (
        Moodle()
        .export(a_quiz(*pools, [an_asked(a_field(a_key(an_explanation())))]))
        .files["quiz.xml"]
    )
    for element in ET.fromstring(data):
        kind = element.get("type") or ""
        assert {child.tag for child in element} <= COMMON | OWN[kind], kind


COMMON = {
    *("name", "questiontext", "generalfeedback", "defaultgrade", "penalty", "hidden", "idnumber"),
    "tags",
}
_COMBINED = {"correctfeedback", "partiallycorrectfeedback", "incorrectfeedback"}
OWN: dict[str, set[str]] = {
    "category": {"category", "info"},
    "cloze": set(),
    "numerical": {"answer", "unitgradingtype", "unitpenalty", "showunits", "unitsleft"},
    "multichoice": {"answer", "single", "shuffleanswers", "answernumbering", *_COMBINED},
    "truefalse": {"answer"},
    "shortanswer": {"answer", "usecase"},
    "matching": {"subquestion", "shuffleanswers", *_COMBINED},
    "ordering": {
        *("answer", "layouttype", "selecttype", "selectcount", "gradingtype", "showgrading"),
        *("numberingstyle", *_COMBINED),
    },
    "essay": {
        *("responseformat", "responserequired", "responsefieldlines", "attachments"),
        *("attachmentsrequired", "graderinfo", "responsetemplate"),
    },
}


def test_of_a_pool_the_problems_that_lose_nothing_stay() -> None:
    number, code = a_field(a_key(a_numeric()), 5), a_field(a_key(a_code()), 5)
    pool = [
        an_asked(number, problem="one"),
        an_asked(code, problem="two"),
        an_asked(number, problem="three"),
    ]
    with pytest.raises(SetupError, match=r"1 part of .*: q1_scaled of two \(5\)"):
        Moodle().export(a_quiz(pool))
    categories, notes = exported(a_quiz(pool), leave_out=True)
    assert [q.name for q in categories[0].questions] == ["one 001", "three 001"]
    assert notes[0].startswith("left out of the pool at number 1: two (scaled: ")


def test_a_part_that_every_problem_of_a_pool_loses_lowers_the_mark() -> None:
    code, number = a_field(a_key(a_code()), 3), a_field(a_key(a_numeric()), 2)
    pool = [an_asked(number, code, problem=name) for name in ("one", "two")]
    with pytest.raises(SetupError, match=r"2 parts of .*q1_scaled of one \(3\), q1_scaled of two"):
        Moodle().export(a_quiz(pool))
    categories, _ = exported(a_quiz(pool), leave_out=True)
    assert "maximum mark is 2" in categories[0].info


def test_pools_whose_problems_lose_unlike_parts_are_scaled_to_the_highest_points() -> None:
    number, code = a_field(a_key(a_numeric()), 2), a_field(a_key(a_code()), 2)
    more = a_field(a_key(a_code()), 1, part="more")
    pool = [
        an_asked(number, code, problem="one"),
        an_asked(a_field(a_key(a_numeric()), 3), more, problem="two"),
    ]
    categories, notes = exported(a_quiz(pool), leave_out=True)
    assert {q.mark for q in categories[0].questions} == {3}
    assert "number 1: each problem is worth 3 points; before: one 2, two 3" in notes


def test_of_a_pool_the_problems_that_are_one_question_stay() -> None:
    number, order = a_field(a_key(a_numeric()), 2), a_field(a_key(an_ordering()), 2)
    half = [a_field(a_key(p), 1) for p in (a_numeric(), an_ordering())]
    pool = [
        an_asked(*half, problem="split"),
        an_asked(number, problem="one"),
        an_asked(order, problem="two"),
    ]
    categories, notes = exported(a_quiz(pool))
    assert [q.name for q in categories[0].questions] == ["one 001", "two 001"]
    assert notes[0].startswith("number 1 asks one, two, not split: ")
    categories, notes = exported(a_quiz([pool[0], an_asked(*half, problem="other")]))
    assert [[q.type for q in c.questions] for c in categories] == [["numerical"], ["ordering"]]
    assert notes[0].startswith("number 1 asks split, not other: ")
