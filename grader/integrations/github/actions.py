"""Text for GitHub Actions: annotations, step summaries, outputs, and a guard around students' text.

Everything here is a string; whoever runs a step writes it where it belongs.
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
"""Annotations of a level that GitHub shows for one step."""
SUMMARY_BYTES = 1024 * 1024
"""What GitHub keeps of a step's summary: nothing at all of a longer one."""

_TOKEN = re.compile(r"[0-9a-zA-Z-]{32,128}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_CUT = "\n\nThe rest does not fit into a step's summary; see the feedback page.\n"


class Level(StrEnum):
    """How loud an annotation is."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """A sentence at a line of a file."""

    level: Level
    message: str
    title: str = ""
    file: str = ""
    line: int | None = None


def annotation_lines(found: Iterable[Annotation]) -> str:
    """The commands that make GitHub show *found*, a line each.

    Of each level at most as many as it shows; the last then says how many there are beyond.
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
            lines.append(_command(Annotation(level=level, message=more, title="and more")))
    return "".join(f"{line}\n" for line in lines)


def _command(one: Annotation) -> str:
    places = {"file": one.file, "line": one.line if one.file else None, "title": one.title}
    told = ",".join(f"{key}={_property(str(value))}" for key, value in places.items() if value)
    return f"::{one.level.value}{' ' if told else ''}{told}::{_data(one.message)}"


def _data(text: str) -> str:
    # The percent sign first, or what stands for the others would be escaped again.
    tame = inert(text).strip()
    return tame.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    flat = inert_line(text).replace("%", "%25")
    return flat.replace(":", "%3A").replace(",", "%2C")


def annotations_of(
    result: Result, file: str, places: Places | None = None
) -> tuple[Annotation, ...]:
    """What a student should look at, each at its place in the notebook *file* where it is known."""
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
        told.append(f"Still open: {listed(waiting)}")
    rows = [
        (part.name, _worth(part), SAID[part.verdict], part.answer or "", reason(part))
        for problem in feedback.problems
        for part in problem.parts
    ]
    head = ("Part", "Points", "Verdict", "Read as", "Why")
    return summary(feedback.title, told, head, rows)


def _total(feedback: Feedback) -> str:
    """The points, where any are settled: what is open is no zero."""
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
    """A step's summary: a heading, a paragraph a sentence, a table. Plain text goes in.

    Cut at whole rows where GitHub would otherwise show nothing.
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
    """As many whole lines as fit, and a sentence where some did not."""
    kept: list[str] = []
    size = len(_CUT.encode())
    for line in lines:
        size += len(line.encode()) + 1
        if size > most:
            return "\n".join(kept) + "\n" + _CUT
        kept.append(line)
    return "\n".join(kept) + "\n"


def guarded(text: str, token: str) -> str:
    """*text* between lines that tell the runner to take nothing in it for a command.

    *token* is random, from the caller, with 128 bits or more, and printed nowhere else. Raises
    SetupError for one that is shorter, or that stands in the text.
    """
    if not _TOKEN.fullmatch(token):
        raise SetupError(
            "the token around a student's text is no 32 to 128 letters and digits",
            fix="make it with secrets.token_hex(16)",
        )
    if token in text:
        raise SetupError("a student's text knows the token around it", fix="make a new one")
    body = text if text.endswith("\n") or not text else text + "\n"
    return f"::stop-commands::{token}\n{body}::{token}::\n"


def outputs_text(outputs: Mapping[str, str], delimiter: str) -> str:
    """What to append to the file of GITHUB_OUTPUT for *outputs*.

    A value of one line stands behind its name, as some programs look for it there; a longer one
    between lines with *delimiter*, which is random, from the caller, as the token of `guarded`.
    Raises SetupError for a name that the runner would not take, and for a delimiter that stands
    in a value.
    """
    if not _TOKEN.fullmatch(delimiter):
        raise SetupError(
            "the delimiter of outputs is no 32 to 128 letters and digits",
            fix="make it with secrets.token_hex(16)",
        )
    written = []
    for name, value in outputs.items():
        if not _NAME.fullmatch(name):
            raise SetupError(f"'{name}' is no name of an output", fix="letters, digits, _ and -")
        if delimiter in value:
            raise SetupError(f"the output '{name}' knows its delimiter", fix="make a new one")
        flat = value.replace("\r\n", "\n").replace("\r", "\n")
        several = "\n" in flat
        written.append(
            f"{name}<<{delimiter}\n{flat}\n{delimiter}\n" if several else f"{name}={flat}\n"
        )
    return "".join(written)


def log_lines(result: Result) -> str:
    """One result for a step's log: a line a part, without anything that could be a command."""
    feedback = result.feedback
    rows = [
        f"{part.name}: {_worth(part)} points, {SAID[part.verdict]}. {one_line(reason(part))}"
        for problem in feedback.problems
        for part in problem.parts
    ]
    total = f"{feedback.student.id}: {points(feedback.score)} of {points(feedback.max_score)}"
    return "".join(f"{inert_line(row).strip()}\n" for row in (*rows, total))
