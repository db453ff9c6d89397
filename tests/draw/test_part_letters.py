"""A paper that asks only some parts of a problem: its texts use the letters of the paper."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.bank.folders import Bank
from grader.draw import paper
from grader.draw.part_letters import with_letters
from grader.errors import SpecError
from grader.figures import solution_blocks
from grader.kinds.numeric import Numeric
from grader.model import Paper, Student
from grader.notebook.render import render, worked_solution
from grader.release.file import new_release
from tests.helpers.banks import a_bank
from tests.helpers.report import TEMPLATES

SPEC = """\
id: sample
title: Weights of a model
family: memory-math
parameters:
  billions: {choice: [3, 7], label: Parameters for parts (a) to (c)}
  other: {choice: [1, 2], label: The other number for part (b)}
  pair: {rows: [{x: 1, y: 2}], labels: {x: X for part (d), y: Y}}
given:
  Bytes for part (c): 2 * byte
  Bytes for part (a): 3 * byte
assumptions:
  - 1 GB = 10^9 bytes. Parts (b) to (d) are about the same model.
  - "Part (b): the link has 10 GB/s."
prompt: A model has {{ billions }} billion parameters of 2 bytes.
parts:
  - id: size
    kind: numeric
    ask: How large are the weights?
    unit: GB
    answer: 2e9 * byte * billions
    tolerance: {relative: 1%}
  - id: time
    kind: numeric
    ask: How long does it take to send the bytes of part (a)?
    unit: s
    answer: billions / 5 * s
    tolerance: {relative: 1%}
  - id: half
    kind: numeric
    ask: How large is half of it?
    unit: GB
    answer: 1e9 * byte * billions
    tolerance: {relative: 1%}
    mistakes:
      - id: whole
        value: 2e9 * byte * billions
        feedback: "That is part (a). See parts (b) and (c)."
  - id: format
    kind: choice
    ask: Which format do the numbers of part (c) have?
    options:
      - {id: bf16, text: bfloat16, correct: true}
      - {id: fp32, text: float32}
      - {id: fp8, text: 8-bit float}
explanation: |
  Let P be the number of parameters.

  **(a)** 2P is {{ 2 * billions }} GB.

  **(b)** The time is {{ billions / 5 }} s.

  **(c), (d)** Half of the size in part (a), and not of the time in part (b).
figures:
  - {id: sizes, type: stack, part: half, alt: A, unit: GB, categories: [x], bars: [BAR]}
  - {id: times, type: stack, part: time, alt: B, unit: GB, categories: [x], bars: [BAR]}
  - {id: both, type: stack, alt: C, unit: GB, categories: [x], bars: [BAR]}
""".replace("BAR", "{label: one, amounts: [1e9 * byte * billions]}")

SET = """\
id: quiz
title: A quiz
problems:
  - {problem: sample, parts: [PARTS]}
"""


def _paper(folder: Path, parts: str) -> Paper:
    bank = Bank.open([a_bank(folder, SPEC, solution=None, exam=SET.replace("PARTS", parts))])
    student = Student(id="ada")
    return paper(new_release(bank, bank.exam("quiz"), (student,), b"k" * 32), student)


def test_texts_refer_to_parts_by_the_letters_of_the_paper(tmp_path: Path) -> None:
    mine = _paper(tmp_path, "half, format")
    text = "\n".join(cell.source for cell in render(mine, TEMPLATES))
    assert "**1 (b)** Which format do the numbers of part (a) have?" in text
    assert "Parts (a) and (b) are about the same model." in text
    assert re.findall(r"^\| ([^-].*) \| .* \|$", text, re.M) == [
        "given",
        "Parameters for part (a)",
        "X for part (b)",
        "Y",
        "Bytes for part (a)",
    ]
    assert "2 B" in text
    assert "10 GB/s" not in text  # a convention for a part that was not asked
    (question,) = mine.questions
    part = question.keys["half"].part
    assert isinstance(part, Numeric)
    (mistake,) = part.mistakes
    assert mistake.feedback == "That is a part that was not asked. See part (a)."


def test_a_worked_solution_covers_only_the_parts_on_the_paper(tmp_path: Path) -> None:
    (question,) = _paper(tmp_path, "half, format").questions
    solution = worked_solution(question.variant, question.points)
    assert solution.splitlines() == [
        "Let P be the number of parameters.",
        "",
        "**(a), (b)** Half of the size in a part that was not asked, and not of the time in a part "
        "that was not asked.",
    ]
    blocks = solution_blocks(question.variant, question.points, solution)
    assert [figure.id for block in blocks for figure in block.figures] == ["sizes", "both"]


def test_a_paper_with_all_parts_keeps_every_text(tmp_path: Path) -> None:
    (question,) = _paper(tmp_path, "size, time, half, format").questions
    problem = question.variant.problem
    assert with_letters(problem, question.points) is problem
    assert problem.assumptions[1] == "Part (b): the link has 10 GB/s."
    assert worked_solution(question.variant, question.points).count("**(") == 3


def test_a_question_that_mentions_a_part_that_is_not_asked_is_refused(tmp_path: Path) -> None:
    what = r"part 'time' of 'sample' mentions part \(a\), 'size', which is not asked"
    with pytest.raises(SpecError, match=what) as refused:
        _paper(tmp_path, "time, half")
    assert refused.value.fix == "add 'size' to 'parts:', or omit 'time'"


def test_students_with_the_same_parts_share_one_problem(tmp_path: Path) -> None:
    problem = _paper(tmp_path, "size, time, half, format").questions[0].variant.problem
    first = with_letters(problem, ["half", "format"])
    assert with_letters(problem, ["half", "format"]) is first
    for number in range(100):  # others come and go
        with_letters(problem, [f"p{number}"])
    assert with_letters(problem, ["half", "format"]) == first
