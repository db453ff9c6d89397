"""A student's own check of a notebook: what is missing or unreadable, and never what is right."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from grader.errors import Location, SetupError, SubmissionError
from grader.kinds import Kind, Tried, Unreadable, kinds
from grader.model import Answer, CellRun, Evidence, Job, Limits, Raw, Submission, Trial, packages
from grader.notebook import Notebook, read
from grader.notebook.self_description import About, Sheet, about
from grader.runtime.execute import execute

LONGEST = 240
"""Characters of an answer that is shown back."""


class Found(StrEnum):
    """What the check says of one answer."""

    READ = "ok"
    PARTLY = "partly"
    """Some of its cells or items are blank or can't be read."""
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
    how: str = ""
    """How to write it, in the words of its cell; empty where the notebook has lost them."""
    tried: tuple[Tried, ...] = ()
    """The visible examples of a code part."""

    @property
    def passes(self) -> bool:
        """Whether it was read, and its visible examples pass."""
        return self.found is Found.READ and not any(tried.fault for tried in self.tried)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """A code cell that did not come to its end."""

    number: int
    """As Jupyter numbers code cells that are run from top to bottom."""
    index: int
    """Counting all cells of the notebook from 0."""
    line: int | None
    """Of the cell, from 1; None when it raised nothing."""
    error: str
    source: str
    """What stands in that line; empty where no line is known."""
    said: str
    """All of it in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """Everything the check has to say."""

    lines: tuple[Line, ...]
    trouble: tuple[str, ...]
    """Cells that raised or ran too long."""
    sha256: str
    seconds: float
    note: str | None = None
    stopped: tuple[Stopped, ...] = ()
    """The same as `trouble`, in its parts."""
    about: About = field(default_factory=About)
    """Whose notebook it says it is."""
    size: int = 0
    """Bytes of the file."""
    code_sha256: str = ""
    """Of the code alone, which an editor that saves the notebook again leaves as it is."""

    @property
    def complete(self) -> bool:
        """Whether every answer is there and readable."""
        return all(line.found is Found.READ for line in self.lines) and bool(self.lines)

    @property
    def ready(self) -> bool:
        """Whether every answer is there and readable, and every visible example passes."""
        return self.complete and all(line.passes for line in self.lines)


def check(path: Path, limits: Limits) -> Checked:
    """The check of the notebook in *path*. Runs its code on this machine, in the open."""
    data, notebook = load(path)
    known = about(notebook)
    if not known.sheets:
        raise SubmissionError(
            "this notebook has no answer cells such as 'q1_name = ...'",
            where=Location(str(path)),
            fix="check that it is the notebook of your exam",
        )
    evidence = _run(data, path, known.sheets, limits)
    stopped = tuple(_stopped(evidence, notebook))
    return Checked(
        lines=tuple(
            line_of(name, sheet, evidence.answers.get(name)) for name, sheet in known.sheets.items()
        ),
        trouble=tuple(one.said for one in stopped),
        sha256=evidence.submission_sha256,
        seconds=evidence.seconds,
        note=evidence.note,
        stopped=stopped,
        about=known,
        size=len(data),
        code_sha256=digest_of_code(notebook),
    )


def load(path: Path) -> tuple[bytes, Notebook]:
    """The bytes of a notebook's file, and what they say; errors name the file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        what = f"can't read the notebook: {(error.strerror or str(error)).lower()}"
        raise SetupError(what, where=Location(str(path)), fix="check the path") from None
    try:
        return data, read(data)
    except SubmissionError as error:
        raise SubmissionError(error.what, where=Location(str(path)), fix=error.fix) from None


def digest_of_code(notebook: Notebook) -> str:
    """SHA-256 of the code cells in their order, whatever ends their lines."""
    digest = hashlib.sha256()
    for cell in notebook.cells:
        source = "\n".join(cell.source.splitlines()).strip()
        if cell.type == "code" and source:
            digest.update(source.encode() + b"\0")
    return digest.hexdigest()


def _run(data: bytes, path: Path, sheets: Mapping[str, Sheet | None], limits: Limits) -> Evidence:
    submission = Submission(student="you", path=str(path), sha256=hashlib.sha256(data).hexdigest())
    trials = tuple(_trials(sheets))
    names = tuple(sheets)
    job = Job(submission=submission, names=names, trials=trials, limits=limits, sandbox="off")
    return execute(job, data)


def _kind(sheet: Sheet | None) -> Kind | None:
    name = str(sheet.get("kind")) if sheet else ""
    return kinds.find(name) if name in kinds else None


def _trials(sheets: Mapping[str, Sheet | None]) -> Iterator[Trial]:
    """What is to be done with functions: the visible examples alone."""
    for name, sheet in sheets.items():
        kind = _kind(sheet)
        if kind is None or sheet is None:
            continue
        try:
            found = kind.trial(name, kind.from_sheet(sheet))
        except (KeyError, TypeError, ValueError):
            continue  # the notebook's own description of the answer was edited
        if found is not None:
            yield found


def line_of(name: str, sheet: Sheet | None, answer: Answer | None) -> Line:
    """What the check says of an answer; *sheet* is what the notebook says of how it is read."""
    how = str(sheet.get("how") or "") if sheet else ""
    kind = _kind(sheet)
    if answer is None or answer.raw is None or answer.never_ran:
        why = answer.absent if answer and answer.absent else f"no cell sets {name}"
        waits = (answer.waits_for,) if answer and answer.never_ran else ()
        for package in (packages.absent(_imports(kind, sheet)) or waits)[:1]:
            how = f"install {package} (pip install {package}), then check again"
        return Line(name=name, found=Found.MISSING, text=why, how=how)
    if kind is None or sheet is None:
        return _unknown(name, answer.raw, how)
    try:
        return _read(name, kind, sheet, answer.raw)
    except Unreadable as reason:
        found = Found.EMPTY if reason.blank else Found.UNREADABLE
        return Line(name=name, found=found, text=reason.sentence, how=how)
    except (KeyError, TypeError, ValueError):
        # The notebook's own description of the answer was edited; grading does not use it.
        return _unknown(name, answer.raw, how)


def _imports(kind: Kind | None, sheet: Sheet | None) -> tuple[str, ...]:
    """The modules that the answer's own starter imports; never a name that a student wrote."""
    try:
        return kind.imports(kind.from_sheet(sheet)) if kind and sheet else ()
    except (KeyError, TypeError, ValueError):
        return ()  # the notebook's own description of the answer was edited


def _unknown(name: str, raw: Raw, how: str) -> Line:
    """What can be said of an answer when it isn't known how it is read."""
    if _is_blank(raw):
        return Line(name=name, found=Found.EMPTY, text="Nothing was filled in.", how=how)
    return Line(name=name, found=Found.READ, text="there is an answer", how=how)


def _is_blank(raw: object) -> bool:
    """Whether there is nothing in it but dots, however deep."""
    if isinstance(raw, list):
        return bool(raw) and all(_is_blank(item) for item in raw)
    if not isinstance(raw, Mapping):
        return False
    value = raw.get("v")
    if raw.get("t") == "dict" and isinstance(value, list):
        return bool(value) and all(_is_blank(pair[1]) for pair in value)
    if raw.get("t") == "str":
        return str(value).strip() in ("", "...")
    return raw.get("t") == "ellipsis" or _is_blank(value)


def _read(name: str, kind: Kind, sheet: Sheet, raw: Raw) -> Line:
    key = kind.from_sheet(sheet)
    value = kind.read(raw, key)
    lacks, tried = kind.lacks(value, key), kind.tried(value, key)
    said = kind.say(value, key)
    if tried:
        passed = sum(not one.fault for one in tried)
        said += f", {passed} of {len(tried)} visible examples pass"
    said = said if len(said) <= LONGEST else said[: LONGEST - 1] + "…"
    return Line(
        name=name,
        found=Found.PARTLY if lacks else Found.READ,
        text=f"{lacks}; read as {said}" if lacks else f"read as {said}",
        how=str(sheet.get("how") or ""),
        tried=tried,
    )


def _stopped(evidence: Evidence, notebook: Notebook) -> Iterator[Stopped]:
    # Numbered as Jupyter numbers code cells that are run from top to bottom.
    for number, cell in enumerate(evidence.cells, start=1):
        if cell.failed:
            yield Stopped(
                number=number,
                index=cell.index,
                line=cell.line,
                error=cell.trouble,
                source=_source(notebook, cell),
                said=cell.said(number),
            )


def _source(notebook: Notebook, run: CellRun) -> str:
    lines = notebook.cells[run.index].source.splitlines()
    return lines[run.line - 1].strip() if run.line and run.line <= len(lines) else ""
