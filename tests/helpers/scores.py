"""A paper of four parts, evidence for it, and the marks that it earns."""

from __future__ import annotations

from typing import Any

from grader.bank.problem import problem_from
from grader.bank.yaml12 import parse_yaml
from grader.draw import draw, points_of
from grader.grading.score import score
from grader.model import (
    Answer,
    Evidence,
    ExamSet,
    Mark,
    Outcome,
    Paper,
    Question,
    Slot,
    Student,
)
from grader.wire.encoding import encode_answer

CHAIN = """\
id: chain
title: Time to read weights
family: memory-math
parameters:
  billions: {choice: [7]}
  gpus: {choice: [8]}
values:
  weights: 2 * byte * billions * 1e9
prompt: A model with {{ billions }} B parameters on {{ gpus }} GPUs.
parts:
  - id: share
    kind: numeric
    ask: Bytes on one GPU?
    points: 2
    unit: GB
    answer: weights / gpus
    tolerance: {relative: 1%}
    mistakes:
      - {id: fp32, value: 2 * weights / gpus, credit: 25%, feedback: That is fp32.}
  - id: time
    kind: numeric
    ask: Time to read them at 1 TB/s?
    points: 4
    unit: ms
    uses: [share]
    carry: {discount: 25%, within: 20}
    answer: share / (1 * TB / s)
    tolerance: {relative: 1%}
  - id: fits
    kind: choice
    ask: Does it fit into 3 GB?
    points: 1
    uses: [share]
    options:
      - {id: "yes", text: "Yes", correct: share <= 3 * GB}
      - {id: "no", text: "No", correct: share > 3 * GB}
    shuffle: false
  - id: why
    kind: explanation
    ask: Why?
    rubric: Names half a word for each.
    points: 1
"""


def a_paper(text: str = CHAIN) -> Paper:
    problem = problem_from(parse_yaml(text.encode(), "chain.yaml"))
    variant = draw(problem, b"seed", {})
    question = Question(
        number=1, variant=variant, points=points_of(problem, Slot(problem=problem.id))
    )
    exam = ExamSet(id="quiz", title="Quiz", problems=(problem.id,))
    return Paper(student=Student(id="ada"), exam=exam, release="r", questions=(question,))


def evidence(**answers: Any) -> Evidence:
    found = {f"q1_{n}": Answer(name=f"q1_{n}", raw=encode_answer(v)) for n, v in answers.items()}
    return Evidence(
        submission_sha256="a" * 64, outcome=Outcome.FINISHED, answers=found, cells=(), seconds=1.0
    )


def graded(paper: Paper | None = None, **answers: Any) -> dict[str, Mark]:
    grade = score(paper or a_paper(), evidence(**answers))
    return {mark.part: mark for mark in grade.marks}
