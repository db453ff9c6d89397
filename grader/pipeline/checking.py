"""A student's own check of a notebook: what is missing or unreadable, and never what is right."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from grader.errors import Location, SetupError, SubmissionError
from grader.execute import execute
from grader.kinds import Unreadable, kinds
from grader.model import Answer, Evidence, Job, Limits, Submission, Trial
from grader.notebook import Notebook, read

_ANSWER = re.compile(r"^(q\d+_[a-z][a-z0-9_]*)\s*=", re.M)


LONGEST = 120
"""Of an answer that is shown back in a line of the terminal."""


class Found(StrEnum):
    """What the check says of one answer."""

    READ = "ok"
    EMPTY = "empty"
    MISSING = "missing"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One answer as the check found it."""

    name: str
    found: Found
    text: str
    """Such as "read as 28 GB", or why it can't be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """Everything the check has to say."""

    lines: tuple[Line, ...]
    trouble: tuple[str, ...]
    """Cells that raised or ran too long."""
    sha256: str
    seconds: float
    note: str | None = None

    @property
    def ready(self) -> bool:
        """Whether every answer is there and readable."""
        return all(line.found is Found.READ for line in self.lines) and bool(self.lines)


def check(path: Path, limits: Limits) -> Checked:
    """The check of the notebook in *path*. Runs its code on this machine, in the open."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SetupError(
            f"can't read the notebook: {error.strerror}", where=Location(str(path)), fix="check it"
        ) from None
    try:
        notebook = read(data)
    except SubmissionError as error:
        raise SubmissionError(error.what, where=Location(str(path)), fix=error.fix) from None
    sheets = _sheets(notebook)
    if not sheets:
        raise SubmissionError(
            "this notebook has no answer cells such as 'q1_name = ...'",
            where=Location(str(path)),
            fix="check that it is the notebook of your exam",
        )
    evidence = _run(data, path, sheets, limits)
    lines = tuple(_line(name, sheet, evidence.answers.get(name)) for name, sheet in sheets.items())
    return Checked(
        lines=lines,
        trouble=tuple(_trouble(evidence)),
        sha256=evidence.submission_sha256,
        seconds=evidence.seconds,
        note=evidence.note,
    )


def _sheets(notebook: Notebook) -> dict[str, Mapping[str, object] | None]:
    """Every answer's name and how it is read.

    From the notebook's metadata; where an editor dropped that, from the names in the code, and
    then nothing is known of units.
    """
    about = notebook.metadata.get("grader")
    listed = about.get("answers") if isinstance(about, Mapping) else None
    if isinstance(listed, list):
        found = {
            str(entry["name"]): entry
            for entry in listed
            if isinstance(entry, Mapping) and isinstance(entry.get("name"), str)
        }
        if found:
            return dict(found)
    code = "\n".join(c.source for c in notebook.cells if c.type == "code")
    return dict.fromkeys(_ANSWER.findall(code))


def _run(
    data: bytes, path: Path, sheets: Mapping[str, Mapping[str, object] | None], limits: Limits
) -> Evidence:
    submission = Submission(student="you", path=str(path), sha256=hashlib.sha256(data).hexdigest())
    trials = tuple(_trials(sheets))
    names = tuple(sheets)
    job = Job(submission=submission, names=names, trials=trials, limits=limits, sandbox="off")
    return execute(job, data)


def _trials(sheets: Mapping[str, Mapping[str, object] | None]) -> Iterator[Trial]:
    """What is to be done with functions: the visible examples alone."""
    for name, sheet in sheets.items():
        kind = str(sheet.get("kind")) if sheet else ""
        if sheet is None or kind not in kinds:
            continue
        try:
            found = kinds.find(kind).trial(name, kinds.find(kind).from_sheet(sheet))
        except (KeyError, TypeError, ValueError):
            continue  # the notebook's own description of the answer was edited
        if found is not None:
            yield found


def _line(name: str, sheet: Mapping[str, object] | None, answer: Answer | None) -> Line:
    if answer is None or answer.raw is None:
        why = answer.absent if answer and answer.absent else f"no cell sets {name}"
        return Line(name=name, found=Found.MISSING, text=why)
    kind = str(sheet.get("kind")) if sheet else None
    if sheet is None or kind not in kinds:
        blank = answer.raw.get("t") == "ellipsis"
        return Line(
            name=name,
            found=Found.EMPTY if blank else Found.READ,
            text="still the three dots" if blank else "there is an answer",
        )
    try:
        key = kinds.find(str(kind)).from_sheet(sheet)
        value = kinds.find(str(kind)).read(answer.raw, key)
        said = kinds.find(str(kind)).say(value, key)
        more = kinds.find(str(kind)).checked(value, key)
        said = f"{said}, {more}" if more else said
        said = said if len(said) <= LONGEST else said[: LONGEST - 1] + "…"
        return Line(name=name, found=Found.READ, text=f"read as {said}")
    except Unreadable as reason:
        found = Found.EMPTY if reason.blank else Found.UNREADABLE
        return Line(name=name, found=found, text=reason.sentence)
    except (KeyError, TypeError, ValueError):
        # The notebook's own description of the answer was edited; grading does not use it.
        return Line(name=name, found=Found.READ, text="there is an answer")


def _trouble(evidence: Evidence) -> Iterator[str]:
    # Numbered as Jupyter numbers code cells that are run from top to bottom.
    for number, cell in enumerate(evidence.cells, start=1):
        if cell.failed:
            yield cell.said(number)
