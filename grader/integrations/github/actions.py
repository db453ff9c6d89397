"""Text for GitHub Actions: annotations, step summaries, outputs, and guards around students' text.

The functions only return strings; callers print or write them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from grader.errors import SetupError
from grader.integrations.places import Places
from grader.integrations.results import SAID, listed, open_parts, reason
from grader.model.exported import Result
from grader.model.grade import Verdict
from grader.model.result import Feedback, ShownPart, Standing
from grader.text.escape import inert, inert_line, markdown, one_line
from grader.words import points

MOST = 10
"""Annotations per level that GitHub shows for one step."""
SUMMARY_BYTES = 1024 * 1024
"""Size limit of a step's summary. GitHub drops a longer one entirely."""

_TOKEN = re.compile(r"[0-9a-zA-Z-]{32,128}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_CUT = "\n\nThe rest does not fit in a step summary; see the feedback page.\n"


class Level(StrEnum):
    """Severity of an annotation."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """A message at a line of a file."""

    level: Level
    message: str
    title: str = ""
    file: str = ""
    line: int | None = None


def annotation_lines(found: Iterable[Annotation]) -> str:
    """The workflow commands that make GitHub show *found*, one per line.

    If a level has more than `MOST` annotations, its last command counts and names the rest.
    """
    lines: list[str] = []
    listing = list(found)
    for level in Level:
        mine = [one for one in listing if one.level is level]
        shown = mine if len(mine) <= MOST else mine[: MOST - 1]
        lines += [_command(one) for one in shown]
        rest = mine[len(shown) :]
        if rest:
            names = listed([one.title or one.message for one in rest], most=20)
            more = f"{len(rest)} more: {names}"
            lines.append(_command(Annotation(level=level, message=more, title="More")))
    return "".join(f"{line}\n" for line in lines)


def _command(one: Annotation) -> str:
    places = {"file": one.file, "line": one.line if one.file else None, "title": one.title}
    told = ",".join(f"{key}={_property(str(value))}" for key, value in places.items() if value)
    return f"::{one.level.value}{' ' if told else ''}{told}::{_data(one.message)}"


def _data(text: str) -> str:
    # The percent sign first, or the other escapes would be escaped again.
    tame = inert(text).strip()
    return tame.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    flat = inert_line(text).replace("%", "%25")
    return flat.replace(":", "%3A").replace(",", "%2C")


def annotations_of(
    result: Result, file: str, places: Places | None = None
) -> tuple[Annotation, ...]:
    """Annotations of a result, at lines of the notebook *file* that *places* has."""
    feedback = result.feedback
    found = []
    if feedback.refusal:
        found.append(Annotation(level=Level.ERROR, message=feedback.refusal, file=file))
    found += [Annotation(level=Level.WARNING, message=w, file=file) for w in feedback.warnings]
    troubles = feedback.run.troubles if feedback.run else ()
    found += [
        Annotation(
            level=Level.ERROR,
            title=f"code cell {trouble.number}",
            message=trouble.error,
            file=file,
            line=places.of_cell(trouble.number, trouble.line) if places else None,
        )
        for trouble in troubles
    ]
    for problem in feedback.problems:
        found += [
            Annotation(
                level=_LEVELS[part.verdict],
                title=part.name,
                message=_message(part),
                file=file,
                line=places.answers.get(part.name) if places else None,
            )
            for part in problem.parts
            if part.verdict in _LEVELS and not feedback.refusal
        ]
    return tuple(found)


_LEVELS = {
    Verdict.ABSENT: Level.WARNING,
    Verdict.UNREADABLE: Level.WARNING,
    Verdict.PARTIAL: Level.NOTICE,
    Verdict.MISTAKE: Level.NOTICE,
    Verdict.INCORRECT: Level.NOTICE,
}


def _message(part: ShownPart) -> str:
    worth = f"{points(part.points)} of {points(part.max_points)} points"
    return f"{SAID[part.verdict]}, {worth}. {one_line(reason(part))}".strip()


def summary_of(result: Result) -> str:
    """A step's summary of one result, in GitHub's Markdown."""
    feedback = result.feedback
    told = [_total(feedback)]
    if feedback.refusal:
        told.append(feedback.refusal)
    elif feedback.standing not in {Standing.GRADED, Standing.OPEN}:
        told.append(f"{feedback.standing.value}.".capitalize())
    told += [f"Warning: {text}." for text in feedback.warnings]
    if feedback.run:
        told.append(feedback.run.sentence)
    waiting = open_parts(feedback.problems)
    if waiting:
        told.append(f"Still open: {listed(waiting)}.")
    rows = [
        (part.name, _worth(part), SAID[part.verdict], part.answer or "", reason(part))
        for problem in feedback.problems
        for part in problem.parts
    ]
    head = ("Part", "Points", "Verdict", "Read as", "Why")
    return summary(feedback.title, told, head, rows)


def _total(feedback: Feedback) -> str:
    """The total so far; no number while everything is open."""
    if feedback.total is None:
        return f"No points yet, of {points(feedback.max_score)}"
    total = f"{points(feedback.score)} of {points(feedback.max_score)} points"
    return total if feedback.complete else f"{total} so far"


def _worth(part: ShownPart) -> str:
    got = "open" if part.points is None else points(part.points)
    return f"{got} of {points(part.max_points)}"


def summary(
    title: str, told: Iterable[str], head: Sequence[str], rows: Iterable[Sequence[str]]
) -> str:
    """A step's summary from plain text: a heading, one paragraph per sentence, and a table.

    Truncated at whole rows if it exceeds GitHub's limit.
    """
    lines = [f"## {markdown(title)}", ""]
    for sentence in told:
        lines += [markdown(sentence, most=2000), ""]
    lines += [_row(head), "|" + "---|" * len(head)]
    lines += [_row(row) for row in rows]
    return fitted(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(markdown(cell) for cell in cells) + " |"


def fitted(lines: Iterable[str], most: int = SUMMARY_BYTES) -> str:
    """As many whole *lines* as fit in *most* bytes, and a sentence if some did not."""
    kept: list[str] = []
    size = len(_CUT.encode())
    for line in lines:
        size += len(line.encode()) + 1
        if size > most:
            return "\n".join(kept) + "\n" + _CUT
        kept.append(line)
    return "\n".join(kept) + "\n"


def guarded(text: str, token: str) -> str:
    """*text* between lines that stop the runner from interpreting commands in it.

    *token* must be random, have at least 128 bits, and be printed nowhere else. Raises SetupError
    if it is too short or occurs in the text.
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


def outputs_text(outputs: Mapping[str, str], delimiter: str) -> str:
    """The lines to append to the file GITHUB_OUTPUT for *outputs*.

    A value of one line is written as NAME=VALUE, which some programs expect; a longer one between
    lines with *delimiter*, which must be random like the token of `guarded`. Raises SetupError
    for a name that the runner does not accept, and if the delimiter occurs in a value.
    """
    if not _TOKEN.fullmatch(delimiter):
        raise SetupError(
            "the delimiter of outputs must be 32 to 128 letters and digits",
            fix="generate it with secrets.token_hex(16)",
        )
    written = []
    for name, value in outputs.items():
        if not _NAME.fullmatch(name):
            raise SetupError(
                f"'{name}' is not a valid name of an output", fix="use letters, digits, _ and -"
            )
        if delimiter in value:
            raise SetupError(
                f"the output '{name}' contains its delimiter", fix="generate a new one"
            )
        flat = value.replace("\r\n", "\n").replace("\r", "\n")
        several = "\n" in flat
        written.append(
            f"{name}<<{delimiter}\n{flat}\n{delimiter}\n" if several else f"{name}={flat}\n"
        )
    return "".join(written)


def log_lines(result: Result) -> str:
    """One result for a step's log: one line per part, with workflow commands disarmed."""
    feedback = result.feedback
    rows = [
        f"{part.name}: {_worth(part)} points, {SAID[part.verdict]}. {one_line(reason(part))}"
        for problem in feedback.problems
        for part in problem.parts
    ]
    total = f"{feedback.student.id}: {points(feedback.score)} of {points(feedback.max_score)}"
    return "".join(f"{inert_line(row).strip()}\n" for row in (*rows, total))
