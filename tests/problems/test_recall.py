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
PROBLEMS = sorted(name for name in BANK.paths if name.startswith("recall-"))
STUDENTS = tuple(Student(id=f"student-{number}") for number in range(200))


@cache
def papers(sheet: str) -> tuple[Paper, ...]:
    # Every release has a key of its own.
    release = new_release(BANK, BANK.exam(sheet), STUDENTS, sheet.encode().ljust(32, b"."))
    return tuple(paper(release, student) for student in STUDENTS)


def asked(one: Paper) -> list[tuple[str, str]]:
    """The problem and the part of each question."""
    return [(q.variant.problem.id, part) for q in one.questions for part in q.points]


@pytest.mark.thorough
@pytest.mark.parametrize("sheet", SHEETS)
def test_a_sheet_has_thirty_questions_of_all_families(sheet: str) -> None:
    for one in papers(sheet):
        assert len(set(asked(one))) == one.max_points == 30
        assert {q.variant.problem.family for q in one.questions} == set(FAMILIES)


@pytest.mark.thorough
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


def keys_of(problem: str) -> Iterator[tuple[str, Key]]:
    """Each part of a problem, in variants with other claims and numbers."""
    for number in range(4):
        variant = draw(BANK.problem(problem), sample_seed(problem, number), BANK.facts)
        for part, key in variant.keys.items():
            yield f"{problem}/{part}", key


def every_key(sheet: str) -> Iterator[tuple[str, Key]]:
    """Each part that the sheet may ask, in variants with other claims and numbers."""
    for slot in BANK.exam(sheet).slots:
        problem = BANK.problem(str(slot.problem))
        pools = {part.pool for part in problem.parts}
        share = {
            f"{problem.id}/{part}"
            for pool in pools
            for part in slot.pool_share([p.id for p in problem.parts if p.pool == pool])
        }
        yield from ((name, key) for name, key in keys_of(problem.id) if name in share)


def options(key: Key) -> tuple[list[str], list[str]]:
    """The right option or reason of a part, and the wrong ones."""
    if isinstance(key, ShortTextKey):
        return list(key.accept), []
    letter = getattr(key, "reason", None) or getattr(key, "right", None)
    right: list[str] = []
    wrong: list[str] = []
    for choice in getattr(key, "choices", ()):
        (right if choice.letter == letter else wrong).append(choice.text)
    return right, wrong


def shown(key: Key) -> str:
    """What a student reads of a part before handing in."""
    choices = [choice.text for choice in getattr(key, "choices", ())]
    return " ".join([fill(key.part.ask, key.draw), *choices])


def find_given_away(keys: list[tuple[str, Key]]) -> Iterator[str]:
    """Terms that some question or variable name of these parts contains."""
    texts = {(name, shown(key)) for name, key in keys}
    texts |= {(name, name.split("/")[1].replace("_", " ")) for name, _ in keys}
    for name, key in keys:
        if isinstance(key, ShortTextKey):
            for word in (w for w in key.accept if len(w) > 2):
                pattern = re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE)
                found = {other for other, text in texts if pattern.search(text)}
                if found:
                    yield f"{found} has '{word}', the answer to {name}"


@pytest.mark.thorough
@pytest.mark.parametrize("sheet", SHEETS)
def test_no_term_is_given_away_by_another_question_of_the_sheet(sheet: str) -> None:
    assert not [*find_given_away([*every_key(sheet)])]


@pytest.mark.parametrize("problem", PROBLEMS)
def test_no_term_is_given_away_by_another_part_of_the_problem(problem: str) -> None:
    assert not [*find_given_away([*keys_of(problem)])]


def stems(*texts: str) -> set[str]:
    return {word[:4] for text in texts for word in re.findall(r"[a-z]{4,}", text.lower())}


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_name_of_a_variable_has_no_word_that_only_the_answer_has(problem: str) -> None:
    for name, key in keys_of(problem):
        right, wrong = options(key)
        telling = stems(*right) - stems(fill(key.part.ask, key.draw), *wrong) - {"with"}
        variable = stems(name.split("/")[1].replace("_", " "))
        assert not telling & variable, f"{name} tells {right}"


# A claim that something is possible is usually true, and one that it is certain is usually false.
CUES = re.compile(r"\b(always|never|must equal|can differ|guarantees?|may|might|not follow)\b")


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_wording_of_a_claim_is_no_cue(problem: str) -> None:
    for name, key in keys_of(problem):
        if isinstance(key, TrueFalseKey):
            assert not CUES.search(fill(key.part.ask, key.draw)), name


def test_the_length_of_an_option_is_no_cue() -> None:
    longest, shortest = [], []
    for key in {name: key for problem in PROBLEMS for name, key in keys_of(problem)}.values():
        right, wrong = options(key)
        if wrong:
            lengths = [len(option) for option in wrong]
            longest.append(len(right[0]) >= max(lengths))
            shortest.append(len(right[0]) <= min(lengths))
    # Of three or four options, 30% by chance; numbers of the same length count as both.
    assert 0.2 < sum(longest) / len(longest) < 0.36
    assert 0.2 < sum(shortest) / len(shortest) < 0.4
