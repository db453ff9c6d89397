"""Grades submissions of an nbgrader assignment: restores cells, runs in the sandbox, marks."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePath, PurePosixPath

from grader.collect.entries import make_notice
from grader.errors import SetupError
from grader.files import exclusive_lock, remove_partial_files
from grader.gradebook import Gradebook
from grader.gradebook.address import wanted_address
from grader.grading import signals
from grader.grading.batch import execute_all
from grader.grading.run import WRITTEN_INTO, ExecutedRun
from grader.grading.settings import Settings, StartProgress, no_progress
from grader.grading.sources import NOTICES, assignment_of
from grader.grading.storage import store_evidence, would_lose_marks
from grader.integrations.nbgrader import VARIABLES
from grader.integrations.nbgrader.assignment import Assignment
from grader.integrations.nbgrader.collecting import CollectedAssignment, collect_assignment
from grader.integrations.nbgrader.marks import StudentWork, score_assignment
from grader.integrations.nbgrader.overlay import NotebookOverlay
from grader.integrations.nbgrader.source import files_digest, load_assignment, store_assignment
from grader.model import Evidence, Limits, Outcome, Student, Submission
from grader.registry import suggest
from grader.release.papers import RELEASE


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentRun(ExecutedRun):
    """Result of one call of `grader grade --format nbgrader`."""

    assignment: Assignment


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

    What was executed with the same cells is not executed again. *started* is called with the number
    of notebooks to execute. Raises SetupError.
    """
    assignment = load_assignment(source)
    settings = replace(settings, limits=_choose_limits(assignment, settings.limits, cell_seconds))
    collected = collect_assignment(
        submissions, assignment.name, [n.name for n in assignment.notebooks]
    )
    _require_students(collected, only, submissions)
    at = wanted_address(out, settings.gradebook, assignment.name)
    with (
        Gradebook.open(out, create=True, at=at, evidence=settings.evidence) as book,
        exclusive_lock(out),
    ):
        for folder in WRITTEN_INTO:
            remove_partial_files(out / folder)
        _bind_results(book, assignment)
        book.add_students(Student(id=student) for student in collected.submissions)
        works = {
            student: StudentWork(whole=_whole_submission(student, mine), notebooks=mine)
            for student, mine in collected.submissions.items()
        }
        book.add_submissions(work.whole for work in works.values())
        book.set_setting(NOTICES, [asdict(n) for n in collected.notices])
        filer = _AssignmentFiler(book, assignment, settings, f"grade {submissions.name}")
        filer.run({s: work for s, work in works.items() if not only or s in only}, started)
    file = PurePosixPath(PurePath(assignment.config.file).name)
    return AssignmentRun(
        assignment=assignment,
        executed_count=filer.executed,
        kept_count=filer.kept,
        unsettled_count=filer.unsettled,
        notebook_seconds=filer.seconds,
        notices=(
            *(make_notice("warning", file, text) for text in assignment.config.notes),
            *(n for n in collected.notices if not only or n.student in only),
        ),
    )


def _choose_limits(assignment: Assignment, limits: Limits, cell_seconds: float | None) -> Limits:
    """Returns *limits* with the caller's time per cell, or else with the course's."""
    if cell_seconds is not None:
        return replace(limits, cell_seconds=cell_seconds)
    whole = limits.notebook_seconds
    seconds = assignment.config.cell_seconds or whole
    return replace(limits, cell_seconds=seconds, notebook_seconds=max(seconds, whole))


def _require_students(batch: CollectedAssignment, only: tuple[str, ...], submissions: Path) -> None:
    """Raises SetupError if there are no submissions, or a student in *only* has none."""
    if not batch.submissions:
        raise SetupError(
            "there are no notebooks of this assignment",
            where=str(submissions),
            fix="pass the course's folder `submitted`, or a folder with STUDENT.ipynb files",
        )
    for student in only:
        if student not in batch.submissions:
            fix = suggest(student, batch.submissions, "check the name of the folder")
            raise SetupError(f"'{student}' submitted nothing", where=str(submissions), fix=fix)


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


def _whole_submission(student: str, mine: Mapping[str, Submission]) -> Submission:
    """Returns one submission that represents all notebooks of a student."""
    if len(mine) == 1:
        return next(iter(mine.values()))
    digests = [[name, one.sha256] for name, one in sorted(mine.items())]
    newest = max(mine.values(), key=lambda submission: submission.received or "")
    return Submission(
        student=student,
        path=str(Path(newest.path).parent),
        sha256=hashlib.sha256(json.dumps(digests).encode()).hexdigest(),
        received=newest.received,
    )


class _AssignmentFiler:
    """Executes what one run needs, and stores evidence and grades in the gradebook."""

    def __init__(self, book: Gradebook, assignment: Assignment, settings: Settings, why: str):
        self.executed = self.kept = self.unsettled = 0
        self.seconds = 0.0
        self._book = book
        self._assignment = assignment
        self._settings = replace(
            settings, variables=VARIABLES, files=tuple(sorted(assignment.files.items()))
        )
        how = self._settings.fingerprint(())
        files = files_digest(assignment)
        self._fingerprints = {
            n.name: hashlib.sha256(json.dumps([how, n.digest, files]).encode()).hexdigest()[:16]
            for n in assignment.notebooks
        }
        """How each notebook is executed, and with which cells."""
        self._run = book.begin_run(why)

    def run(self, works: Mapping[str, StudentWork], started: StartProgress) -> None:
        """Executes the notebooks without evidence, and stores the grade of every student."""
        todo = {n: list(self._load_evidence(n, works)) for n in self._fingerprints}
        waiting = Counter(s.student for submissions in todo.values() for s in submissions)
        self.executed = waiting.total()
        for student, work in works.items():
            if student not in waiting:
                self._store_grade(work)
        done = started(self.executed)
        for notebook in self._assignment.notebooks:
            settings = replace(self._settings, overlay=NotebookOverlay(notebook))
            with (
                signals.delay_interrupts() as stopped,
                closing(
                    execute_all(todo[notebook.name], (), settings, stopped=stopped, show=done.show)
                ) as results,
            ):
                for submission, evidence in results:
                    work = works[submission.student]
                    self._store_evidence(work, notebook.name, evidence)
                    waiting[submission.student] -= 1
                    if not waiting[submission.student]:
                        self._store_grade(work)
                    done(submission.student)

    def _load_evidence(
        self, notebook: str, works: Mapping[str, StudentWork]
    ) -> Iterator[Submission]:
        """Adds stored evidence of *notebook* to *works*; yields what is still to execute."""
        for work in works.values():
            submission = work.notebooks.get(notebook)
            if submission is None or submission.refusal is not None:
                continue
            evidence = None
            if not self._settings.again:
                evidence = self._book.find_evidence(submission.sha256, self._fingerprints[notebook])
            if evidence is None or evidence.disturbances:
                yield submission
            else:
                work.evidence[notebook] = evidence
                self.kept += 1

    def _store_evidence(self, work: StudentWork, notebook: str, evidence: Evidence) -> None:
        """Stores evidence, and counts it if an internal error disturbed it."""
        self.seconds += evidence.seconds
        kept = store_evidence(self._book, evidence, self._fingerprints[notebook])
        self.unsettled += kept.outcome is Outcome.REFUSED or bool(kept.disturbances)
        work.evidence[notebook] = kept

    def _store_grade(self, work: StudentWork) -> None:
        """Stores a grade, unless a failed run would replace marks that are settled."""
        evidence = work.evidence.values()
        failed = any(e.outcome is Outcome.REFUSED or e.disturbances for e in evidence)
        grade = score_assignment(self._assignment, work)
        if failed and would_lose_marks(self._book, grade):
            return  # keep what an earlier run settled for the same files
        self._book.put_grade(grade, run=self._run)
