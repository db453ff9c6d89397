"""The GitHub Actions output of `grader check --github`: annotations and a step summary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from grader.check.run import Checked, Line
from grader.cli.check_screen import NOT_RIGHT, outcome, sentence, sign
from grader.integrations.github.actions import Annotation, Level, summary
from grader.integrations.places import places


def annotations_of_check(checked: Checked, notebook: Path) -> Iterator[Annotation]:
    """Annotations for the student, each with its line in the notebook's file."""
    data = notebook.read_bytes()
    at = places(data)
    file = notebook.as_posix()
    for one in checked.stopped:
        yield Annotation(
            level=Level.ERROR,
            title=f"code cell {one.number}",
            message=one.error,
            file=file,
            line=at.of_cell(one.number, one.line),
        )
    for line in checked.lines:
        if not line.passes:
            yield Annotation(
                level=Level.WARNING,
                title=f"{line.name}: {sign(line)}",
                message=_message(line),
                file=file,
                line=at.answers.get(line.name) or _definition_line(data, line.name),
            )


def _definition_line(data: bytes, name: str) -> int | None:
    """The line of the notebook's file that defines the function or class *name*."""
    found = re.search(rf"(?:def|class) {re.escape(name)}\b".encode(), data)
    return data.count(b"\n", 0, found.start()) + 1 if found else None


def step_summary(checked: Checked) -> str:
    """The step summary: what was checked, and a table with one row per answer."""
    notes = [outcome(checked), "These are the public checks only. " + NOT_RIGHT]
    notes += [f"Did not run to its end: {one.said}" for one in checked.stopped]
    rows = [(line.name, sign(line), _message(line)) for line in checked.lines]
    return summary(checked.about.exam or "Exam", notes, ("Answer", "Check", "Result"), rows)


def _message(line: Line) -> str:
    faults = [one.fault for one in line.tried if one.fault]
    return "; ".join([sentence(line), *faults])
