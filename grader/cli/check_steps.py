"""The GitHub Actions output of `grader check --github`: annotations and a step summary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from grader.cli.check_screen import NOT_RIGHT, answer_sentence, outcome_sentence, status_word
from grader.collect.check.run import AnswerLine, CheckResult
from grader.integrations.github.actions import Annotation, AnnotationLevel, markdown_summary
from grader.integrations.line_numbers import notebook_lines


def annotations_of_check(checked: CheckResult, notebook: Path) -> Iterator[Annotation]:
    """Yields annotations for the student, each with its line in the notebook's file."""
    data = notebook.read_bytes()
    at = notebook_lines(data)
    file = notebook.as_posix()
    for cell in checked.stopped_cells:
        yield Annotation(
            level=AnnotationLevel.ERROR,
            title=f"code cell {cell.number}",
            message=cell.error,
            file=file,
            line=at.line_of_cell(cell.number, cell.line),
        )
    for line in checked.lines:
        if not line.passes:
            yield Annotation(
                level=AnnotationLevel.WARNING,
                title=f"{line.name}: {status_word(line)}",
                message=_answer_message(line),
                file=file,
                line=at.answers.get(line.name) or _definition_line(data, line.name),
            )


def _definition_line(data: bytes, name: str) -> int | None:
    """Returns the line of the notebook's file that defines the function or class *name*."""
    match = re.search(rf"(?:def|class) {re.escape(name)}\b".encode(), data)
    return data.count(b"\n", 0, match.start()) + 1 if match else None


def step_summary(checked: CheckResult) -> str:
    """Returns the step summary: what was checked, and a table with one row per answer."""
    notes = [outcome_sentence(checked), "These are the public checks only. " + NOT_RIGHT]
    notes += [f"Did not run to its end: {cell.message}" for cell in checked.stopped_cells]
    rows = [(line.name, status_word(line), _answer_message(line)) for line in checked.lines]
    return markdown_summary(
        checked.about.exam or "Exam", notes, ("Answer", "Check", "Result"), rows
    )


def _answer_message(line: AnswerLine) -> str:
    faults = [example.fault for example in line.example_results if example.fault]
    return "; ".join([answer_sentence(line), *faults])
