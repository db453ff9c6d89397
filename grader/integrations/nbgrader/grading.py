"""Grades submissions of an nbgrader assignment: restores cells, runs in the sandbox, marks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePath, PurePosixPath

from grader.collect import Notice
from grader.collect.names import make_notice
from grader.errors import SetupError
from grader.files import exclusive_lock, remove_partial_files
from grader.gradebook import Gradebook
from grader.grading import signals
from grader.grading.batch import execute_all
from grader.grading.run import WRITTEN_INTO, store_evidence, would_lose_marks
from grader.grading.settings import Settings, StartProgress, no_progress
from grader.grading.sources import NOTICES, assignment_of
from grader.integrations.nbgrader.assignment import Assignment, SourceNotebook
from grader.integrations.nbgrader.collecting import CollectedAssignment, collect_assignment
from grader.integrations.nbgrader.marks import StudentWork, score_assignment
from grader.integrations.nbgrader.overlay import NotebookOverlay
from grader.integrations.nbgrader.source import files_digest, load_assignment, store_assignment
from grader.model import Evidence, Limits, Outcome, Student, Submission
from grader.registry import nearest
from grader.release.papers import RELEASE

_VARIABLES = (("NBGRADER_EXECUTION", "autograde"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentRun:
    """Result of one call of `grader grade --format nbgrader`."""

    assignment: Assignment
    executed: int
    """Number of notebooks."""
    kept: int
    """Number of notebooks whose evidence existed already."""
    unsettled: int
    """Number of notebooks that could not be run because of an internal error."""
    notices: tuple[Notice, ...]


def grade_assignment(
    submissions: Path,
    source: Path,
    out: Path,
    settings: Settings,
    *,
    cell_seconds: float | None = None,
    only: tuple[str, ...] = (),
    started: StartProgress = no_progress,
) -> AssignmentRun:
    """Executes and marks *submissions* into the results folder *out*.

    A notebook that was executed with the same cells is not executed again, even if points or the
    order of cells changed. The time limit per cell is *cell_seconds*, or else the course's.
    *started* is called with the number of notebooks to execute. Raises SetupError if the
    assignment, the submissions or *out* can't be used.
    """
    assignment = load_assignment(source)
    settings = replace(settings, limits=_limits(assignment, settings.limits, cell_seconds))
    found = collect_assignment(submissions, assignment.name, [n.name for n in assignment.notebooks])
    _require_students(found, only, submissions)
    with Gradebook.open(out, create=True) as book, exclusive_lock(out):
        for folder in WRITTEN_INTO:
            remove_partial_files(out / folder)
        _bind_results(book, assignment)
        book.add_students(Student(id=student) for student in found.submissions)
        works = {
            student: _whole_submission(student, mine) for student, mine in found.submissions.items()
        }
        book.add_submissions(submission for submission, _ in works.values())
        book.set_setting(NOTICES, [asdict(n) for n in found.notices])
        filing = _AssignmentGrader(book, assignment, settings, f"grade {submissions.name}")
        for student, (whole, mine) in works.items():
            if not only or student in only:
                filing.add_student(student, whole.sha256, mine)
        filing.run(started)
    return AssignmentRun(
        assignment=assignment,
        executed=filing.executed,
        kept=filing.kept,
        unsettled=filing.unsettled,
        notices=(
            *_unsupported_settings(assignment),
            *(n for n in found.notices if not only or n.student in only),
        ),
    )


def _limits(assignment: Assignment, limits: Limits, cell_seconds: float | None) -> Limits:
    """*limits* with the time per cell from the caller, or else from the course.

    If the course allows a cell more time than a notebook has, the notebook's limit is raised.
    """
    if cell_seconds is not None:
        return replace(limits, cell_seconds=cell_seconds)
    whole = limits.notebook_seconds
    seconds = assignment.config.cell_seconds or whole
    return replace(limits, cell_seconds=seconds, notebook_seconds=max(seconds, whole))


def _unsupported_settings(assignment: Assignment) -> list[Notice]:
    """A notice for each setting of the course that is not applied."""
    file = PurePath(assignment.config_file)
    return [make_notice("warning", PurePosixPath(file.name), text) for text in assignment.notes]


def _require_students(found: CollectedAssignment, only: tuple[str, ...], submissions: Path) -> None:
    if not found.submissions:
        raise SetupError(
            "there are no notebooks of this assignment",
            where=str(submissions),
            fix="pass the course's folder `submitted`, or a folder with STUDENT.ipynb files",
        )
    for student in only:
        if student not in found.submissions:
            close = nearest(student, found.submissions)
            raise SetupError(
                f"'{student}' submitted nothing",
                where=str(submissions),
                fix=f"did you mean '{close}'?" if close else "check the name of the folder",
            )


def _bind_results(book: Gradebook, assignment: Assignment) -> None:
    """Binds a results folder to the assignment. Raises SetupError if it belongs to another."""
    release, (_, bound) = book.setting(RELEASE), assignment_of(book)
    mine = f"nbgrader:{assignment.name}"
    if release is not None and release != mine:
        other = f"the assignment '{bound}'" if bound else f"release {release}"
        raise SetupError(
            f"these results belong to {other}, not to the assignment '{assignment.name}'",
            where=str(book.folder),
            fix="choose another folder for --out",
        )
    store_assignment(book, assignment)
    book.set_setting(RELEASE, mine)


def _whole_submission(
    student: str, mine: Mapping[str, Submission]
) -> tuple[Submission, Mapping[str, Submission]]:
    """One submission that represents all notebooks of a student, and the notebooks."""
    if len(mine) == 1:
        return next(iter(mine.values())), mine
    digests = [[name, one.sha256] for name, one in sorted(mine.items())]
    newest = max(mine.values(), key=lambda one: one.received or "")
    whole = Submission(
        student=student,
        path=str(Path(newest.path).parent),
        sha256=hashlib.sha256(json.dumps(digests).encode()).hexdigest(),
        received=newest.received,
    )
    return whole, mine


class _AssignmentGrader:
    """Executes what one run needs, and stores evidence and grades in the gradebook."""

    def __init__(self, book: Gradebook, assignment: Assignment, settings: Settings, why: str):
        self.executed = self.kept = self.unsettled = 0
        self._book = book
        self._assignment = assignment
        self._settings = replace(
            settings, variables=_VARIABLES, files=tuple(sorted(assignment.files.items()))
        )
        self._beside = files_digest(assignment)
        self._run = book.begin_run(why)
        self._works: dict[str, StudentWork] = {}
        self._evidence: dict[str, dict[str, Evidence]] = {}
        self._todo: dict[str, list[Submission]] = {n.name: [] for n in assignment.notebooks}

    def add_student(self, student: str, sha256: str, mine: Mapping[str, Submission]) -> None:
        """Adds a student with the existing evidence."""
        found = self._evidence[student] = {}
        self._works[student] = StudentWork(
            student=student, handed_in=mine, evidence=found, sha256=sha256
        )
        for notebook in self._assignment.notebooks:
            submission = mine.get(notebook.name)
            if submission is None or submission.refusal is not None:
                continue
            fingerprint = self._fingerprint(notebook)
            evidence = (
                None
                if self._settings.again
                else self._book.find_evidence(submission.sha256, fingerprint)
            )
            if evidence is None or evidence.disturbed:
                self._todo[notebook.name].append(submission)
            else:
                found[notebook.name] = evidence
                self.kept += 1

    def run(self, started: StartProgress) -> None:
        """Executes the remaining notebooks, and stores the grade of every student."""
        self.executed = sum(map(len, self._todo.values()))
        waiting = {s: self._remaining_notebooks(s) for s in self._works}
        for student in [s for s, awaited in waiting.items() if not awaited]:
            self._store_grade(student)
        done = started(self.executed)
        for notebook, submission, evidence in self._execute_remaining():
            student = submission.student
            self._evidence[student][notebook] = evidence
            waiting[student].discard(notebook)
            if not waiting[student]:
                self._store_grade(student)
            done(student)

    def _remaining_notebooks(self, student: str) -> set[str]:
        return {n for n, todo in self._todo.items() if any(s.student == student for s in todo)}

    def _execute_remaining(self) -> Iterator[tuple[str, Submission, Evidence]]:
        for notebook in self._assignment.notebooks:
            settings = replace(self._settings, overlay=NotebookOverlay(notebook))
            todo = self._todo[notebook.name]
            with (
                signals.delay_interrupts() as stopped,
                closing(execute_all(todo, (), settings, stopped=stopped)) as results,
            ):
                for submission, evidence in results:
                    yield notebook.name, submission, self._store_evidence(notebook, evidence)

    def _store_evidence(self, notebook: SourceNotebook, evidence: Evidence) -> Evidence:
        """Stores and returns evidence, and counts it if an internal error disturbed it."""
        kept = store_evidence(self._book, evidence, self._fingerprint(notebook))
        self.unsettled += kept.outcome is Outcome.REFUSED or bool(kept.disturbed)
        return kept

    def _store_grade(self, student: str) -> None:
        work = self._works[student]
        found = work.evidence.values()
        failed = any(e.outcome is Outcome.REFUSED or e.disturbed for e in found)
        grade = score_assignment(self._assignment, work)
        if failed and would_lose_marks(self._book, grade):
            return  # keep what an earlier run settled for the same files
        self._book.put_grade(grade, run=self._run)

    def _fingerprint(self, notebook: SourceNotebook) -> str:
        """Identifies how a notebook is executed, and with which cells."""
        how = [self._settings.fingerprint(()), notebook.digest, self._beside]
        return hashlib.sha256(json.dumps(how).encode()).hexdigest()[:16]
