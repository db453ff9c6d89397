"""Executes one submission: runs its cells in order, and collects its answers by name."""

from __future__ import annotations

import contextlib
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from grader import notebook
from grader.errors import SubmissionError
from grader.model import Answer, Evidence, Job, Limits, Outcome, Trial
from grader.model.evidence import CUT_SHORT, DISTURBED, RERUN
from grader.notebook import Cell
from grader.runtime.execute.files import file_writers
from grader.runtime.execute.limits import limit_phrases
from grader.runtime.execute.races import race_answer, why_unclear
from grader.runtime.execute.run import DIED_TOO_OFTEN, WHOLE, NotebookRun
from grader.runtime.execute.waiting import (
    defer_measurement,
    defer_missing,
    stand_in_code,
    waits_for,
)
from grader.runtime.kernels import (
    USUAL,
    LostError,
    NotStartedError,
    Session,
    Terms,
    kernels,
)
from grader.runtime.machine import from_json
from grader.runtime.sandbox import THREADS, Chosen, choose

__all__ = ["execute"]

PROCESSES_WITH_RANKS = 64
"""Limit on processes and threads for a notebook with a loopback: eight gloo ranks take 40."""

log = logging.getLogger("grader.runtime.execute")


def execute(
    job: Job,
    data: bytes,
    *,
    kernel: str = USUAL,
    more_follow: bool = False,
    stop: Callable[[], bool] = bool,
) -> Evidence:
    """Executes the notebook in *data* and returns the evidence, whatever the student's code did.

    If *more_follow*, the next kernel is started meanwhile. *stop* is polled twenty times a second;
    if it returns True, the kernel is ended and StoppedError is raised. Raises SetupError if the
    machine lacks the sandbox that the job requires.
    """
    began = time.monotonic()
    try:
        if job.submission.refusal is not None:
            raise SubmissionError(job.submission.refusal)
        cells = notebook.read(data).cells
    except SubmissionError as error:
        return _unreadable(job, error.what)
    if job.overlay is not None:
        cells = job.overlay.apply(cells)
    job = replace(job, limits=_with_room(job))
    chosen = choose(job.sandbox)
    terms = Terms(
        limits=job.limits,
        sandbox=chosen.sandbox,
        device=job.device,
        loopback=job.loopback,
        seed=job.seed,
        variables=job.variables,
        imports=_modules_to_preload(cells, job.trials),
        more_follow=more_follow,
        stop=stop,
    )
    start = kernels.find(kernel)
    try:
        try:
            run, about = _run(job, cells, chosen, start, terms)
        except LostError:
            run, about = _run(job, cells, chosen, start, terms)
        answers = _measured(job, cells, run.answers(), start, terms)
        answers = defer_missing(answers, run.cells)
        if job.overlay is not None:
            answers = job.overlay.answers(cells, run.shown)
    except NotStartedError as error:
        return _refused(job, error, time.monotonic() - began)
    disturbed, cut_short = _disturbed(job, run, answers), _cut_short(run, answers)
    return Evidence(
        submission_sha256=job.submission.sha256,
        outcome=run.outcome,
        answers=answers,
        cells=run.cells,
        seconds=round(time.monotonic() - began, 3),
        note=_note(job, run, disturbed),
        environment={
            **about,
            "kernel": kernel,
            "device": job.device,
            "loopback": job.loopback,
            "seed": job.seed,
            "restarts": run.restarts,
            "limits": {
                "cell_seconds": job.limits.cell_seconds,
                "notebook_seconds": job.limits.notebook_seconds,
                "memory_bytes": job.limits.memory_bytes,
                "scratch_bytes": job.limits.scratch_bytes if chosen.bounded else None,
                "processes": job.limits.processes,
                "threads": THREADS,
            },
            "sandbox": chosen.describe(),
            **({"machine": from_json(job.machine).id} if job.machine else {}),
            **({DISTURBED: disturbed} if disturbed else {}),
            **({CUT_SHORT: cut_short} if cut_short else {}),
            **({RERUN: job.rerun} if job.rerun else {}),
        },
    )


def _run(
    job: Job,
    cells: Sequence[Cell],
    chosen: Chosen,
    start: Callable[[Terms], Session],
    terms: Terms,
) -> tuple[NotebookRun, Mapping[str, object]]:
    with _session(start, terms) as session:
        rlimits = chosen.sandbox.rlimits(job.limits, job.device)
        known = limit_phrases(job.limits, rlimits, bounded=chosen.bounded)
        before = [*file_writers(job.files), *stand_in_code(job.trials)]
        run = NotebookRun(job, cells, session, known, before)
        run.all()
        return run, session.about


def _measured(
    job: Job,
    cells: Sequence[Cell],
    answers: Mapping[str, Answer],
    start: Callable[[Terms], Session],
    terms: Terms,
) -> Mapping[str, Answer]:
    """Adds measurements to *answers*; called once every process of the notebook has ended."""
    code = [cell.source for cell in cells if cell.type == "code"]
    profile = from_json(job.machine) if job.machine else None
    found = dict(answers)
    for trial in job.trials:
        if trial.race is None or trial.name not in found:
            continue
        answer = found[trial.name]
        found[trial.name] = (
            defer_measurement(trial, answer, job.device)
            if waits_for(trial, job.device)
            else race_answer(trial, answer, code, start, terms, profile, alone=bool(job.rerun))
        )
    return found


def _with_room(job: Job) -> Limits:
    """The limits of *job*, with more processes if the notebook starts communicating ranks."""
    most = max(job.limits.processes, PROCESSES_WITH_RANKS if job.loopback else 0)
    return replace(job.limits, processes=most)


def _disturbed(job: Job, run: NotebookRun, answers: Mapping[str, Answer]) -> Mapping[str, str]:
    """How other work on the machine interfered, by the answer it may have affected."""
    found = dict(run.disturbed)
    whole = found.pop(WHOLE, None)
    if whole is not None:
        found |= dict.fromkeys(answers, whole)
    if not job.rerun:
        measured = (t for t in job.trials if t.race is not None and t.name in answers)
        for trial in measured:
            why = why_unclear(trial, answers[trial.name])
            if why is not None:
                found.setdefault(trial.name, why)
    return found


def _cut_short(run: NotebookRun, answers: Mapping[str, Answer]) -> Mapping[str, str]:
    """What a limit of ours kept from being found, also of the cells of an overlay."""
    not_run = {
        name: f"its cell was not run {DIED_TOO_OFTEN}"
        for name, answer in answers.items()
        if answer.raw is not None and answer.raw.get("index") in run.given_up
    }
    return {**run.cut_short, **not_run}


def _note(job: Job, run: NotebookRun, disturbed: Mapping[str, str]) -> str | None:
    """Problems with the run, interference by other work, and whether this is a second run."""
    again = f"this is a second run, alone: in the first, {job.rerun}" if job.rerun else None
    return "; ".join(filter(None, (run.note, *dict.fromkeys(disturbed.values()), again))) or None


_IMPORTED = re.compile(r"^[ \t]*(?:import|from)[ \t]+([\w., \t]+)", re.MULTILINE)
# Modules that a fork server imports ahead, since each import takes a tenth of a second to two
# seconds: the words of an import statement that ask for it, and a pattern that the code matches.
_PRELOADED: Mapping[str, tuple[frozenset[str], str]] = {
    "numpy": (frozenset({"numpy", "torch", "matplotlib", "pandas"}), ""),
    "torch": (frozenset({"torch"}), ""),
    "torch._dynamo": (
        frozenset({"torch"}),
        r"\b(checkpoint|compile|distributed|export|func|jit|profiler|_dynamo)\b",
    ),
    "matplotlib.pyplot": (frozenset({"matplotlib"}), ""),
    "matplotlib_inline.backend_inline": (frozenset({"matplotlib"}), ""),
    "pandas": (frozenset({"pandas"}), ""),
}


def _modules_to_preload(cells: Sequence[Cell], trials: Sequence[Trial]) -> tuple[str, ...]:
    texts = [cell.source for cell in cells if cell.type == "code"]
    for trial in trials:
        texts += [trial.driver, *trial.tools, trial.race.setup if trial.race else ""]
    code = "\n".join(texts)
    imported = {word for names in _IMPORTED.findall(code) for word in re.findall(r"\w+", names)}
    if trials:
        imported.add("numpy")  # `grader.wire.trial` builds inputs with it
    return tuple(
        name
        for name, (words, pattern) in _PRELOADED.items()
        if words & imported and re.search(pattern, code)
    )


@contextlib.contextmanager
def _session(start: Callable[[Terms], Session], terms: Terms) -> Iterator[Session]:
    """A session that is closed at the end; a failed start is retried once."""
    try:
        session = start(terms)
    except NotStartedError:
        session = start(terms)
    try:
        yield session
    finally:
        try:
            session.close()
        except Exception as error:  # noqa: BLE001  # a failed cleanup must not lose evidence
            log.warning("a kernel could not be closed: %s", error)


def _unreadable(job: Job, why: str) -> Evidence:
    """Evidence for a file that is not a notebook: nothing ran, and every answer says why."""
    return Evidence(
        submission_sha256=job.submission.sha256,
        outcome=Outcome.CRASHED,
        answers={name: Answer(name=name, raw=None, absent=why) for name in job.names},
        cells=(),
        seconds=0.0,
        note=why,
    )


def _refused(job: Job, error: NotStartedError, seconds: float) -> Evidence:
    """Evidence of a failure of the grader, which must never cost the student any points."""
    return Evidence(
        submission_sha256=job.submission.sha256,
        outcome=Outcome.REFUSED,
        answers={},
        cells=(),
        seconds=round(seconds, 3),
        note=f"we could not run this notebook; no points are deducted ({error})",
    )
