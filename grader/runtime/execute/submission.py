"""Executes one submission: runs its cells in order, and collects its answers by name."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from grader import notebook
from grader.errors import SubmissionError
from grader.kinds.hidden import analysis
from grader.model import Answer, CallPlan, Evidence, Job, Outcome
from grader.model.evidence import CUT_SHORT, DISTURBED, RERUN
from grader.notebook import Cell
from grader.runtime.execute.clarity import reason_to_repeat
from grader.runtime.execute.deferral import (
    defer_measurement,
    defer_missing,
    find_lack_of_modules,
    find_lack_of_shared_memory,
    missing_requirement,
    stand_in_code,
)
from grader.runtime.execute.measure import measure_answer
from grader.runtime.execute.reasons import limit_phrases
from grader.runtime.execute.run import DIED_TOO_OFTEN, WHOLE, NotebookRun
from grader.runtime.kernels import USUAL, KernelOptions, LostError, NotStartedError, kernels
from grader.runtime.kernels.base import Start, open_session
from grader.runtime.machine import from_json
from grader.runtime.sandbox import THREADS, SandboxChoice, choose_sandbox

PROCESSES_WITH_RANKS = 64
"""Limit on processes and threads for a notebook with a loopback: eight gloo ranks take 40."""


def execute(
    job: Job,
    data: bytes,
    *,
    kernel: str = USUAL,
    more_follow: bool = False,
    preload: Sequence[str] = (),
    stop: Callable[[], bool] = bool,
) -> Evidence:
    """Executes the notebook in *data* and returns the evidence, whatever the student's code did.

    If *more_follow*, the next kernel is started meanwhile. If the notebook imports a module that is
    worth importing before, the modules in *preload* are imported too, so that other notebooks can
    use the same fork server. *stop* is polled twenty times a second; if it returns True, the kernel
    is ended and StoppedError is raised. Raises SetupError if the machine lacks the sandbox that the
    job requires.
    """
    began = time.monotonic()
    try:
        if job.submission.refusal is not None:
            raise SubmissionError(job.submission.refusal)
        cells = notebook.read(data).cells
    except SubmissionError as error:
        unread = {name: Answer(name=name, raw=None, absent=error.what) for name in job.names}
        return _evidence_without_run(job, Outcome.CRASHED, error.what, unread)
    if job.overlay is not None:
        cells = job.overlay.apply(cells)
    if job.loopback:
        processes = max(job.limits.processes, PROCESSES_WITH_RANKS)
        job = replace(job, limits=replace(job.limits, processes=processes))
    chosen = choose_sandbox(job.sandbox)
    options = KernelOptions(
        limits=job.limits,
        sandbox=chosen.sandbox,
        device=job.device,
        loopback=job.loopback,
        seed=job.seed,
        variables=job.variables,
        imports=_modules_to_preload(cells, job.call_plans, preload),
        more_follow=more_follow,
        stop=stop,
    )
    start = kernels.find(kernel)
    if job.call_plans:
        analysis.start_early([cell.source for cell in cells if cell.type == "code"])
    try:
        try:
            run, about = _run_notebook(job, cells, chosen, start, options)
        except LostError:
            run, about = _run_notebook(job, cells, chosen, start, options)
        answers = _add_measurements(job, cells, run.answers, start, options)
        answers = defer_missing(answers, run.cells)
        if job.overlay is not None:
            answers = job.overlay.answers(cells, run.shown)
    except NotStartedError as error:
        note = f"we could not run this notebook; no points are deducted ({error})"
        return _evidence_without_run(job, Outcome.REFUSED, note, {}, time.monotonic() - began)
    disturbed = _find_disturbances(job, run, answers)
    cut_short = {**find_lack_of_modules(answers, run.cells), **_find_cut_short(run, answers)}
    if not chosen.sandbox.has_shared_memory:
        cut_short = {**find_lack_of_shared_memory(answers, run.cells), **cut_short}
    return Evidence(
        submission_sha256=job.submission.sha256,
        outcome=run.outcome,
        answers=answers,
        cells=run.cells,
        seconds=round(time.monotonic() - began, 3),
        note=_describe_run(job, run, disturbed),
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
                "scratch_bytes": job.limits.scratch_bytes
                if chosen.sandbox.has_disk_quota
                else None,
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


def _run_notebook(
    job: Job,
    cells: Sequence[Cell],
    chosen: SandboxChoice,
    start: Start,
    options: KernelOptions,
) -> tuple[NotebookRun, Mapping[str, object]]:
    """Returns the run of the whole notebook, and what its kernel reported about itself."""
    with open_session(start, options) as session:
        rlimits = chosen.sandbox.rlimits(job.limits, job.device)
        phrases = limit_phrases(job.limits, rlimits, bounded=chosen.sandbox.has_disk_quota)
        before = [*_iter_file_writers(job.files), *stand_in_code(job.call_plans)]
        run = NotebookRun(job, cells, session, phrases, before)
        run.run_all()
        return run, session.about


def _add_measurements(
    job: Job,
    cells: Sequence[Cell],
    answers: Mapping[str, Answer],
    start: Start,
    options: KernelOptions,
) -> Mapping[str, Answer]:
    """Returns *answers* with their measurements. Call it once no process of the notebook runs."""
    code = [cell.source for cell in cells if cell.type == "code"]
    profile = from_json(job.machine) if job.machine else None
    measured = dict(answers)
    for call_plan in job.call_plans:
        if call_plan.benchmark is None or call_plan.name not in measured:
            continue
        answer = measured[call_plan.name]
        measured[call_plan.name] = (
            defer_measurement(call_plan, answer, job.device)
            if missing_requirement(call_plan, job.device)
            else measure_answer(
                call_plan, answer, code, start, options, profile, alone=bool(job.rerun)
            )
        )
    return measured


def _find_disturbances(
    job: Job, run: NotebookRun, answers: Mapping[str, Answer]
) -> Mapping[str, str]:
    """Returns how other work on the machine interfered, by the answer it may have affected."""
    disturbances = dict(run.disturbed)
    whole_run = disturbances.pop(WHOLE, None)
    if whole_run is not None:
        disturbances |= dict.fromkeys(answers, whole_run)
    if not job.rerun:
        measured = (t for t in job.call_plans if t.benchmark is not None and t.name in answers)
        for call_plan in measured:
            why = reason_to_repeat(call_plan, answers[call_plan.name])
            if why is not None:
                disturbances.setdefault(call_plan.name, why)
    return disturbances


def _find_cut_short(run: NotebookRun, answers: Mapping[str, Answer]) -> Mapping[str, str]:
    """Returns, by answer, which limit kept it from being found; includes cells of overlays."""
    not_run = {
        name: f"its cell was not run {DIED_TOO_OFTEN}"
        for name, answer in answers.items()
        if answer.raw is not None and answer.raw.get("index") in run.given_up
    }
    return {**run.cut_short, **not_run}


def _describe_run(job: Job, run: NotebookRun, disturbed: Mapping[str, str]) -> str | None:
    """Returns what went wrong in the run, which other work disturbed it, and why it is a second
    run; None if nothing of this applies."""
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
        r"\btorch(?:\.|\s+import\s+)(?:compile|export|func|jit|profiler|_dynamo)\b|\bcheckpoint\b",
    ),
    "matplotlib.pyplot": (frozenset({"matplotlib"}), ""),
    "matplotlib_inline.backend_inline": (frozenset({"matplotlib"}), ""),
    "pandas": (frozenset({"pandas"}), ""),
}


def _modules_to_preload(
    cells: Sequence[Cell], call_plans: Sequence[CallPlan], more: Sequence[str] = ()
) -> tuple[str, ...]:
    """Returns the known modules that the code imports and, if it imports any, those in *more*."""
    texts = [cell.source for cell in cells if cell.type == "code"]
    for call_plan in call_plans:
        texts += [
            call_plan.driver,
            *call_plan.tools,
            call_plan.benchmark.setup if call_plan.benchmark else "",
        ]
    code = "\n".join(texts)
    imported = {word for names in _IMPORTED.findall(code) for word in re.findall(r"\w+", names)}
    if call_plans:
        imported.add("numpy")  # `grader.wire.calls` builds inputs with it
    needed = {
        name
        for name, (words, pattern) in _PRELOADED.items()
        if words & imported and re.search(pattern, code)
    }
    if needed:
        needed |= _PRELOADED.keys() & set(more)
    return tuple(name for name in _PRELOADED if name in needed)


def _evidence_without_run(
    job: Job, outcome: Outcome, note: str, answers: Mapping[str, Answer], seconds: float = 0.0
) -> Evidence:
    return Evidence(
        submission_sha256=job.submission.sha256,
        outcome=outcome,
        answers=answers,
        cells=(),
        seconds=round(seconds, 3),
        note=note,
    )


_CHUNK = 3_000_000
"""Bytes sent at a time."""
_CODE = """\
def _grader_(name, text):
    import base64, pathlib
    path = pathlib.Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("{mode}") as file:
        file.write(base64.b64decode(text))
_grader_({name!r}, {text!r})
del _grader_
"""


def _iter_file_writers(files: Iterable[tuple[str, bytes]]) -> Iterator[str]:
    """Yields sources of cells that write *files* (path, content) into the working folder."""
    for name, data in files:
        for start in range(0, max(len(data), 1), _CHUNK):
            text = base64.b64encode(data[start : start + _CHUNK]).decode()
            yield _CODE.format(name=name, text=text, mode="ab" if start else "wb")
