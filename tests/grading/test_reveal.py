"""What a student may see before and after release, on real problems with real keys."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from grader.bank.problem import problem_from
from grader.bank.yaml12 import parse_yaml
from grader.draw import draw, points_of
from grader.errors import GraderError
from grader.grading.reveal import reveal
from grader.grading.score import score, score_refused
from grader.grading.tally import tally
from grader.kinds import kinds
from grader.kinds.answers import answer_as_python
from grader.model import (
    Answer,
    CellRun,
    Evidence,
    ExamSet,
    Outcome,
    Override,
    Paper,
    Question,
    Slot,
    Student,
    Submission,
    Verdict,
)
from grader.model.result import Standing
from grader.report import feedback_page, grade_json
from grader.wire.encoding import encode_answer
from tests.helpers.report import TEMPLATES, a_mark, a_row

SPEC = """\
id: secret
title: Bytes on one GPU
family: memory-math
topics: [fsdp, mixed-precision]
parameters:
  billions: {choice: [7]}
  gpus: {choice: [12]}
values:
  state: 16 * byte * billions * 1e9
assumptions:
  - Adam in bf16 mixed precision with {{ gpus }} ranks.
prompt: A model with {{ billions }} B parameters is sharded over {{ gpus }} GPUs.
parts:
  - id: per_gpu
    kind: numeric
    ask: How much does one of the {{ gpus }} GPUs hold?
    points: 2
    unit: GB
    answer: state / gpus
    tolerance: {relative: 3%, because: the inputs are rounded}
    mistakes:
      - {id: not-sharded, value: state, credit: 25%, feedback: That is all of it.}
  - id: fits
    kind: choice
    ask: Which statement holds?
    points: 1
    options:
      - {id: roomy, text: It fits with room to spare, correct: true}
      - {id: tight, text: It does not fit at all, feedback: Look at the sum again.}
      - {id: never, text: It fits only when offloaded}
  - id: nodes
    kind: integer
    ask: How many nodes with eight GPUs are needed?
    points: 1
    answer: ceil(gpus / 8) + 17
  - id: why
    kind: explanation
    ask: Why?
    rubric: Says that the state is split evenly.
    points: 1
explanation: |
  Everything is {{ state | unit("GB") }}, so each GPU holds {{ per_gpu | unit("GB", 4) }}.
"""
# 16 B * 7e9 / 12 = 9.333... GB, accepted from 9.0533 to 9.6133 GB; 19 nodes.
SECRETS = (
    "9.33",
    "9.05",
    "9.61",
    "9333",
    "9.3 ",
    "112 GB",
    "room to spare",
    "roomy",
    "19",
    "nineteen",
    "split evenly",
    "3 %",
    "3%",
    "rounded",
    "not-sharded",
)


LETTERED = """\
id: letters
title: Letters
family: memory-math
parameters: {gpus: {choice: [12]}}
prompt: "{{ gpus }} GPUs."
parts:
  - id: several
    kind: multi_choice
    ask: Which hold?
    points: 2
    shuffle: false
    options:
      - {id: one, text: "Weights on {{ gpus }} GPUs", correct: true}
      - {id: two, text: Gradients, correct: true}
      - {id: three, text: Buffers}
  - id: sequence
    kind: ordering
    ask: In which order?
    points: 2
    items:
      - {id: first, text: Forward}
      - {id: second, text: Backward}
      - {id: third, text: Optimizer}
    order: [[first, second], [second, third]]
explanation: None.
"""


def test_letters_are_shown_with_what_they_stand_for_before_release() -> None:
    problem = problem_from(parse_yaml(LETTERED.encode(), "letters.yaml"))
    variant = draw(problem, b"seed", {})
    points = points_of(problem, Slot(problem=problem.id))
    exam = ExamSet(id="quiz", title="Quiz", problems=(problem.id,))
    question = Question(number=1, variant=variant, points=points)
    paper = Paper(student=Student(id="ada"), exam=exam, release="r1", questions=(question,))
    grade = score(paper, evidence({"q1_several": "AC", "q1_sequence": "BCA"}))
    (row,) = tally({"ada": paper.student}, [grade], max_points=lambda _: 0.0)
    shown = reveal(row, paper, published=False)
    several, sequence = shown.problems[0].parts
    assert several.answer == "A, C"
    assert several.chosen_options == ("**A.** Weights on 12 GPUs", "**C.** Buffers")
    assert [text[:7] for text in sequence.chosen_options] == ["**B.** ", "**C.** ", "**A.** "]
    page = feedback_page(shown, TEMPLATES)
    assert "Weights on 12 GPUs" in page
    assert "Gradients" not in page


def a_paper() -> Paper:
    problem = problem_from(parse_yaml(SPEC.encode(), "secret.yaml"))
    variant = draw(problem, b"seed", {})
    points = points_of(problem, Slot(problem=problem.id))
    exam = ExamSet(id="quiz", title="Quiz", problems=(problem.id,))
    questions = (Question(number=1, variant=variant, points=points),)
    return Paper(student=Student(id="ada"), exam=exam, release="r1", questions=questions)


PAPER = a_paper()


def wrong_letter() -> str:
    key = PAPER.questions[0].variant.keys["fits"]
    right = answer_as_python(kinds.find("choice"), key).strip("\"'")
    return next(letter for letter in "ABC" if letter != right)


def evidence(answers, **changes):
    fields: dict[str, Any] = {
        "submission_sha256": "a" * 64,
        "outcome": Outcome.FINISHED,
        "answers": {
            name: Answer(name=name, raw=encode_answer(value)) for name, value in answers.items()
        },
        "cells": (CellRun(index=1, outcome=Outcome.FINISHED, seconds=0.5),),
        "seconds": 1.0,
    }
    return Evidence(**fields | changes)


WRONG = {
    "q1_per_gpu": "112 GB",
    "q1_fits": wrong_letter(),
    "q1_nodes": 2,
    "q1_why": "Because every GPU keeps its own share of the state.",
}


def shown(answers, *, published=False, overrides=(), **changes):
    return shown_of(evidence(answers, **changes), published=published, overrides=overrides)


def shown_of(found, *, published=False, overrides=()):
    (row,) = tally(
        {"ada": PAPER.student},
        [score(PAPER, found)],
        max_points=lambda _: 0.0,
        overrides=overrides,
    )
    return row, reveal(row, PAPER, published=published, evidence=found)


def page_text(feedback) -> str:
    page = feedback_page(feedback, TEMPLATES)
    return page[page.index("</style>") :]


@pytest.mark.parametrize(
    "answers",
    [
        {**WRONG, "q1_per_gpu": 50.0},
        {**WRONG, "q1_per_gpu": [1, 2]},
        {**WRONG, "q1_per_gpu": "many", "q1_fits": 7, "q1_nodes": 2.5},
        {},
    ],
    ids=["wrong", "list", "unreadable", "blank"],
)
def test_nothing_of_the_key_is_in_what_a_student_gets_before_release(answers):
    row, feedback = shown(answers)
    page = page_text(feedback)
    plain = grade_json(row, exam="quiz", engine="0.1.0", release="r1")
    for secret in SECRETS:
        for text in (page, plain, repr(feedback)):
            assert secret not in text, (
                f"{secret!r} in {text[max(0, text.find(secret) - 80) :][:200]}"
            )
    key = PAPER.questions[0].variant.keys["per_gpu"]
    assert f"{answer_as_python(kinds.find('numeric'), key)}"[:4] not in page


def test_each_secret_is_there_after_release_so_the_test_above_can_fail():
    _, feedback = shown(WRONG, published=True)
    page = page_text(feedback)
    for secret in ("9.33", "9.05", "9.61", "112 GB", "room to spare", "19", "rounded"):
        assert secret in page


def test_before_release_a_student_sees_the_ask_the_answer_as_read_and_why():
    row, feedback = shown(WRONG)
    (problem,) = feedback.problems
    assert (problem.prompt, problem.given_values, problem.assumptions, problem.solution) == (
        None,
        (),
        (),
        None,
    )
    part = problem.parts[0]
    assert part.ask == "How much does one of the 12 GPUs hold?"
    assert part.answer == "112 GB"
    assert (part.verdict, part.points, part.max_points) == (Verdict.MISTAKE, 0.5, 2.0)
    assert "That is all of it." in part.why
    assert part.accepted_answer is None
    assert feedback.score == row.score
    assert not feedback.complete
    assert feedback.unsettled == 1


def test_after_release_a_student_sees_interval_solution_and_given_values():
    _, feedback = shown(WRONG, published=True)
    (problem,) = feedback.problems
    assert problem.prompt == "A model with 7 B parameters is sharded over 12 GPUs."
    assert [(line.label, line.value) for line in problem.given_values] == [
        ("billions", "7"),
        ("gpus", "12"),
    ]
    assert problem.assumptions == ("Adam in bf16 mixed precision with 12 ranks.",)
    assert problem.solution == "Everything is 112 GB, so each GPU holds 9.333 GB."
    assert "9.05333" in problem.parts[0].accepted_answer
    assert "the inputs are rounded" in problem.parts[0].accepted_answer


def test_a_student_reads_why_points_were_set_and_not_by_whom():
    given_points = Override(
        student="ada", name="q1_why", points=1.0, reason="good", by="prof", at="now"
    )
    _, feedback = shown(WRONG, overrides=[given_points])
    assert "prof" not in page_text(feedback)
    assert "good" in feedback.problems[0].parts[3].why
    assert feedback.complete


def test_what_to_look_at_tells_how_to_write_it_or_where_to_read():
    answers = {"q1_per_gpu": [1], "q1_nodes": 3, "q1_fits": ..., "q1_why": None}
    found = evidence(answers)
    undefined = Answer(name="q1_why", raw=None, absent="code cell 3 stopped")
    found = replace(found, answers={**found.answers, "q1_why": undefined})
    _, feedback = shown_of(found)
    per_gpu, fits, nodes, why = feedback.problems[0].parts
    assert per_gpu.look_at == "Expected form: a number in GB, or a text with its unit."
    assert fits.look_at.startswith("Expected form: one letter")
    assert nodes.look_at == (
        "Review the conventions of the question in your notebook one by one. "
        "Review: fsdp, mixed precision."
    )
    assert why.look_at.startswith("Restart the kernel and run all cells")


def test_why_a_file_can_not_be_read_is_said_once():
    refused = Submission(student="ada", path="a", sha256="1", refusal="it is not a notebook")
    grade = score_refused(PAPER, refused)
    (row,) = tally({"ada": PAPER.student}, [grade], max_points=lambda _: 0.0, submissions=[refused])
    feedback = reveal(row, PAPER, published=False)
    assert page_text(feedback).count("it is not a notebook") == 1
    assert {part.verdict for part in feedback.problems[0].parts} == {Verdict.UNREADABLE}


def test_a_newer_file_that_waits_is_said_above_the_points_of_the_old_one():
    grade = score(PAPER, evidence({"q1_per_gpu": 9.333}))
    newer = Submission(student="ada", path="b", sha256="b" * 64, refusal="it is a picture")
    (row,) = tally({"ada": PAPER.student}, [grade], max_points=lambda _: 0.0, submissions=[newer])
    feedback = reveal(row, PAPER, published=False)
    page = page_text(feedback)
    assert "newer file that is not graded yet" in page
    assert f"<strong>{row.score:g}</strong> <span>of {row.max_score:g} points so far" in page
    assert "it is a picture" not in page
    assert feedback.problems[0].parts[0].verdict is Verdict.CORRECT


def test_a_correct_answer_needs_no_advice():
    _, feedback = shown({"q1_per_gpu": 9.333})
    assert feedback.problems[0].parts[0].verdict is Verdict.CORRECT
    assert feedback.problems[0].parts[0].look_at == ""


def test_how_the_notebook_ran_is_told_in_words():
    cells = (
        CellRun(index=1, outcome=Outcome.FINISHED, seconds=0.1),
        CellRun(index=4, outcome=Outcome.FINISHED, seconds=0.1, error="NameError: x", line=3),
        CellRun(index=6, outcome=Outcome.TIMEOUT, seconds=60.0),
        CellRun(index=8, outcome=Outcome.FINISHED, seconds=0.1, error="E" * 9000),
    )
    _, feedback = shown({}, cells=cells)
    assert feedback.run.sentence == "3 of 4 code cells did not finish."
    assert [(t.number, t.error, t.line) for t in feedback.run.troubles[:2]] == [
        (2, "NameError: x", 3),
        (3, "timeout", None),
    ]
    assert len(feedback.run.troubles[2].error) < 600
    assert re.search(r"Code cell 2, line 3\s*<pre>NameError: x</pre>", page_text(feedback))


@pytest.mark.parametrize(
    ("outcome", "note", "sentence"),
    [
        (Outcome.FINISHED, None, "The code cell ran."),
        (
            Outcome.TIMEOUT,
            "code cell 3 took 9 s",
            "A time limit was reached: code cell 3 took 9 s.",
        ),
        (Outcome.OUT_OF_MEMORY, None, "The notebook exceeded its memory limit."),
        (Outcome.CRASHED, None, "The kernel stopped."),
    ],
)
def test_every_outcome_has_its_sentence(outcome, note, sentence):
    _, feedback = shown({}, outcome=outcome, note=note)
    assert feedback.run.sentence == sentence


def test_a_notebook_without_code_is_not_said_to_have_run():
    _, feedback = shown({}, cells=())
    assert feedback.run.sentence == "The notebook has no code cells."


def test_our_fault_is_said_to_be_ours():
    _, feedback = shown({}, outcome=Outcome.REFUSED, note="no sandbox")
    assert "not your fault" in feedback.run.sentence
    assert not feedback.complete


def test_a_student_without_a_submission_gets_a_page_that_says_so():
    (row,) = tally({"ada": PAPER.student}, [], max_points={"ada": 5.0}.__getitem__)
    feedback = reveal(row, PAPER, published=True)
    assert feedback.standing is Standing.MISSING
    assert feedback.problems == ()
    assert "We have no submission from you." in page_text(feedback)


def test_marks_of_another_release_are_an_error_that_says_what_to_do():
    row = a_row("ada", a_mark("q7_elsewhere"))
    with pytest.raises(GraderError, match="q7_elsewhere") as caught:
        reveal(row, PAPER, published=False)
    assert "release" in caught.value.fix


def test_the_json_has_exactly_the_keys_of_the_contract():
    row, _ = shown(WRONG)
    data = json.loads(grade_json(row, exam="x", engine="y", release="z"))
    assert list(data) == [
        "student",
        "set",
        "submission_sha256",
        "score",
        "max_score",
        "complete",
        "marks",
        "engine",
        "release",
        "environment",
    ]
    assert list(data["marks"][0]) == [
        "problem",
        "part",
        "name",
        "kind",
        "points",
        "max_points",
        "verdict",
        "mistake",
        "answer",
        "feedback",
    ]
    assert data["set"] == "quiz"
    assert data["release"] == "r1"
    assert data["complete"] is False
    assert data["marks"][3]["points"] is None
    assert data["marks"][0]["mistake"] == "not-sharded"
