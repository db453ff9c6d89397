"""Executes many submissions with an executor, a few at a time."""

from __future__ import annotations

import logging
import platform
import threading
from asyncio import CancelledError
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from grader.collect import load_submission
from grader.errors import GraderError, SetupError
from grader.gradebook.evidence_files import pack_evidence, unpack_evidence
from grader.model import CallPlan, Evidence, Job, Outcome, Submission
from grader.model.evidence import ExecutionSettings
from grader.model.records import field_values
from grader.runtime import executors
from grader.runtime.execute import execute

if TYPE_CHECKING:
    from grader.grading.settings import Settings

MAX_DEAD = 20
"""Limit on workers that die in a row before any notebook finishes."""

SET_APART = "set_apart"
"""In the environment of evidence: whether every worker of a cluster that ran the notebook died."""

_LOOK_SECONDS = 0.2
"""Seconds between two checks for a stop."""

log = logging.getLogger("grader.batch")
log.addHandler(logging.NullHandler())


def execute_all(
    todo: Sequence[Submission],
    names: tuple[str, ...],
    settings: Settings,
    call_plans: Callable[[str], tuple[CallPlan, ...]] = lambda _: (),
    stopped: Callable[[], bool] = bool,
    show: Callable[[str], None] = lambda _text: None,
    prepare: Callable[[str], None] = lambda _student: None,
) -> Generator[tuple[Submission, Evidence]]:
    """Yields each submission with its evidence as it finishes, keeping only a few in memory.

    *call_plans* are those of a student, by ID. Raises KeyboardInterrupt once *stopped* returns True
    and no notebook runs any more. *show* gets a few words about the workers of a cluster, whenever
    they change. While there is nothing else to do, *prepare* is called with students whose
    notebooks are running.

    Never raises for a single submission; raises SetupError for errors that affect all of them. If
    a worker process dies, its submissions are tried once more, one at a time, so that a notebook
    that kills its worker affects no other. If other work on the machine may have cost a mark, the
    notebook is executed once more at the end, with nothing of the batch beside it.
    """
    if not todo:
        return
    batch = _Batch(names, settings, call_plans, stopped, show, prepare)
    lost: list[Submission] = []
    disturbed: dict[Submission, Evidence] = {}
    for submission, evidence in batch.execute_together(todo):
        if evidence is None:
            lost.append(submission)
        elif evidence.disturbances:
            disturbed[submission] = evidence
        else:
            yield submission, evidence
    for submission, evidence in batch.execute_alone(lost):
        if evidence is None:
            yield submission, batch.evidence_of_death(submission)
        elif evidence.disturbances:
            disturbed[submission] = evidence
        else:
            yield submission, evidence
    # Only once more, so that no notebook runs forever.
    batch.reruns = {
        submission: "; ".join(dict.fromkeys(evidence.disturbances.values()))
        for submission, evidence in disturbed.items()
    }
    again = [submission for submission in todo if submission in disturbed]
    for submission, evidence in batch.execute_alone(again):
        if evidence is None or evidence.outcome is Outcome.REFUSED:
            yield submission, disturbed[submission]
        else:
            yield submission, evidence


_Result = tuple[Submission, Evidence | None]
"""A submission and its evidence; None if its worker died."""


@dataclass(eq=False)
class _Batch:
    """What the passes over a batch share."""

    names: tuple[str, ...]
    settings: Settings
    call_plans: Callable[[str], tuple[CallPlan, ...]]
    stopped: Callable[[], bool]
    show: Callable[[str], None]
    prepare: Callable[[str], None]
    reruns: dict[Submission, str] = field(default_factory=dict)
    """For submissions that run a second time: how other work disturbed the first run."""
    _stop: threading.Event = field(default_factory=threading.Event)
    _prepared: set[Submission] = field(default_factory=set)

    @cached_property
    def _executor(self) -> executors.ExecutorSpec:
        return executors.parse(self.settings.executor, self.settings.jobs)

    def execute_together(self, todo: Sequence[Submission]) -> Iterator[_Result]:
        """Yields the results of *todo*, with a new pool whenever one breaks."""
        jobs = min(self._executor.jobs, len(todo))
        queue = deque(todo)
        deaths = 0
        while queue:
            if deaths >= MAX_DEAD:
                raise SetupError(
                    f"{MAX_DEAD} worker processes died in a row",
                    fix="grade with --executor threads; run `grader doctor` to see what works here",
                )
            # After two deaths one at a time, so that a notebook that kills its worker affects no
            # other.
            alone = deaths > 1
            died = False
            part = deque([queue.popleft()]) if alone else queue
            for result in self._execute_in_pool(
                part, 1 if alone else jobs, ahead=1 if alone else 2 * jobs
            ):
                if result[1] is None:
                    died = True
                else:
                    deaths = 0
                yield result
            if died:
                deaths += 1

    def execute_alone(self, todo: Sequence[Submission]) -> Iterator[_Result]:
        """Yields the results of *todo*, executed one at a time."""
        queue = deque(todo)
        while queue:
            yield from self._execute_in_pool(queue, 1, ahead=1)

    def evidence_of_death(self, submission: Submission) -> Evidence:
        """Returns the evidence of a notebook all of whose workers died, even when it was executed
        alone."""
        if self._executor.is_local:
            return refused_evidence(submission.sha256, "the process that ran this notebook died")
        evidence = refused_evidence(submission.sha256, "every worker that ran this notebook died")
        return replace(evidence, environment={SET_APART: True})

    def _execute_in_pool(
        self, queue: deque[Submission], jobs: int, *, ahead: int
    ) -> Iterator[_Result]:
        """Takes submissions from *queue*, executes them in a new pool with up to *ahead* of them
        pending, and yields their results. Stops taking submissions once the pool breaks."""
        pending: dict[Future[Any], Submission] = {}
        with self._executor.open(jobs) as pool:
            broken = False
            is_remote = isinstance(pool, executors.RemoteExecutor)
            try:
                while pending or (queue and not broken):
                    if isinstance(pool, executors.RemoteExecutor):
                        ahead = 2 * pool.workers if ahead > 1 else 1
                        self.show(pool.describe())
                    while queue and len(pending) < ahead and not broken:
                        try:
                            future = self._submit(pool, queue[0], more_follow=len(queue) > 1)
                            pending[future] = queue.popleft()
                        except BrokenExecutor:
                            broken = True
                            # Pending work breaks the pool, but work that never started does not.
                            if not pending:
                                yield queue.popleft(), None
                    finished = self._wait_and_prepare(pending)
                    for future in [f for f in pending if f in finished]:  # in the queue's order
                        submission = pending.pop(future)
                        evidence = _evidence_of(future, submission)
                        # A cluster goes on without the workers that died.
                        broken = broken or (evidence is None and not is_remote)
                        yield submission, evidence
            except BaseException:
                # After Ctrl-C, running work is abandoned; finished work has been saved.
                self._stop.set()
                for future in pending:
                    future.cancel()
                raise

    def _wait_and_prepare(self, pending: Mapping[Future[Any], Submission]) -> set[Future[Any]]:
        """Waits for a moment and returns the futures that have finished. If none has, calls
        `prepare` for one more student whose submission is pending."""
        finished, _ = wait(pending, _LOOK_SECONDS, return_when=FIRST_COMPLETED)
        if self.stopped():
            raise KeyboardInterrupt
        unprepared = (s for s in pending.values() if s not in self._prepared)
        if not finished and (submission := next(unprepared, None)) is not None:
            self._prepared.add(submission)
            self.prepare(submission.student)
        return finished

    def _submit(self, pool: Executor, submission: Submission, *, more_follow: bool) -> Future[Any]:
        """Submits the execution of *submission* to *pool*."""
        job = Job(
            **field_values(self.settings, ExecutionSettings),
            submission=submission,
            names=self.names,
            call_plans=self.call_plans(submission.student),
            rerun=self.reruns.get(submission, ""),
        )
        try:
            # Other processes receive Ctrl-C themselves, and an event can't be sent to them.
            if self._executor.name == "threads":
                return pool.submit(_execute_job, job, more_follow, stop=self._stop.is_set)
            if isinstance(pool, executors.RemoteExecutor):
                return _submit_with_data(pool, job, more_follow)
            return pool.submit(_execute_job, job, more_follow)
        except BrokenExecutor:
            raise
        except (OSError, RuntimeError) as error:
            raise SetupError(
                f"this machine can't start another worker: {str(error).lower()}",
                fix="grade fewer notebooks at once, for example with --jobs 2",
            ) from error


def _submit_with_data(pool: executors.RemoteExecutor, job: Job, more_follow: bool) -> Future[Any]:
    """Submits *job* with its file, since remote workers can't read the files of this machine."""
    needs = executors.WorkerNeeds(
        sandbox=job.sandbox,
        gpu=job.device == "cuda",
        quiet=any(call_plan.benchmark is not None for call_plan in job.call_plans),
        packages=tuple(sorted({name for call_plan in job.call_plans for name in call_plan.needs})),
    )
    try:
        return pool.submit_for(
            needs, _execute_remotely, job, more_follow, load_submission(job.submission)
        )
    except GraderError as error:
        failed: Future[Any] = Future()
        failed.set_exception(error)
        return failed


def _execute_remotely(job: Job, more_follow: bool, data: bytes) -> bytes:
    """Executes one submission on a worker, and returns the evidence, with the machine's name, in
    the form in which evidence is stored.

    Raises WorkerFaultError if the worker's machine is to blame.
    """
    try:
        evidence = _execute_job(job, more_follow, data)
    except SetupError as error:
        raise executors.WorkerFaultError(error.what, where=error.where, fix=error.fix) from error
    except OSError as error:
        raise executors.WorkerFaultError((error.strerror or str(error)).lower()) from error
    if evidence.outcome is Outcome.REFUSED:  # no kernel started
        raise executors.WorkerFaultError(evidence.note or "no kernel started")
    environment = {**evidence.environment, "host": platform.node()}
    return pack_evidence(replace(evidence, environment=environment))


def _execute_job(
    job: Job, more_follow: bool, data: bytes | None = None, *, stop: Callable[[], bool] = bool
) -> Evidence:
    """Executes one submission, and once more if the grader itself fails; reads missing *data*."""
    data = load_submission(job.submission) if data is None else data
    try:
        return execute(job, data, more_follow=more_follow, stop=stop)
    except GraderError:
        raise
    except (Exception, CancelledError):  # a bug in the grader, or a moment without memory
        if stop():
            raise
        log.exception("executing the notebook of %s failed", job.submission.student)
        return execute(job, data, stop=stop)


def _evidence_of(future: Future[Any], submission: Submission) -> Evidence | None:
    """Returns the evidence of a finished execution, or None if its worker died. Raises the error of
    the execution if it affects the whole batch."""
    error = future.exception()
    if error is None:
        evidence = future.result()
        return _unpack_received(evidence, submission) if isinstance(evidence, bytes) else evidence
    if isinstance(error, BrokenExecutor | executors.WorkersDiedError):
        log.warning("the worker of %s died", submission.student)
        return None
    if isinstance(error, KeyboardInterrupt | SetupError):
        raise error  # for example a missing sandbox, which affects the whole batch
    if isinstance(error, GraderError):
        return refused_evidence(submission.sha256, f"we could not run this notebook: {error.what}")
    # Only the error's name: its text may contain paths of this machine, and students read this.
    what = f"we could not run this notebook ({type(error).__name__})"
    return refused_evidence(submission.sha256, what)


def _unpack_received(data: bytes, submission: Submission) -> Evidence:
    """Returns the evidence in *data*, which a worker sent, or refused evidence if *data* is damaged
    or belongs to another notebook."""
    try:
        evidence = unpack_evidence(data)
    except GraderError as error:
        return refused_evidence(submission.sha256, f"a worker sent no evidence: {error.what}")
    if evidence.submission_sha256 != submission.sha256:
        return refused_evidence(submission.sha256, "a worker sent evidence of another notebook")
    return evidence


def refused_evidence(sha256: str, note: str) -> Evidence:
    """Returns evidence of a failure of the grader: the marks stay open."""
    return Evidence(
        submission_sha256=sha256,
        outcome=Outcome.REFUSED,
        answers={},
        cells=(),
        seconds=0.0,
        note=f"{note}; no points are deducted",
    )
