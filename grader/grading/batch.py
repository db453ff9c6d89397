"""Executes many submissions with an executor, a few at a time."""

from __future__ import annotations

import logging
import os
import threading
from asyncio import CancelledError
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from typing import TYPE_CHECKING

from grader.collect import load as load_bytes
from grader.errors import GraderError, SetupError
from grader.model import Evidence, Job, Outcome, Submission, Trial
from grader.runtime import executors
from grader.runtime.execute import MOST_TIMES, execute

if TYPE_CHECKING:
    from grader.grading.settings import Settings

MAX_DEAD = 20
"""Maximum number of workers that may die in a row before any notebook finishes."""

SLACK_SECONDS = 600.0
"""Seconds for starting and querying kernels, beyond twice a notebook's limit on a busy machine.
Each step has its own limit, so only a bug in the grader can exceed this."""

_LOOK_SECONDS = 0.2
"""Seconds between two checks for a stop."""

_Done = tuple[Submission, Evidence]

log = logging.getLogger("grader.batch")
log.addHandler(logging.NullHandler())


def execute_all(
    todo: Sequence[Submission],
    names: tuple[str, ...],
    settings: Settings,
    trials: Callable[[str], tuple[Trial, ...]] = lambda _: (),
    stopped: Callable[[], bool] = bool,
    running: Callable[[Sequence[str]], None] = lambda _: None,
) -> Generator[_Done]:
    """Yields each submission with its evidence as it finishes; only a few are kept in memory.

    *trials* are those of a student, by ID. *running* is called several times per second with the
    students whose notebooks are being executed. Raises KeyboardInterrupt once *stopped* returns
    True and no notebook runs any more.

    Never raises for a single submission; raises SetupError for errors that affect all of them. If
    a worker process dies, its submissions are tried once more, one at a time, so that a notebook
    that kills its worker affects no other. If other work on the machine may have cost a mark, the
    notebook is executed once more at the end, with nothing of the batch beside it.
    """
    if not todo:
        return
    batch = _Batch(names, settings, trials, stopped, running)
    yield from batch.run(todo)
    yield from batch.run_lost()
    yield from batch.run_disturbed()


class _Batch:
    """State shared by the passes of a batch."""

    def __init__(
        self,
        names: tuple[str, ...],
        settings: Settings,
        trials: Callable[[str], tuple[Trial, ...]],
        stopped: Callable[[], bool],
        running: Callable[[Sequence[str]], None],
    ):
        self.lost: list[Submission] = []
        """Submissions whose worker died."""
        self.disturbed: dict[Submission, Evidence] = {}
        """Submissions that other work on the machine disturbed, with their evidence."""
        self._names = names
        self._settings = settings
        self._trials = trials
        self._stop = threading.Event()
        self._stopped = stopped
        self._running = running
        self._dead = 0
        self._reruns: dict[Submission, str] = {}

    def run(self, todo: Sequence[Submission]) -> Iterator[_Done]:
        """Yields all of *todo*, with a new pool whenever one breaks."""
        jobs = min(_jobs(self._settings), len(todo))
        queue = deque(todo)
        while queue:
            if self._dead >= MAX_DEAD:
                raise SetupError(
                    f"{MAX_DEAD} worker processes died in a row",
                    fix="grade with --executor threads; run `grader doctor` to see what works here",
                )
            if (
                self._dead > 1
            ):  # one at a time, so that a notebook that kills its worker affects no other
                yield from self._pass(deque([queue.popleft()]), 1, ahead=1)
            else:
                yield from self._pass(queue, jobs, ahead=2 * jobs)

    def run_lost(self) -> Iterator[_Done]:
        """Yields those that were lost, each executed once more and alone."""
        queue, self.lost = deque(self.lost), []
        while queue:
            yield from self._pass(queue, 1, ahead=1)
        for submission in self.lost:
            yield submission, refused(submission.sha256, "the process that ran this notebook died")

    def run_disturbed(self) -> Iterator[_Done]:
        """Yields those that were disturbed, each executed once more and alone, or else unchanged.

        Only once, so that no notebook runs forever.
        """
        first, self.disturbed = self.disturbed, {}
        self._reruns = {one: "; ".join(_reasons(found)) for one, found in first.items()}
        self.lost = []
        queue = deque(first)
        while queue:
            for submission, evidence in self._pass(queue, 1, ahead=1):
                failed = evidence.outcome is Outcome.REFUSED
                yield submission, first[submission] if failed else evidence
        for submission in self.lost:
            yield submission, first[submission]

    def _pass(self, queue: deque[Submission], jobs: int, *, ahead: int) -> Iterator[_Done]:
        with executors.open(_spec(self._settings.executor, jobs)) as pool:
            yield from self._through(pool, queue, ahead)

    def _through(self, pool: Executor, queue: deque[Submission], ahead: int) -> Iterator[_Done]:
        """Yields the results of *pool* for *queue*, with up to *ahead* pending; until it breaks."""
        waiting: dict[Future[Evidence], Submission] = {}
        broken = False
        try:
            while waiting or (queue and not broken):
                broken = broken or not self._fill(pool, queue, ahead, waiting)
                finished, _ = wait(waiting, _LOOK_SECONDS, return_when=FIRST_COMPLETED)
                if self._stopped():
                    raise KeyboardInterrupt
                self._running([s.student for future, s in waiting.items() if future.running()])
                for future in [f for f in waiting if f in finished]:  # in the order of the queue
                    submission = waiting.pop(future)
                    if isinstance(future.exception(), BrokenExecutor):
                        broken = True
                        self._lose(submission)
                        continue
                    self._dead = 0
                    evidence = _evidence(future, submission)
                    if evidence.disturbed and submission not in self._reruns:
                        self.disturbed[submission] = evidence
                    else:
                        yield submission, evidence
        except BaseException:
            # After Ctrl-C, running work is abandoned; finished work has been saved.
            self._stop.set()
            for future in waiting:
                future.cancel()
            raise
        if broken:
            self._dead += 1

    def _fill(
        self,
        pool: Executor,
        queue: deque[Submission],
        ahead: int,
        waiting: dict[Future[Evidence], Submission],
    ) -> bool:
        """Returns whether *pool* accepted the work."""
        while queue and len(waiting) < ahead:
            submission = queue.popleft()
            try:
                waiting[self._submit(pool, submission)] = submission
            except BrokenExecutor:
                # Pending work breaks the pool, but work that never started does not.
                if waiting:
                    queue.appendleft(submission)
                else:
                    self._lose(submission)
                return False
            except (OSError, RuntimeError) as error:
                raise SetupError(
                    f"this machine can't start another worker: {str(error).lower()}",
                    fix="grade fewer notebooks at once, for example with --jobs 2",
                ) from error
        return True

    def _lose(self, submission: Submission) -> None:
        log.warning("the worker of %s died", submission.student)
        self.lost.append(submission)

    def _submit(self, pool: Executor, submission: Submission) -> Future[Evidence]:
        job = Job(
            submission=submission,
            names=self._names,
            trials=self._trials(submission.student),
            limits=self._settings.limits,
            sandbox=self._settings.sandbox,
            device=self._settings.device,
            loopback=self._settings.loopback,
            variables=self._settings.variables,
            overlay=self._settings.overlay,
            files=self._settings.files,
            machine=self._settings.machine,
            rerun=self._reruns.get(submission, ""),
        )
        # Other processes receive Ctrl-C themselves, and an event can't be sent to them.
        if self._settings.executor.split(":")[0] == "threads":
            return pool.submit(_run, job, self._stop.is_set)
        return pool.submit(_run, job)


def _jobs(settings: Settings) -> int:
    """Returns how many submissions to work on at once."""
    _, _, count = settings.executor.partition(":")
    return int(count) if count.isdecimal() else settings.jobs or os.cpu_count() or 1


def _spec(executor: str, jobs: int) -> str:
    return executor if ":" in executor else f"{executor}:{jobs}"


def _run(job: Job, stop: Callable[[], bool] = bool) -> Evidence:
    """Executes one submission in a thread that can be abandoned if it hangs."""
    data = load_bytes(job.submission)
    left = threading.Event()
    found: Future[Evidence] = Future()
    how = (found, job, data, lambda: left.is_set() or stop())
    threading.Thread(target=_execute, args=how, name="grader", daemon=True).start()
    try:
        most = 2 * MOST_TIMES * job.limits.notebook_seconds + SLACK_SECONDS
        wait([found], timeout=most)
    except BaseException:  # Ctrl-C reaches only the main thread
        left.set()
        wait([found], timeout=5)
        raise
    if not found.done():
        left.set()
        log.error("the notebook of %s is stuck", job.submission.student)
        raise GraderError("it took far longer than allowed and could not be stopped")
    return found.result()


def _execute(found: Future[Evidence], job: Job, data: bytes, stop: Callable[[], bool]) -> None:
    try:
        found.set_result(_twice(job, data, stop))
    except BaseException as error:  # noqa: BLE001 - the thread that waits raises it
        found.set_exception(error)


def _twice(job: Job, data: bytes, stop: Callable[[], bool]) -> Evidence:
    """Returns the evidence of an execution; retried once if the grader fails."""
    try:
        return execute(job, data, stop=stop)
    except GraderError:
        raise
    except (Exception, CancelledError):  # a bug in the grader, or a moment without memory
        if stop():
            raise
        log.exception("executing the notebook of %s failed", job.submission.student)
        return execute(job, data, stop=stop)


def _evidence(future: Future[Evidence], submission: Submission) -> Evidence:
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, KeyboardInterrupt | SetupError):
        raise error  # for example a missing sandbox, which affects the whole batch
    if isinstance(error, GraderError):
        return refused(submission.sha256, f"we could not run this notebook: {error.what}")
    # Only the error's name: its text may contain paths of this machine, and students read this.
    what = f"we could not run this notebook ({type(error).__name__})"
    return refused(submission.sha256, what)


def _reasons(evidence: Evidence) -> tuple[str, ...]:
    """Returns what other work did to a run, each reason once."""
    return tuple(dict.fromkeys(evidence.disturbed.values()))


def refused(sha256: str, note: str) -> Evidence:
    """Returns evidence of a failure of the grader: the marks stay open."""
    return Evidence(
        submission_sha256=sha256,
        outcome=Outcome.REFUSED,
        answers={},
        cells=(),
        seconds=0.0,
        note=f"{note}; no points are deducted",
    )
