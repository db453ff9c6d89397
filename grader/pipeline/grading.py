"""From submissions to grades: collect, execute what is new, score, and file every step."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import asdict, dataclass, field
from pathlib import Path

from grader import executors
from grader.collect import Collected, Notice, collect
from grader.collect import load as load_bytes
from grader.errors import GraderError, SetupError
from grader.execute import execute
from grader.gradebook import Difference, Gradebook, differences
from grader.load import Bank, load_release
from grader.model import (
    Evidence,
    Grade,
    Job,
    Limits,
    Outcome,
    Release,
    Submission,
)
from grader.pipeline.papers import Papers, bind, current_specs, keep_correction, papers_of
from grader.render import named_keys
from grader.score import score, score_refused

NOTICES = "notices"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How submissions are executed."""

    limits: Limits = field(default_factory=Limits)
    jobs: int | None = None
    executor: str = "threads"
    sandbox: str = "auto"
    device: str = "cpu"
    again: bool = False
    """Execute even what has been executed in this way before."""

    @property
    def fingerprint(self) -> str:
        """Stands for how a notebook is executed; another one means executing it again."""
        text = json.dumps([asdict(self.limits), self.device], sort_keys=True)
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
    collected = collect(submissions, release.students)
    with Gradebook.open(out, create=True) as book:
        bind(book, release, release_file)
        papers = papers_of(book)
        for student in only:
            papers.of(student)  # an unknown student is an error before anything runs
        book.add_students(release.students.values())
        # The latest last: the gradebook takes the last attempt for the one that counts.
        for submission in (*reversed(collected.earlier), *collected.submissions):
            book.add_submission(submission)
        book.set_setting(NOTICES, [asdict(n) for n in collected.notices])
        latest = [s for s in collected.submissions if not only or s.student in only]
        run = book.begin_run(f"grade {submissions.name}")
        todo = _file_known(book, papers, latest, settings, run)
        done = started(len(todo))
        unsettled = 0
        for submission, evidence in _executed(todo, papers, settings):
            unsettled += not _filed(book, papers, submission, evidence, settings, run)
            done(submission.student)
    return Run(
        release=release,
        collected=collected,
        executed=len(todo),
        kept=len(latest) - len(todo),
        unsettled=unsettled,
        notices=collected.notices,
    )


def _filed(
    book: Gradebook,
    papers: Papers,
    submission: Submission,
    evidence: Evidence,
    settings: Settings,
    run: int,
) -> bool:
    """Whether the submission's marks could be settled; never raises for one submission."""
    mine = papers.of(submission.student)
    try:
        # Our own fault is not evidence: the next run tries again.
        if evidence.outcome is not Outcome.REFUSED:
            book.put_evidence(evidence, settings.fingerprint)
        book.put_grade(score(mine, evidence), run=run)
    except (GraderError, ValueError) as error:
        what = error.what if isinstance(error, GraderError) else str(error)
        evidence = _refused(submission, f"we could not keep what this notebook did: {what}")
        book.put_grade(score(mine, evidence), run=run)
    return evidence.outcome is not Outcome.REFUSED


def cuda_here() -> bool:
    """Whether this machine has an NVIDIA device; without importing what would use it."""
    return Path("/dev/nvidiactl").exists() or shutil.which("nvidia-smi") is not None


def _file_known(
    book: Gradebook, papers: Papers, latest: list[Submission], settings: Settings, run: int
) -> list[Submission]:
    """Scores what needs no execution; returns what does."""
    todo = []
    for submission in latest:
        if submission.refusal is not None:
            book.put_grade(score_refused(papers.of(submission.student), submission), run=run)
        elif settings.again or not book.has_evidence(submission.sha256, settings.fingerprint):
            todo.append(submission)
        else:
            evidence = _stored(book, submission.sha256, settings.fingerprint)
            if evidence is None:
                todo.append(submission)
            else:
                book.put_grade(score(papers.of(submission.student), evidence), run=run)
    return todo


def _stored(book: Gradebook, sha256: str, fingerprint: str | None = None) -> Evidence | None:
    """The stored evidence; None when its file is damaged, so that it is made again."""
    try:
        return book.evidence(sha256, fingerprint)
    except GraderError:
        return None


def _executed(
    todo: list[Submission], papers: Papers, settings: Settings
) -> Iterator[tuple[Submission, Evidence]]:
    """Each submission with its evidence, as they get done; at most a few wait in memory."""
    if not todo:
        return
    jobs = settings.jobs or os.cpu_count() or 1
    stop = threading.Event()
    with executors.open(f"{settings.executor}:{min(jobs, len(todo))}") as pool:
        waiting: dict[Future[Evidence], Submission] = {}
        queue = iter(todo)
        try:
            while True:
                _refill(pool, waiting, queue, papers, settings, stop)
                if not waiting:
                    return
                finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in finished:
                    submission = waiting.pop(future)
                    yield submission, _evidence(future, submission)
        except BaseException:
            # Ctrl-C: what runs is given up, what is done has been filed.
            stop.set()
            for future in waiting:
                future.cancel()
            raise


def _refill(
    pool: Executor,
    waiting: dict[Future[Evidence], Submission],
    queue: Iterator[Submission],
    papers: Papers,
    settings: Settings,
    stop: threading.Event,
) -> None:
    """Keeps the pool busy, with few jobs waiting, so that memory does not grow with the class."""
    while len(waiting) < 2 * (settings.jobs or os.cpu_count() or 1):
        submission = next(queue, None)
        if submission is None:
            return
        names = tuple(name for name, _ in named_keys(papers.of(submission.student)))
        job = Job(
            submission=submission,
            names=names,
            limits=settings.limits,
            sandbox=settings.sandbox,
            device=settings.device,
        )
        # Other processes get Ctrl-C themselves, and an event can't be sent to them.
        waiting[
            pool.submit(_run, job)
            if settings.executor != "threads"
            else pool.submit(_run, job, stop.is_set)
        ] = submission


def _run(job: Job, stop: Callable[[], bool] = bool) -> Evidence:
    return execute(job, load_bytes(job.submission), stop=stop)


def _evidence(future: Future[Evidence], submission: Submission) -> Evidence:
    try:
        return future.result()
    except SetupError:
        raise  # such as a sandbox that is not there: true for the whole batch
    except GraderError as error:
        note = f"we could not run this notebook: {error.what}"
    except Exception as error:  # noqa: BLE001 - a fault of ours must not stop the batch
        note = f"we could not run this notebook: {type(error).__name__}: {error}"
    return _refused(submission, note)


def _refused(submission: Submission, note: str) -> Evidence:
    return Evidence(
        submission_sha256=submission.sha256,
        outcome=Outcome.REFUSED,
        answers={},
        cells=(),
        seconds=0.0,
        note=note,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescored:
    """What scoring the stored evidence again would change, or has changed."""

    changes: tuple[Difference, ...]
    applied: bool
    scored: int


def rescore(
    out: Path, *, current: Bank | None = None, dry_run: bool = False, why: str = ""
) -> Rescored:
    """Scores all stored evidence again, without a kernel.

    With *current*, by the specs as that bank has them now rather than as the release pinned them,
    on the numbers that the students' notebooks show; later runs of `grader grade` then use them
    too. Without, by the specs as released.
    """
    with Gradebook.open(out) as book:
        released = papers_of(book).release
        corrected = current_specs(released, current) if current else None
        papers = Papers(release=released, corrected=corrected)
        before = list(book.grades())
        after = [g for g in (_again(book, papers, g) for g in before) if g is not None]
        scored = {g.student for g in after}
        changes = tuple(differences((g for g in before if g.student in scored), after))
        if not dry_run:
            keep_correction(book, corrected, why)
            book.put_grades(after, why=why or "score again")
    return Rescored(changes=changes, applied=not dry_run, scored=len(after))


def _again(book: Gradebook, papers: Papers, old: Grade) -> Grade | None:
    mine = papers.of(old.student)
    refused = [
        s
        for s in book.submissions(old.student)
        if s.sha256 == old.submission_sha256 and s.refusal is not None
    ]
    if refused:
        return score_refused(mine, refused[-1])
    evidence = book.evidence(old.submission_sha256 or "")
    # Without evidence it was executed by nobody yet, or was our fault: `grader grade` settles it.
    return score(mine, evidence) if evidence is not None else None
