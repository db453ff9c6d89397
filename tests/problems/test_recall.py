"""The recall sheets: no question twice, no claim that tells about another, nothing given away."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest

from grader.bank.folders import Bank
from grader.draw import draw, paper, sample_seed
from grader.kinds.short_text import ShortTextKey
from grader.kinds.texts import fill
from grader.kinds.true_false import TrueFalseKey
from grader.model import FAMILIES, Key, Paper, Student
from grader.release.file import new_release

BANK = Bank.open([str(Path(__file__).parents[2])])
SHEETS = ("recall-1", "recall-2")
STUDENTS = tuple(Student(id=f"student-{number}") for number in range(200))


@cache
def papers(sheet: str) -> tuple[Paper, ...]:
    # Every release has a key of its own.
    release = new_release(BANK, BANK.exam(sheet), STUDENTS, sheet.encode().ljust(32, b"."))
    return tuple(paper(release, student) for student in STUDENTS)


def asked(one: Paper) -> list[tuple[str, str]]:
    """The problem and the part of each question."""
    return [(q.variant.problem.id, part) for q in one.questions for part in q.points]


@pytest.mark.parametrize("sheet", SHEETS)
def test_a_sheet_has_thirty_questions_of_all_families(sheet: str) -> None:
    for one in papers(sheet):
        assert len(set(asked(one))) == one.max_points == 30
        assert {q.variant.problem.family for q in one.questions} == set(FAMILIES)


def test_no_student_gets_a_question_twice() -> None:
    for first, second in zip(*map(papers, SHEETS), strict=True):
        assert first.student == second.student
        assert not set(asked(first)) & set(asked(second))


@pytest.mark.parametrize("sheet", SHEETS)
def test_students_get_different_sheets(sheet: str) -> None:
    assert len({tuple(asked(one)) for one in papers(sheet)}) == len(STUDENTS)


@pytest.mark.parametrize("sheet", SHEETS)
def test_no_claim_tells_whether_another_is_true(sheet: str) -> None:
    rows = [
        [key.right for _, key in one.named_keys() if isinstance(key, TrueFalseKey)]
        for one in papers(sheet)
    ]
    assert {len(row) for row in rows} == {18}
    for one, other in combinations(zip(*rows, strict=True), 2):
        agree = sum(a == b for a, b in zip(one, other, strict=True)) / len(rows)
        assert abs(agree - 0.5) < 0.2  # for independent claims of 200 students, 5.6 deviations
    true = sum(map(sum, rows)) / (18 * len(rows))
    assert abs(true - 0.5) < 0.05


def every_key(sheet: str) -> Iterator[tuple[str, Key]]:
    """Each part that the sheet may ask, in two variants with other claims and numbers."""
    for slot in BANK.exam(sheet).slots:
        problem = BANK.problem(str(slot.problem))
        pools = {part.pool for part in problem.parts}
        share = {
            part
            for pool in pools
            for part in slot.pool_share([p.id for p in problem.parts if p.pool == pool])
        }
        for number in range(4):
            variant = draw(problem, sample_seed(problem.id, number), BANK.facts)
            for part, key in variant.keys.items():
                if part in share:
                    yield f"{problem.id}/{part}", key


def shown(key: Key) -> str:
    """What a student reads of a part before handing in."""
    options = [choice.text for choice in getattr(key, "choices", ())]
    return " ".join([fill(key.part.ask, key.draw), *options])


@pytest.mark.parametrize("sheet", SHEETS)
def test_no_term_is_given_away_by_another_question_of_the_sheet(sheet: str) -> None:
    keys = list(every_key(sheet))
    texts = {(name, shown(key)) for name, key in keys}
    names = {name.split("/")[1].replace("_", " ") for name, _ in keys}
    for name, key in keys:
        if not isinstance(key, ShortTextKey):
            continue
        for word in (w for w in key.accept if len(w) > 2):
            pattern = re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE)
            found = [other for other, text in texts if pattern.search(text)]
            assert not found, f"{found} has '{word}', the answer to {name}"
            assert not [n for n in names if pattern.search(n)], word


def test_the_length_of_an_option_is_no_cue() -> None:
    rights, longest = 0, 0
    for key in {name: key for sheet in SHEETS for name, key in every_key(sheet)}.values():
        choices = getattr(key, "choices", ())
        if choices:
            letter = key.reason if isinstance(key, TrueFalseKey) else key.right  # type: ignore[attr-defined]
            lengths = {choice.letter: len(choice.text) for choice in choices}
            rights += 1
            longest += lengths[letter] == max(lengths.values())
    assert 0.2 < longest / rights < 0.36  # of three or four options, 30% by chance
