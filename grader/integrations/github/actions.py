"""Text for GitHub Actions: annotations, step summaries, and outputs of steps."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from grader.errors import SetupError
from grader.integrations.base import StudentExporter, option
from grader.integrations.line_numbers import NotebookLines, notebook_lines
from grader.integrations.results import VERDICT_TEXTS, deduction_text, open_parts, reason_text
from grader.model.exported import Exported, Result
from grader.model.grade import Verdict
from grader.model.result import Feedback, ShownProblem, Standing
from grader.report import file_name
from grader.text.escape import escape_markdown, neutralize, neutralize_line, to_one_line
from grader.text.words import count_points, join_names, points

MOST = 10
"""Annotations per level that GitHub shows for one step."""
SUMMARY_BYTES = 1024 * 1024
"""Size limit of a step's summary. GitHub drops a longer one entirely."""

_TOKEN = re.compile(r"[0-9a-zA-Z-]{32,128}")
_CUT = "\n\nThe rest does not fit in a step summary; see the feedback page.\n"


@dataclass(frozen=True, kw_only=True)
class Actions(StudentExporter):
    """Print annotations for wrong answers, and append a summary to that of the workflow step.

    The annotations are GitHub Actions commands, shown in the log and beside the notebook.
    """

    out = None
    one_student = True
    examples = ("grader export actions results --student ada --notebook exam.ipynb",)
    notebook: Path | None = option(
        None,
        metavar="NB",
        exists=True,
        help="Notebook that the annotations point to, by its path in the repository.",
    )
    summary: Path | None = option(
        None,
        metavar="FILE",
        help="Append the summary to FILE. Default: $GITHUB_STEP_SUMMARY, if it is set.",
    )

    def export(self, subject: Result) -> Exported:
        """Returns the annotations as text to print, and the summary, which names open parts."""
        file, places = "", None
        if self.notebook is not None:
            file = self.notebook.as_posix()
            places = notebook_lines(self.notebook.read_bytes())
        target = self.summary or os.environ.get("GITHUB_STEP_SUMMARY")
        return Exported(
            files={},
            stdout=annotation_lines(annotations_of(subject, file, places)),
            appended_text={Path(target): summary_of(subject)} if target else {},
        )


class AnnotationLevel(StrEnum):
    """How severe GitHub shows an annotation to be."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """A message at a line of a file."""

    level: AnnotationLevel
    message: str
    title: str = ""
    file: str = ""
    line: int | None = None


def annotation_lines(annotations: Iterable[Annotation]) -> str:
    """Returns the workflow commands that make GitHub show *annotations*, one per line.

    If a level has more than `MOST` annotations, its last command counts and names the rest.
    """
    lines: list[str] = []
    listing = list(annotations)
    for level in AnnotationLevel:
        mine = [annotation for annotation in listing if annotation.level is level]
        shown = mine if len(mine) <= MOST else mine[: MOST - 1]
        lines += [_workflow_command(annotation) for annotation in shown]
        rest = mine[len(shown) :]
        if rest:
            names = join_names(
                [annotation.title or annotation.message for annotation in rest], most=20
            )
            message = f"{len(rest)} more: {names}"
            lines.append(_workflow_command(Annotation(level=level, message=message, title="More")))
    return "".join(f"{line}\n" for line in lines)


def _workflow_command(annotation: Annotation) -> str:
    """Returns the command that makes GitHub show *annotation*, without a line end."""
    places = {
        "file": annotation.file,
        "line": annotation.line if annotation.file else None,
        "title": annotation.title,
    }
    properties = ",".join(
        f"{key}={neutralize_line(str(value)).translate(_PROPERTY)}"
        for key, value in places.items()
        if value
    )
    message = neutralize(annotation.message).strip().translate(_DATA)
    return f"::{annotation.level.value}{' ' if properties else ''}{properties}::{message}"


_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", ":": "%3A", ",": "%2C"})
"""How characters are escaped in a command's message and in its properties."""


def annotations_of(
    result: Result, file: str, places: NotebookLines | None = None
) -> tuple[Annotation, ...]:
    """Returns annotations of a result, at lines of the notebook *file* that *places* has."""
    feedback = result.feedback
    error = partial(Annotation, level=AnnotationLevel.ERROR, file=file)
    annotations = [error(message=feedback.refusal)] if feedback.refusal else []
    annotations += [
        Annotation(level=AnnotationLevel.WARNING, message=text, file=file)
        for text in feedback.warnings
    ]
    for trouble in feedback.run.troubles if feedback.run else ():
        line = places.line_of_cell(trouble.number, trouble.line) if places else None
        title = f"code cell {trouble.number}"
        annotations.append(error(title=title, message=trouble.error, line=line))
    problems = () if feedback.refusal else feedback.problems
    for part in (part for problem in problems for part in problem.parts):
        if level := _LEVELS.get(part.verdict):
            worth = f"{points(part.points)} of {count_points(part.max_points)}"
            text = f"{VERDICT_TEXTS[part.verdict]}, {worth}. {to_one_line(reason_text(part))}"
            line = places.answers.get(part.name) if places else None
            annotations.append(
                Annotation(level=level, title=part.name, message=text.strip(), file=file, line=line)
            )
    return tuple(annotations)


_LEVELS = {
    Verdict.ABSENT: AnnotationLevel.WARNING,
    Verdict.UNREADABLE: AnnotationLevel.WARNING,
    Verdict.PARTIAL: AnnotationLevel.NOTICE,
    Verdict.MISTAKE: AnnotationLevel.NOTICE,
    Verdict.INCORRECT: AnnotationLevel.NOTICE,
}


def summary_of(result: Result) -> str:
    """Returns the step summary of *result* in GitHub Flavored Markdown."""
    feedback = result.feedback
    paragraphs = [_total_text(feedback)]
    if taken := deduction_text(feedback):
        paragraphs.append(taken)
    paragraphs += feedback.policy_notes
    if feedback.refusal:
        paragraphs.append(feedback.refusal)
    elif feedback.standing not in {Standing.GRADED, Standing.OPEN, Standing.EXEMPT}:
        paragraphs.append(f"{feedback.standing.value}.".capitalize())
    paragraphs += [f"Warning: {text}." for text in feedback.warnings]
    if feedback.run:
        paragraphs.append(feedback.run.sentence)
    waiting = open_parts(feedback.problems)
    if waiting:
        paragraphs.append(f"Still open: {join_names(waiting)}.")
    return markdown_summary(feedback.title, paragraphs, PART_COLUMNS, part_rows(feedback.problems))


PART_COLUMNS = ("Part", "Points", "Verdict", "Read as", "Why")


def part_rows(problems: Iterable[ShownProblem]) -> list[Sequence[str]]:
    """Returns the cells of a table with `PART_COLUMNS`, one row per part."""
    return [
        (
            part.name,
            f"{points(part.points) or 'open'} of {points(part.max_points)}",
            VERDICT_TEXTS[part.verdict],
            part.answer or "",
            reason_text(part),
        )
        for problem in problems
        for part in problem.parts
    ]


def _total_text(feedback: Feedback) -> str:
    """Returns the total so far; no number while everything is open, and for exempt students."""
    if feedback.standing is Standing.EXEMPT:
        return "Exempt, so there is no total"
    if feedback.total is None:
        return f"No points yet, of {points(feedback.max_score)}"
    total = f"{points(feedback.score)} of {count_points(feedback.max_score)}"
    return total if feedback.complete else f"{total} so far"


def markdown_summary(
    title: str, paragraphs: Iterable[str], head: Sequence[str], rows: Iterable[Sequence[str]]
) -> str:
    """Returns a step's summary from plain text, cut at a whole row if GitHub would drop it."""
    lines = [f"## {escape_markdown(title)}", ""]
    for sentence in paragraphs:
        lines += [escape_markdown(sentence, most=2000), ""]
    lines += [_table_row(head), "|" + "---|" * len(head)]
    lines += [_table_row(row) for row in rows]
    return fit_lines(lines)


def _table_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(escape_markdown(cell) for cell in cells) + " |"


def fit_lines(lines: Iterable[str], most: int = SUMMARY_BYTES) -> str:
    """Returns as many whole *lines* as fit in *most* bytes, and a sentence if some are cut."""
    kept: list[str] = []
    size = len(_CUT.encode())
    for line in lines:
        size += len(line.encode()) + 1
        if size > most:
            return "\n".join(kept) + "\n" + _CUT
        kept.append(line)
    return "\n".join(kept) + "\n"


def stop_commands(text: str, token: str) -> str:
    """Returns *text* between lines that keep GitHub Actions from executing workflow commands in it.

    *token* must be random, have at least 128 bits, and be printed nowhere else.
    """
    if not _TOKEN.fullmatch(token):
        raise SetupError(
            "the token around a student's text must be 32 to 128 letters and digits",
            fix="generate it with secrets.token_hex(16)",
        )
    if token in text:
        raise SetupError("a student's text contains the token around it", fix="generate a new one")
    body = text if text.endswith("\n") or not text else text + "\n"
    return f"::stop-commands::{token}\n{body}::{token}::\n"


def step_outputs(outputs: Mapping[str, str]) -> str:
    """Returns NAME=VALUE lines for GITHUB_OUTPUT; Classroom 50's runner reads no other form."""
    return "".join(f"{name}={' '.join(value.split())}\n" for name, value in outputs.items())


_HAS_FORM = b'<h2 id="requests">'
"""What a feedback page with a form for regrade requests contains; texts are escaped."""


def feedback_files(result: Result, results: Path) -> dict[str, bytes]:
    """Returns README.md, and the page of `grader report`. Raises SetupError if there is no page."""
    student = result.feedback.student.id
    page = results / "feedback" / file_name(student, ".html")
    try:
        html = page.read_bytes()
    except OSError:
        raise SetupError(
            f"there is no feedback page for '{student}'",
            where=str(page),
            fix="run `grader report` on these results first",
        ) from None
    text = summary_of(result)
    text += "\nThe full feedback is in `feedback.html`: download it and open it in a browser.\n"
    if _HAS_FORM in html:
        text += (
            "\nTo request a regrade, fill in the form in `feedback.html`, and paste the text that "
        )
        text += "it makes into a [new issue](../../issues/new).\n"
    return {"README.md": text.encode("utf-8", "replace"), "feedback.html": html}
