"""From submissions to grades: collect, execute what is new, score, and file every step."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from grader import __version__
from grader.collect import Collected, Notice, collect
from grader.errors import GraderError, PackageError, SetupError
from grader.files import alone, sweep
from grader.gradebook import Gradebook
from grader.grading import signals
from grader.grading.batch import execute_all, refused
from grader.grading.deferred import (
    can_fill,
    did_more,
    fillable,
    filled,
    lacking_notes,
    puts_off,
    to_run_again,
    why_nothing,
)
from grader.grading.ownership import fits_in, looks_after
from grader.grading.progress import Started, silent
from grader.grading.score import has_fault, is_disturbed, score, score_refused
from grader.grading.settings import Settings
from grader.grading.sources import NOTICES
from grader.model import Evidence, Grade, Limits, Outcome, Paper, Release, Submission, Trial
from grader.release.file import load_release
from grader.release.papers import SEATS, Papers, bind, papers_of
from grader.release.people import load_numbers

WRITTEN_INTO = (".", "evidence", "corrected", "grades", "feedback", "report")
"""Folders of results in which a killed process may have left something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one call of `grader grade` did."""

    release: Release
    collected: Collected
    executed: int
    kept: int
    """Submissions whose evidence was there already."""
    unsettled: int
    notices: tuple[Notice, ...]


def grade(
    submissions: Path,
    release_file: Path,
    out: Path,
    settings: Settings,
    *,
    only: tuple[str, ...] = (),
    started: Started = silent,
    warn: Callable[[str], None] = lambda _note: None,
) -> Run:
    """Executes and scores *submissions* into the results folder *out*.

    What was executed in the same way before is not executed again, so a run that was stopped
    goes on where it was. *started* is told how many will be executed, and gives what is told of
    each. *warn* gets a sentence for each package that this machine lacks, before anything
    runs: what needs it is put off.
    """
    if settings.device == "cuda" and not cuda_here():
        raise SetupError(
            "there is no CUDA device on this machine",
            fix="leave --device out; what needs CUDA can be graded on another machine later",
        )
    release = load_release(release_file)
    users = load_numbers(settings.names, release.students) if settings.names else None
    collected = collect(
        submissions, release.students, users, looks_after(release), fits_in(release)
    )
    if not collected.submissions and not collected.notices:
        raise SetupError(
            "there is no notebook here",
            where=str(submissions),
            fix="name the folder or zip that holds STUDENT.ipynb or STUDENT/*.ipynb",
        )
    with Gradebook.open(out, create=True) as book, alone(out):
        for folder in WRITTEN_INTO:
            sweep(out / folder)
        bind(book, release, release_file)
        if book.setting(SEATS) is not None:
            raise SetupError(
                "these results are of an exam on paper",
                where=str(out),
                fix="type answers in with `grader enter`, or choose another folder for --out",
            )
        papers = papers_of(book, release)
        for student in only:
            papers.of(student)  # an unknown student is an error before anything runs
        book.add_students(release.students.values())
        # The latest last: the gradebook takes the last attempt for the one that counts.
        book.add_submissions((*reversed(collected.earlier), *collected.submissions))
        book.set_setting(NOTICES, [asdict(n) for n in collected.notices])
        latest = [s for s in collected.submissions if not only or s.student in only]
        settings = replace(
            settings,
            loopback=papers.needs("loopback"),
            variables=tuple(sorted(release.exam.variables.items())),
            limits=_limits_of(release, settings.limits),
        )
        filing = _Filing(book, papers, settings, f"grade {submissions.name}")
        todo = filing.known(latest)
        if settings.deferred and not todo:
            _require_something(release, settings.device)
        for note in lacking_notes(release.problems):
            warn(note)
        done = started(len(todo))
        with (
            signals.noted() as stopped,
            closing(
                execute_all(todo, filing.names, settings, filing.trials, stopped, done.running)
            ) as results,
        ):
            for submission, evidence in results:
                filing.new(submission, evidence)
                done(submission.student)
    return Run(
        release=release,
        collected=collected,
        executed=len(todo),
        kept=len(latest) - len(todo),
        unsettled=filing.unsettled,
        notices=tuple(n for n in collected.notices if not only or n.student in only),
    )


def _limits_of(release: Release, limits: Limits) -> Limits:
    """*limits*, with as many processes as the set asks for."""
    return replace(limits, processes=release.exam.processes or limits.processes)


def _require_something(release: Release, device: str) -> None:
    """Raises SetupError where nothing could ever be filled in on this machine."""
    nothing = why_nothing(release.problems.values(), device)
    if nothing is not None:
        raise SetupError(nothing[0], fix=nothing[1])


class _Filing:
    """One run's way from evidence to grades in the gradebook; lives as long as the run."""

    def __init__(self, book: Gradebook, papers: Papers, settings: Settings, why: str):
        self.names = papers.names()
        self.unsettled = 0
        self._book = book
        self._papers = papers
        self._again = settings.again
        self._deferred = settings.deferred
        self._settings = settings
        self._run = book.begin_run(why)

    def known(self, latest: list[Submission]) -> list[Submission]:
        """Scores what needs no execution; returns what does."""
        grades = {g.student: g for g in self._book.grades()}
        if self._deferred:
            stored = ((s, self._stored(s)) for s in latest if s.refusal is None)
            return [s for s, found in stored if found and self._can_fill(s, found, grades)]
        # A grade that is open throughout came of a fault of ours: evidence may be there by now.
        current = {
            g.student: (g.submission_sha256, g.release, g.engine)
            for g in grades.values()
            if any(mark.points is not None for mark in g.marks) and not has_fault(g)
        }
        todo = []
        for submission in latest:
            if submission.refusal is not None:
                self._put(score_refused(self._papers.of(submission.student), submission))
                continue
            evidence = None if self._again else self._stored(submission)
            if evidence is None:
                todo.append(submission)
                continue
            scored = (submission.sha256, self._papers.counts.id, __version__)
            if current.get(submission.student) != scored:
                self._settle(submission, evidence)
            elif to_run_again(mine := grades[submission.student], evidence) and not puts_off(
                evidence, mine
            ):
                todo.append(submission)
        return todo

    def _can_fill(
        self, submission: Submission, evidence: Evidence, grades: Mapping[str, Grade]
    ) -> bool:
        waiting = puts_off(evidence, grades.get(submission.student))
        return can_fill(waiting, evidence, self.trials(submission.student))

    def new(self, submission: Submission, evidence: Evidence) -> None:
        """Files what an execution left behind, and the grade that it earns."""
        before = self._stored(submission) if self._deferred else None
        if before is not None and evidence.outcome is not Outcome.REFUSED:
            made = frozenset(trial.name for trial in self.trials(submission.student))
            evidence = filled(before, evidence, made)
        if evidence.outcome is not Outcome.REFUSED:
            try:
                evidence = self._book.put_evidence(evidence, self._fingerprint(submission))
            except SetupError:
                raise  # such as a full disk: true for the whole batch
            except GraderError as error:
                what = f"we could not keep what it did: {error.what}"
                evidence = refused(submission.sha256, what)
        self._settle(submission, evidence)

    def _settle(self, submission: Submission, evidence: Evidence) -> None:
        """Files the grade that *evidence* earns, or one that is open throughout if we fail."""
        mine = self._papers.of(submission.student)
        try:
            grade = score(mine, evidence)
        except PackageError:
            self.unsettled += 1  # what was judged where the package is installed stays
            return
        except SetupError:
            raise
        except Exception as error:  # noqa: BLE001 - one odd answer must not stop a batch
            evidence = _not_scored(evidence, error)
            grade = score(mine, evidence)
        ours = evidence.outcome is Outcome.REFUSED or has_fault(grade)
        if not ours and not is_disturbed(grade, evidence):
            self._put(grade)
            return
        # What we or the machine did is not evidence: the next run tries again.
        self.unsettled += 1
        if not loses(self._book, grade):
            self._put(grade)

    def _put(self, new: Grade) -> None:
        self._book.put_grade(new, run=self._run)

    def _stored(self, submission: Submission) -> Evidence | None:
        """The evidence of this file, if it was executed in the same way.

        The hidden cases, which are part of how, are not known where a package is missing. Evidence
        from a machine with another set of packages then takes its place: here, where that has it
        did more than this machine can; in a run that fills in, where that lacked it.
        """
        found = self._book.find_evidence(submission.sha256, self._fingerprint(submission))
        trials = self._papers.trials(submission.student)
        if found is not None or not any(trial.needs for trial in trials):
            return found
        other = self._book.find_evidence(submission.sha256)
        if other is None or self._deferred or did_more(other, trials, self._settings.device):
            return other
        return None

    def trials(self, student: str) -> tuple[Trial, ...]:
        """What is to be done with a student's functions in this run."""
        found = self._papers.trials(student)
        return fillable(found, self._settings.device) if self._deferred else found

    def _fingerprint(self, submission: Submission) -> str:
        return self._settings.fingerprint(self.names, self._papers.trials(submission.student))


def loses(book: Gradebook, new: Grade) -> bool:
    """Whether a mark is open in *new* that an earlier run has settled for this very file."""
    settled = book.settled(new.student, new.submission_sha256 or "")
    return any(mark.points is None and mark.name in settled for mark in new.marks)


def settle(mine: Paper, evidence: Evidence) -> Grade:
    """The grade; open throughout when scoring itself fails, which is our fault and no zero.

    Raises SetupError for what would be true of every grade, such as a package that is missing.
    """
    try:
        return score(mine, evidence)
    except SetupError:
        raise
    except Exception as error:  # noqa: BLE001 - one odd answer must not stop a batch
        return score(mine, _not_scored(evidence, error))


def _not_scored(evidence: Evidence, error: Exception) -> Evidence:
    # The name of the error alone: its text may hold the key, and a student reads this.
    what = f"we could not score this notebook ({type(error).__name__})"
    return refused(evidence.submission_sha256, what)


def cuda_here() -> bool:
    """Whether this machine has an NVIDIA device; without importing what would use it."""
    return Path("/dev/nvidiactl").exists() or shutil.which("nvidia-smi") is not None
