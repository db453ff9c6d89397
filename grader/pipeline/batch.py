"""Many submissions through an executor, a few at a time, each to its evidence."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import TYPE_CHECKING

from grader import executors
from grader.collect import load as load_bytes
from grader.errors import GraderError, SetupError
from grader.execute import execute
from grader.model import Evidence, Job, Outcome, Submission

if TYPE_CHECKING:
    from grader.pipeline.grading import Settings


def execute_all(
    todo: Sequence[Submission], names: tuple[str, ...], settings: Settings
) -> Iterator[tuple[Submission, Evidence]]:
    """Each submission with its evidence, as they get done; few wait in memory.

    Never raises for one submission; SetupError for what would go wrong with all of them.
    """
    if not todo:
        return
    jobs = min(settings.jobs or os.cpu_count() or 1, len(todo))
    stop = threading.Event()
    with executors.open(_spec(settings.executor, jobs)) as pool:
        waiting: dict[Future[Evidence], Submission] = {}
        queue = iter(todo)
        try:
            while True:
                for submission in _next(queue, 2 * jobs - len(waiting)):
                    job = _job(submission, names, settings)
                    waiting[_submit(pool, job, settings, stop)] = submission
                if not waiting:
                    return
                finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in [f for f in waiting if f in finished]:  # in the order of the queue
                    submission = waiting.pop(future)
                    yield submission, _evidence(future, submission)
        except BaseException:
            # Ctrl-C: what runs is given up, what is done has been filed.
            stop.set()
            for future in waiting:
                future.cancel()
            raise


def _spec(executor: str, jobs: int) -> str:
    return executor if ":" in executor else f"{executor}:{jobs}"


def _next(queue: Iterator[Submission], most: int) -> Iterator[Submission]:
    for _ in range(most):
        submission = next(queue, None)
        if submission is None:
            return
        yield submission


def _job(submission: Submission, names: tuple[str, ...], settings: Settings) -> Job:
    return Job(
        submission=submission,
        names=names,
        limits=settings.limits,
        sandbox=settings.sandbox,
        device=settings.device,
    )


def _submit(
    pool: Executor, job: Job, settings: Settings, stop: threading.Event
) -> Future[Evidence]:
    # Other processes get Ctrl-C themselves, and an event can't be sent to them.
    if settings.executor.split(":")[0] == "threads":
        return pool.submit(_run, job, stop.is_set)
    return pool.submit(_run, job)


def _run(job: Job, stop: Callable[[], bool] = bool) -> Evidence:
    return execute(job, load_bytes(job.submission), stop=stop)


def _evidence(future: Future[Evidence], submission: Submission) -> Evidence:
    try:
        return future.result()
    except SetupError:
        raise  # such as a sandbox that is not there: true for the whole batch
    except GraderError as error:
        return refused(submission.sha256, f"we could not run this notebook: {error.what}")
    except Exception as error:  # noqa: BLE001 - a fault of ours must not stop the batch
        # The name of the error alone: its text may hold paths of ours, and a student reads this.
        what = f"we could not run this notebook ({type(error).__name__})"
        return refused(submission.sha256, what)


def refused(sha256: str, note: str) -> Evidence:
    """Evidence that we failed: the marks stay open."""
    return Evidence(
        submission_sha256=sha256,
        outcome=Outcome.REFUSED,
        answers={},
        cells=(),
        seconds=0.0,
        note=f"{note}; nothing is deducted",
    )
