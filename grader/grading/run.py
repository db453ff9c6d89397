"""The grading run: collects, executes what is new, scores, and stores every step."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from grader import __version__
from grader.collect import CollectedSubmissions, Notice, collect
from grader.errors import PackageError, SetupError
from grader.files import exclusive_lock, remove_partial_files
from grader.gradebook import Gradebook
from grader.gradebook.address import wanted_address
from grader.gradebook.evidence_places import wanted_store
from grader.grading import signals
from grader.grading.attempts import CourseToApply, apply_course, attempts_to_grade, untimed_note
from grader.grading.batch import execute_all
from grader.grading.deferred import (
    blocking_reason,
    can_fill_in,
    deferred_names,
    fill_in,
    has_run_more,
    missing_package_notes,
    needs_rerun,
    runnable_call_plans,
)
from grader.grading.graded_attempts import store_counting_grades
from grader.grading.kept_marks import keep_marks, unscored_evidence
from grader.grading.other_files import store_other_files
from grader.grading.ownership import exam_fit, owner_check
from grader.grading.score import has_fault, is_disturbed, score, score_refused
from grader.grading.set_apart import SetApart
from grader.grading.settings import Settings, StartProgress, no_progress, require_results_folder
from grader.grading.sources import NOTICES
from grader.grading.storage import store_evidence, would_lose_marks
from grader.kinds.attempts import required_packages
from grader.model import CallPlan, Evidence, Grade, Outcome, Release, Submission
from grader.release.file import load_release
from grader.release.papers import Papers, bind, papers_of, seats_of
from grader.release.people import load_numbers
from grader.runtime import executors
from grader.runtime.kernels import LaunchSpec, start_early
from grader.runtime.machine.hardware import has_cuda
from grader.runtime.sandbox import choose_sandbox

WRITTEN_INTO = (".", "evidence", "corrected", "grades", "feedback", "report")
"""Results folders in which a killed process may have left something."""


NO_COURSE = CourseToApply()

_LOOKED_AT = 20
"""Submissions, the newest, that tell whether there is anything to execute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutedRun:
    """What a run executed."""

    executed_count: int
    kept_count: int
    """Number of notebooks whose evidence existed already."""
    unsettled_count: int
    """Number of notebooks that could not be graded because of an internal error."""
    notebook_seconds: float
    """How long the executed notebooks ran, in all."""
    notices: tuple[Notice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GradingRun(ExecutedRun):
    """The results of one `grader grade` run."""

    release: Release
    collection: CollectedSubmissions


def grade(
    submissions: Path,
    release_file: Path,
    out: Path,
    settings: Settings,
    *,
    only: tuple[str, ...] = (),
    course: CourseToApply = NO_COURSE,
    started: StartProgress = no_progress,
    warn: Callable[[str], None] = lambda _note: None,
) -> GradingRun:
    """Executes and scores *submissions* into the results folder *out*.

    What was executed in the same way before is not executed again, so an interrupted run continues.
    *course* has dates and policies, which decide which attempts are graded and what they cost.
    With *only*, nobody but these students is graded. *started* is called with the number of
    executions and returns a progress object.

    Before anything runs, *warn* gets a sentence about each package that is missing here, because
    what needs the package is deferred; one if the course has dates and the times of some
    submissions are unknown; and one if notebooks are skipped because they killed their workers.
    """
    is_local = executors.parse(settings.executor, settings.jobs).is_local
    if settings.device == "cuda" and is_local and not has_cuda():
        raise SetupError(
            "there is no CUDA device on this machine",
            fix="run without --device; parts that need CUDA can be graded on another machine later",
        )
    require_results_folder(out, release_file)
    release = load_release(release_file)
    newest_counts = not course.may_choose_attempt(release.exam.id)
    collected = _collect(submissions, release, settings, newest_counts=newest_counts)
    address = wanted_address(out, settings.gradebook, release.exam.id, course.course)
    course_evidence = course.course.evidence if course.course else ""
    store = wanted_store(out, settings.evidence, course_evidence, release.exam.id)
    with Gradebook.open(out, create=True, at=address, evidence=store) as book, exclusive_lock(out):
        papers = _open_papers(book, release, release_file)
        # Students who were forgotten stay in the release, but not in the results.
        release = papers.release
        collected = collected.only(release.students)
        for student in only:
            papers.of(student)  # an unknown student is an error before anything runs
        book.add_students(release.students.values())
        # The newest last: the gradebook counts the last attempt.
        book.add_submissions((*reversed(collected.earlier), *collected.submissions))
        book.set_setting(NOTICES, [asdict(n) for n in collected.notices])
        store_other_files(book, collected)
        policy = apply_course(book, course, release, collected)
        all_attempts = attempts_to_grade(book, policy, release, collected)
        attempts = [s for s in all_attempts if not only or s.student in only]
        settings = replace(
            settings,
            loopback=papers.needs("loopback"),
            variables=tuple(sorted(release.exam.variables.items())),
            limits=replace(
                settings.limits, processes=release.exam.processes or settings.limits.processes
            ),
        )
        _start_kernels_early(release, settings, book, attempts[-_LOOKED_AT:])
        filer = _GradeFiler(book, papers, settings, f"grade {submissions.name}")
        todo = filer.score_known(attempts)
        if settings.only_deferred and not todo:
            reason = blocking_reason(release.problems.values(), settings.device)
            if reason is not None:
                raise SetupError(reason[0], fix=reason[1])
        untimed = untimed_note(policy, release, attempts)
        notes = (*missing_package_notes(release.problems), untimed, filer.set_apart.note())
        for note in filter(None, notes):
            warn(note)
        filer.execute(todo, started)
        store_counting_grades(book, policy, release.students)
    return GradingRun(
        release=release,
        collection=collected,
        executed_count=len(todo),
        kept_count=len(attempts) - len(todo),
        unsettled_count=filer.unsettled,
        notebook_seconds=filer.notebook_seconds,
        notices=tuple(n for n in collected.notices if not only or n.student in only),
    )


def _collect(
    submissions: Path, release: Release, settings: Settings, *, newest_counts: bool
) -> CollectedSubmissions:
    """Collects the notebooks in *submissions*.

    Raises SetupError if there is neither a notebook nor anything to report.
    """
    users = load_numbers(settings.names, release.students) if settings.names else None
    collected = collect(
        submissions,
        release.students,
        users,
        owner_check(release),
        exam_fit(release),
        newest_counts=newest_counts,
    )
    if not collected.submissions and not collected.notices:
        raise SetupError(
            "there is no notebook here",
            where=str(submissions),
            fix="name the folder or zip that holds STUDENT.ipynb or STUDENT/*.ipynb",
        )
    return collected


def _open_papers(book: Gradebook, release: Release, release_file: Path) -> Papers:
    """Binds the results folder of *book* to *release*, and returns its papers."""
    for folder in WRITTEN_INTO:
        remove_partial_files(book.folder / folder)
    bind(book, release, release_file)
    if seats_of(book) is not None:
        raise SetupError(
            "these results are for a paper exam",
            where=str(book.folder),
            fix="enter answers with `grader enter`, or choose another folder for --out",
        )
    return papers_of(book, release)


def _start_kernels_early(
    release: Release, settings: Settings, book: Gradebook, newest: list[Submission]
) -> None:
    """Starts what kernels are forked from, with torch if the release needs it, unless the *newest*
    submissions were executed before.

    Importing torch there takes as long as creating the hidden cases here, which imports it too.
    """
    executor = executors.parse(settings.executor, settings.jobs)
    files = {s.sha256 for s in newest if s.refusal is None}
    if executor.name not in ("threads", "inline") or files <= book.evidence_digests(files).keys():
        return
    parts = ((part, p.solution) for p in release.problems.values() for part in p.parts)
    needs_torch = any("torch" in required_packages(part, solution) for part, solution in parts)
    spec = LaunchSpec(
        sandbox=choose_sandbox(settings.sandbox).sandbox,
        device=settings.device,
        loopback=settings.loopback,
        variables=settings.variables,
        imports=("numpy", "torch") if needs_torch and settings.device == "cpu" else (),
    )
    start_early(spec)


class _GradeFiler:
    """Executes submissions and turns evidence into stored grades during one run."""

    def __init__(self, book: Gradebook, papers: Papers, settings: Settings, why: str):
        self.names = papers.names()
        self.unsettled = 0
        self.notebook_seconds = 0.0
        self._book = book
        self.set_apart = SetApart(book)
        self._papers = papers
        self._again = settings.again
        self._deferred = settings.only_deferred
        self._settings = settings
        self._run = book.begin_run(why)

    def score_known(self, attempts: list[Submission]) -> list[Submission]:
        """Scores files that can't be read or that were executed before, and returns the rest to
        execute."""
        several = len({s.student for s in attempts}) < len(attempts)
        stored_grades = self._book.attempt_grades() if several else self._book.grades()
        grades = {(g.student, g.submission_sha256): g for g in stored_grades}
        if self._deferred:
            stored = ((s, self._find_stored(s)) for s in attempts if s.refusal is None)
            return [
                s
                for s, evidence in stored
                if evidence
                and can_fill_in(
                    deferred_names(evidence, grades.get((s.student, s.sha256))),
                    evidence,
                    self.call_plans(s.student),
                )
            ]
        # A grade with all marks open is due to an internal error; there may be evidence by now.
        current = {
            key: (g.release, g.engine)
            for key, g in grades.items()
            if any(mark.points is not None for mark in g.marks) and not has_fault(g)
        }
        todo = []
        for submission in attempts:
            if submission.refusal is not None:
                refused = score_refused(self._papers.of(submission.student), submission)
                self._book.put_grade(refused, run=self._run)
                continue
            evidence = None if self._again else self._find_stored(submission)
            if evidence is None:
                if self._again or not self.set_apart.skip_if_set_apart(submission):
                    todo.append(submission)
                continue
            key = submission.student, submission.sha256
            if current.get(key) != (self._papers.counts.id, __version__):
                self._store_settled(submission, evidence)
            elif needs_rerun(grades[key], evidence) and not deferred_names(evidence, grades[key]):
                todo.append(submission)
        return todo

    def execute(self, todo: list[Submission], started: StartProgress) -> None:
        """Executes the submissions in *todo*, and stores the grade of each as soon as it ran."""
        done = started(len(todo))
        with (
            signals.delay_interrupts() as stopped,
            closing(
                execute_all(
                    todo,
                    self.names,
                    self._settings,
                    self.call_plans,
                    stopped,
                    done.show,
                    self._papers.prepare_judging,
                )
            ) as results,
        ):
            for submission, evidence in results:
                self._store_new(submission, evidence)
                done(submission.student)

    def _store_new(self, submission: Submission, evidence: Evidence) -> None:
        """Stores the evidence of an execution and the grade that it earns."""
        self.notebook_seconds += evidence.seconds
        self.set_apart.update(submission, evidence)
        before = self._find_stored(submission) if self._deferred else None
        if before is not None and evidence.outcome is not Outcome.REFUSED:
            made = frozenset(call_plan.name for call_plan in self.call_plans(submission.student))
            evidence = fill_in(before, evidence, made)
        evidence = store_evidence(self._book, evidence, self._fingerprint(submission))
        grade = self._store_settled(submission, evidence)
        digests = self._book.evidence_digests([submission.sha256])
        if grade is not None and submission.sha256 in digests:
            keep_marks(self._book, self._papers, grade, digests[submission.sha256])

    def _store_settled(self, submission: Submission, evidence: Evidence) -> Grade | None:
        """Stores the grade that *evidence* earns, or one with all marks open if scoring fails.
        Returns the grade if it does not depend on a failure of the grader or the machine, and None
        otherwise."""
        paper = self._papers.of(submission.student)
        try:
            grade = score(paper, evidence)
        except PackageError:
            self.unsettled += 1  # keep what was judged where the package is installed
            return None
        except SetupError:
            raise
        except Exception as error:  # noqa: BLE001 - one odd answer must not stop a batch
            evidence = unscored_evidence(evidence, error)
            grade = score(paper, evidence)
        has_failed = evidence.outcome is Outcome.REFUSED or has_fault(grade)
        if not has_failed and not is_disturbed(grade, evidence):
            self._book.put_grade(grade, run=self._run)
            return grade
        # Failures of the grader or the machine are not evidence: the next run tries again.
        self.unsettled += 1
        if not would_lose_marks(self._book, grade):
            self._book.put_grade(grade, run=self._run)
        return None

    def _find_stored(self, submission: Submission) -> Evidence | None:
        """Returns the evidence of this file if it was executed in the same way, and None otherwise.

        If a package is missing, the hidden cases, which are part of the fingerprint, are unknown.
        Then evidence from a machine with other packages is used, but without --only deferred only
        if that machine could do more than this one.
        """
        evidence = self._book.find_evidence(submission.sha256, self._fingerprint(submission))
        call_plans = self._papers.call_plans(submission.student)
        if evidence is not None or not any(call_plan.needs for call_plan in call_plans):
            return evidence
        other = self._book.find_evidence(submission.sha256)
        if other is None or self._deferred:
            return other
        return other if has_run_more(other, call_plans, self._settings.device) else None

    def call_plans(self, student: str) -> tuple[CallPlan, ...]:
        """Returns the call plans to run for a student in this run."""
        call_plans = self._papers.call_plans(student)
        if self._deferred:
            return runnable_call_plans(call_plans, self._settings.device)
        return call_plans

    def _fingerprint(self, submission: Submission) -> str:
        return self._settings.fingerprint(self.names, self._papers.call_plans(submission.student))
