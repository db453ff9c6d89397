"""Checks a notebook for its student: what is missing or unreadable, but not what is correct."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from grader.errors import Location, SubmissionError
from grader.files import read_bytes
from grader.kinds import Kind, Unreadable, kinds
from grader.kinds.cells import missing_parts
from grader.kinds.code import CodeKind, ExampleResult
from grader.model import Answer, CallPlan, CellRun, Evidence, Job, Limits, Raw, Submission, packages
from grader.notebook import Notebook, read
from grader.notebook.render.answer_cells import modules_needed
from grader.notebook.self_description import SelfDescription, Sheet, read_description
from grader.runtime.execute import execute

LONGEST = 240


class AnswerStatus(StrEnum):
    """The status of one answer."""

    READ = "ok"
    PARTLY = "partly"
    """Some of its table cells or items are blank or can't be read."""
    EMPTY = "empty"
    MISSING = "missing"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLine:
    """The result of the check for one answer."""

    name: str
    status: AnswerStatus
    text: str
    """Such as "read as 28 GB", or why it can't be read."""
    how: str = ""
    example_results: tuple[ExampleResult, ...] = ()

    @property
    def passes(self) -> bool:
        """Whether the answer was read and all its visible examples pass."""
        return self.status is AnswerStatus.READ and not any(
            tried.fault for tried in self.example_results
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedCell:
    """A code cell that did not run to its end."""

    number: int
    """Number of the code cell, from 1, as Jupyter counts when it runs all cells."""
    index: int
    """Index among all cells of the notebook, from 0."""
    line: int | None
    """Line of the cell, from 1; None if it did not raise an exception."""
    error: str
    source: str
    """Source of that line; empty if no line is known."""
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The result of the check of one notebook."""

    lines: tuple[AnswerLine, ...]
    sha256: str
    seconds: float
    note: str | None = None
    stopped_cells: tuple[StoppedCell, ...] = ()
    """The cells that raised an exception or ran too long."""
    about: SelfDescription = field(default_factory=SelfDescription)
    size: int = 0
    code_sha256: str = ""
    """Hash of the code cells only, which stays the same if an editor saves the notebook again."""

    @property
    def trouble(self) -> tuple[str, ...]:
        """Messages about the stopped cells."""
        return tuple(cell.message for cell in self.stopped_cells)

    @property
    def complete(self) -> bool:
        """Whether every answer is there and readable."""
        return all(line.status is AnswerStatus.READ for line in self.lines) and bool(self.lines)

    @property
    def ready(self) -> bool:
        """Whether every answer is there and readable, and every visible example passes."""
        return self.complete and all(line.passes for line in self.lines)


def check(path: Path, limits: Limits) -> CheckResult:
    """Checks the notebook at *path*. Runs its code on this machine without a sandbox."""
    data, notebook = load_notebook(path)
    known = read_description(notebook)
    if not known.sheets:
        raise SubmissionError(
            "this notebook has no answer cells such as 'q1_name = ...'",
            where=Location(str(path)),
            fix="check that it is the notebook of your exam",
        )
    evidence = _execute_notebook(data, path, known.sheets, limits)
    return CheckResult(
        lines=tuple(
            answer_line(name, sheet, evidence.answers.get(name))
            for name, sheet in known.sheets.items()
        ),
        sha256=evidence.submission_sha256,
        seconds=evidence.seconds,
        note=evidence.note,
        stopped_cells=tuple(_failed_cells(evidence, notebook)),
        about=known,
        size=len(data),
        code_sha256=digest_of_code(notebook),
    )


def load_notebook(path: Path) -> tuple[bytes, Notebook]:
    """Returns the bytes of a notebook's file and its cells; errors name the file."""
    data = read_bytes(path, "the notebook")
    try:
        return data, read(data)
    except SubmissionError as error:
        raise SubmissionError(error.what, where=Location(str(path)), fix=error.fix) from None


def digest_of_code(notebook: Notebook) -> str:
    """Returns SHA-256 of the code cells in order, independent of line endings."""
    digest = hashlib.sha256()
    for cell in notebook.cells:
        source = "\n".join(cell.source.splitlines()).strip()
        if cell.type == "code" and source:
            digest.update(source.encode() + b"\0")
    return digest.hexdigest()


def _execute_notebook(
    data: bytes, path: Path, sheets: Mapping[str, Sheet | None], limits: Limits
) -> Evidence:
    submission = Submission(student="you", path=str(path), sha256=hashlib.sha256(data).hexdigest())
    call_plans = tuple(_example_call_plans(sheets))
    names = tuple(sheets)
    job = Job(
        submission=submission, names=names, call_plans=call_plans, limits=limits, sandbox="off"
    )
    return execute(job, data)


def _kind_of(sheet: Sheet | None) -> Kind | None:
    name = str(sheet.get("kind")) if sheet else ""
    return kinds.find(name) if name in kinds else None


def _example_call_plans(sheets: Mapping[str, Sheet | None]) -> Iterator[CallPlan]:
    """Yields the call plans of functions, which run the visible examples only."""
    for name, sheet in sheets.items():
        kind = _kind_of(sheet)
        if kind is None or sheet is None:
            continue
        try:
            found = kind.call_plan(name, kind.from_sheet(sheet))
        except (KeyError, TypeError, ValueError):
            continue  # the notebook's own description of the answer was edited
        if found is not None:
            yield found


def answer_line(name: str, sheet: Sheet | None, answer: Answer | None) -> AnswerLine:
    """Returns the line for the answer *name*. *sheet* is how the notebook says to read it."""
    how = str(sheet.get("how") or "") if sheet else ""
    kind = _kind_of(sheet)
    if answer is None or answer.raw is None or answer.is_unexecuted:
        why = answer.absent if answer and answer.absent else f"no cell sets {name}"
        missing = packages.packages_for_modules(_imported_modules(kind, sheet))
        if not missing and answer and answer.is_unexecuted:
            missing = (answer.missing_requirement,)
        if missing:
            how = f"install {missing[0]} (pip install {missing[0]}), then check again"
        return AnswerLine(name=name, status=AnswerStatus.MISSING, text=why, how=how)
    if kind is None or sheet is None:
        return _undescribed_line(name, answer.raw, how)
    try:
        return _read_answer(name, kind, sheet, answer.raw)
    except Unreadable as reason:
        status = AnswerStatus.EMPTY if reason.blank else AnswerStatus.UNREADABLE
        return AnswerLine(name=name, status=status, text=reason.sentence, how=how)
    except (KeyError, TypeError, ValueError):
        # The notebook's own description of the answer was edited; grading does not use it.
        return _undescribed_line(name, answer.raw, how)


def _imported_modules(kind: Kind | None, sheet: Sheet | None) -> tuple[str, ...]:
    """Returns the modules that the answer's starter code imports, none that a student added."""
    try:
        return modules_needed(kind.from_sheet(sheet)) if kind and sheet else ()
    except (KeyError, TypeError, ValueError):
        return ()  # the notebook's own description of the answer was edited


def _undescribed_line(name: str, raw: Raw, how: str) -> AnswerLine:
    if _is_blank(raw):
        return AnswerLine(
            name=name, status=AnswerStatus.EMPTY, text="Nothing was filled in.", how=how
        )
    return AnswerLine(name=name, status=AnswerStatus.READ, text="there is an answer", how=how)


def _is_blank(raw: object) -> bool:
    """Returns whether *raw* contains only placeholders, at any depth."""
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


def _read_answer(name: str, kind: Kind, sheet: Sheet, raw: Raw) -> AnswerLine:
    key = kind.from_sheet(sheet)
    value = kind.read(raw, key)
    lacks = missing_parts(value)
    tried = kind.example_results(value, key) if isinstance(kind, CodeKind) else ()
    text = kind.format_value(value, key)
    if tried:
        passed = sum(not example.fault for example in tried)
        text += f", {passed} of {len(tried)} visible examples pass"
    text = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return AnswerLine(
        name=name,
        status=AnswerStatus.PARTLY if lacks else AnswerStatus.READ,
        text=f"{lacks}; read as {text}" if lacks else f"read as {text}",
        how=str(sheet.get("how") or ""),
        example_results=tried,
    )


def _failed_cells(evidence: Evidence, notebook: Notebook) -> Iterator[StoppedCell]:
    for number, cell in enumerate(evidence.cells, start=1):
        if cell.has_failed:
            yield StoppedCell(
                number=number,
                index=cell.index,
                line=cell.line,
                error=cell.trouble,
                source=_source_line(notebook, cell),
                message=cell.describe_failure(number),
            )


def _source_line(notebook: Notebook, run: CellRun) -> str:
    lines = notebook.cells[run.index].source.splitlines()
    return lines[run.line - 1].strip() if run.line and run.line <= len(lines) else ""
