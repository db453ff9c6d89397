"""From submissions to grades: collect, execute what is new, score, and file every step."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from grader import __version__
from grader.collect import Collected, Notice, collect
from grader.errors import GraderError, SetupError
from grader.files import alone, sweep
from grader.gradebook import Difference, Gradebook, differences
from grader.load import Bank, load_numbers, load_release
from grader.model import Evidence, Grade, Limits, Outcome, Paper, Release, Submission, Trial
from grader.model.assignment import SourceNotebook
from grader.pipeline import stopping
from grader.pipeline.batch import execute_all, refused
from grader.pipeline.deferred import fillable, filled, puts_off, to_run_again, why_nothing
from grader.pipeline.graded import NOTICES, require_release
from grader.pipeline.misplaced import fits_in, looks_after
from grader.pipeline.papers import (
    SEATS,
    Papers,
    bind,
    current_specs,
    keep_correction,
    papers_of,
)
from grader.score import has_fault, is_disturbed, score, score_refused

_FIRST_PROCESSES = 256
"""The usual limit on processes in the first releases. A fingerprint keeps it where the usual limit
holds, so that what was executed before stays as it is."""

WRITTEN_INTO = (".", "evidence", "corrected", "grades", "feedback", "report")
"""Folders of results in which a killed process may have left something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How submissions are executed."""

    limits: Limits = field(default_factory=Limits)
    jobs: int | None = None
    executor: str = "threads"
    sandbox: str = "auto"
    device: str = "cpu"
    loopback: bool = False
    """Whether notebooks may talk to themselves over 127.0.0.1; set when a problem needs it."""
    variables: tuple[tuple[str, str], ...] = ()
    """Environment variables of the notebooks; set by the release."""
    source: SourceNotebook | None = None
    """The notebook of nbgrader's that is graded, in the place of a release."""
    files: tuple[tuple[str, bytes], ...] = ()
    """What lies beside it."""
    again: bool = False
    """Execute even what has been executed in this way before."""
    machine: str = ""
    """The profile of this machine, as JSON, for what is measured."""
    names: Path | None = None
    """Whose is what a platform's numbers are on: its gradebook as CSV."""
    deferred: bool = False
    """Fill in what earlier runs had put off and this machine can make, and nothing else."""

    def fingerprint(self, names: tuple[str, ...], trials: tuple[Trial, ...] = ()) -> str:
        """Stands for how a notebook is executed and what it is asked; another means once more."""
        # What is filled in belongs to the run that had put it off.
        device = "cpu" if self.deferred else self.device
        limits = asdict(self.limits)
        if self.limits.processes == Limits().processes:
            limits["processes"] = _FIRST_PROCESSES
        how = [limits, device, sorted(names), self.loopback, self.variables]
        if trials:
            how.append([[t.name, t.seconds, t.race and asdict(t.race), *t.digests] for t in trials])
        text = json.dumps(how, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


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
    started: Callable[[int], Callable[[str], None]] = lambda _total: lambda _note: None,
) -> Run:
    """Executes and scores *submissions* into the results folder *out*.

    What was executed in the same way before is not executed again, so a run that was stopped
    goes on where it was. *started* is told how many will be executed, and returns what is called
    after each.
    """
    if settings.device == "cuda" and not cuda_here():
        raise SetupError(
            "there is no CUDA device on this machine",
            fix="leave --device out; what needs CUDA can be graded on another machine later",
        )
    release = load_release(release_file)
    if settings.deferred:
        parts = (part for problem in release.problems.values() for part in problem.parts)
        nothing = why_nothing(parts, settings.device)
        if nothing is not None:
            raise SetupError(nothing[0], fix=nothing[1])
    users = load_numbers(settings.names, release.students) if settings.names else None
    collected = collect(
        submissions, release.students, users, looks_after(release), fits_in(release)
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
        done = started(len(todo))
        with (
            stopping.noted() as stopped,
            closing(execute_all(todo, filing.names, settings, filing.trials, stopped)) as results,
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
        notices=collected.notices,
    )


def _limits_of(release: Release, limits: Limits) -> Limits:
    """*limits*, with as many processes as the set asks for."""
    return replace(limits, processes=release.exam.processes or limits.processes)


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
        return any(trial.name in waiting for trial in self.trials(submission.student))

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
        return self._book.find_evidence(submission.sha256, self._fingerprint(submission))

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
    """The grade; open throughout when scoring itself fails, which is our fault and no zero."""
    try:
        return score(mine, evidence)
    except Exception as error:  # noqa: BLE001 - one odd answer must not stop a batch
        return score(mine, _not_scored(evidence, error))


def _not_scored(evidence: Evidence, error: Exception) -> Evidence:
    # The name of the error alone: its text may hold the key, and a student reads this.
    what = f"we could not score this notebook ({type(error).__name__})"
    return refused(evidence.submission_sha256, what)


def cuda_here() -> bool:
    """Whether this machine has an NVIDIA device; without importing what would use it."""
    return Path("/dev/nvidiactl").exists() or shutil.which("nvidia-smi") is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescored:
    """What scoring the stored evidence again would change, or has changed."""

    changes: tuple[Difference, ...]
    applied: bool
    scored: int
    skipped: tuple[str, ...]
    """Students whose evidence is missing or damaged: `grader grade` makes it again."""


def rescore(
    out: Path,
    *,
    current: Bank | None = None,
    released: bool = False,
    dry_run: bool = False,
    why: str = "",
) -> Rescored:
    """Scores all stored evidence again, without a kernel.

    With *current*, by the specs as that bank has them now rather than as the release pinned them,
    on the numbers that the students' notebooks show; later runs of `grader grade` then use them
    too. With *released*, by the specs as released. Otherwise by those that count already.
    """
    with Gradebook.open(out) as book, nullcontext() if dry_run else alone(out):
        require_release(book)
        papers = papers_of(book)
        if current is not None:
            corrected = current_specs(papers.release, current)
            papers = replace(papers, corrected=corrected)
        elif released:
            papers = replace(papers, corrected=None)
        before = list(book.grades())
        after = {g.student: again for g in before if (again := _again(book, papers, g))}
        changes = tuple(differences((g for g in before if g.student in after), after.values()))
        if not dry_run:
            keep_correction(book, papers.corrected, why)
            book.put_grades(after.values(), why=why or "score again")
    return Rescored(
        changes=changes,
        applied=not dry_run,
        scored=len(after),
        skipped=tuple(g.student for g in before if g.student not in after),
    )


def _again(book: Gradebook, papers: Papers, old: Grade) -> Grade | None:
    mine = papers.of(old.student)
    refusal = next(_refusals(book, old), None)
    if refusal is not None:
        return score_refused(mine, refusal)
    evidence = book.find_evidence(old.submission_sha256 or "")
    return settle(mine, evidence) if evidence is not None else None


def _refusals(book: Gradebook, old: Grade) -> Iterator[Submission]:
    for submission in book.submissions(old.student):
        if submission.sha256 == old.submission_sha256 and submission.refusal is not None:
            yield submission
