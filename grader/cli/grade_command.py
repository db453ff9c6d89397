"""`grader grade`: execute and score."""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import click

from grader.cli.options import (
    BANKS,
    COURSE,
    EVIDENCE,
    GRADEBOOK,
    JOBS,
    JSON,
    NOTEBOOK_SECONDS,
    SANDBOX,
    open_bank,
    print_json,
    release_or_pack,
)
from grader.cli.parameters import FILE, option, subcommand
from grader.cli.progress import describe_run_time, progress
from grader.errors import SetupError
from grader.text.words import count_of

if TYPE_CHECKING:
    from grader.grading.results import WrittenResults
    from grader.grading.run import ExecutedRun
    from grader.grading.settings import ShownProgress


@subcommand(
    "grade",
    "grader grade submissions/ --release release/release.json --out results",
    "grader grade submissions.zip --release release --out results --jobs 4",
    "grader grade submissions/ --release release --out results --student ada",
    "grader grade canvas.zip --names Grades.csv --release release --out results",
    "GRADER_PACK_KEY=… grader grade submissions/ --pack exam.pack --out results",
    "grader grade submitted/ --format nbgrader --source source/ps1 --out results",
)
def command(
    submissions: Path,
    release: Path | None = option(
        None, metavar="FILE", help="The release.json that `grader render` wrote, or its folder."
    ),
    pack: Path | None = option(
        None,
        metavar="FILE",
        help="Sealed pack to use instead of --release; opened with the key in GRADER_PACK_KEY.",
    ),
    pack_key_file: Path | None = option(
        None, metavar="FILE", help="File with the pack's key, if it is not in GRADER_PACK_KEY."
    ),
    format_: str = option(
        "exam",
        "--format",
        type=click.Choice(["exam", "nbgrader"]),
        help="nbgrader: grade an existing nbgrader assignment with its own tests.",
    ),
    source: Path | None = option(
        None,
        metavar="DIR",
        help="With --format nbgrader: source/ASSIGNMENT of the course, or the source notebook.",
    ),
    names: Path | None = option(
        None,
        type=FILE,
        help="For downloads from Canvas or Moodle: the gradebook or worksheet that maps their "
        "numbers to students.",
    ),
    out: Path = option(
        metavar="RESULTS",
        help="Folder for grades, feedback, and report. If it holds results already, they are "
        "updated.",
    ),
    students: tuple[str, ...] = option(
        (), "--student", metavar="ID", help="Grade this student only. Repeat for more students."
    ),
    only: str | None = option(
        None,
        type=click.Choice(["deferred"]),
        help="Grade only parts that other runs deferred: those that need a package installed here "
        "and, with --device cuda, those that need a GPU.",
    ),
    device: str = option(
        "cpu", type=click.Choice(["cpu", "cuda"]), help="cuda: also run parts that need a GPU."
    ),
    machine: Path | None = option(
        None,
        metavar="FILE",
        help="Profile of this machine from `grader calibrate`, for parts that measure performance.",
    ),
    sandbox: str = SANDBOX,
    cell_seconds: float | None = option(
        None,
        least=0.1,
        metavar="SECONDS",
        help="Time limit per cell, in seconds.  [default: 60; with --format "
        "nbgrader, the course's own limit]",
    ),
    notebook_seconds: float = NOTEBOOK_SECONDS,
    memory_gb: float = option(4, least=0.1, metavar="GB", help="Memory limit per notebook, in GB."),
    again: bool = option(False, help="Execute notebooks again even if their results are stored."),
    executor: str = option(
        "threads",
        metavar="EXECUTOR",
        help="How notebooks run in parallel: threads, processes, inline (one at a time), dask "
        "(local workers), or dask:ADDRESS (a Dask cluster: the address of its scheduler, a "
        "scheduler file, or a Python file that starts it). threads:4 means threads with --jobs 4.",
    ),
    jobs: int | None = JOBS,
    gradebook: str = GRADEBOOK,
    evidence: str = EVIDENCE,
    course_file: Path | None = COURSE,
    times: Path | None = option(
        None,
        type=FILE,
        help="With a course: submission times, as a CSV file with the columns student and "
        "received, Moodle's grading worksheet, or Gradescope's submission_metadata.yml.",
    ),
    banks: tuple[str, ...] = BANKS,
    as_json: bool = JSON,
) -> int:
    """Execute and score submissions: a folder or zip of STUDENT.ipynb or STUDENT/*.ipynb.

    Run it again after Ctrl-C or with more submissions: stored results are kept. Exits 1 if a
    problem on this machine left marks open.
    """
    from grader.cli.early_start import start_kernels_early
    from grader.runtime import executors
    from grader.runtime.sandbox import choose_sandbox

    foreign = _nbgrader_source(format_, source, release or pack)
    if foreign is not None:
        _refuse_exam_options(
            {"--course": course_file, "--times": times, "--names": names, "--only": only}
        )
    exam = Path() if foreign else release_or_pack(release, pack, pack_key_file)
    began = time.perf_counter()
    spec = executors.parse(executor, jobs)  # raises for options that contradict each other
    if spec.is_local:
        # Raises for an unknown or missing layer before anything runs.
        chosen = choose_sandbox(sandbox)
        if chosen.warning:
            click.echo(f"warning: {chosen.warning}", err=True)
        if spec.name in ("threads", "inline"):
            start_kernels_early(chosen.sandbox, device, out, exam=exam, assignment=foreign)
    gc.disable()  # imported modules stay, so collecting garbage meanwhile would be in vain
    click.get_current_context().call_on_close(gc.enable)
    # Only now, because these imports take as long as the kernel's process takes to start.
    from grader.cli.course_commands import course_to_apply
    from grader.grading.run import grade
    from grader.grading.settings import Settings
    from grader.integrations.nbgrader.grading import grade_assignment
    from grader.model import Limits
    from grader.runtime.machine import read_profile

    settings = Settings(
        limits=Limits(
            cell_seconds=cell_seconds or Limits().cell_seconds,
            notebook_seconds=notebook_seconds,
            memory_bytes=int(memory_gb * 1e9),
        ),
        jobs=jobs,
        executor=executor,
        sandbox=sandbox,
        device=device,
        again=again,
        names=names,
        gradebook=gradebook,
        evidence=evidence,
        only_deferred=only == "deferred",
        machine=read_profile(machine).to_json() if machine else "",
    )
    finished: ExecutedRun
    more: dict[str, object]
    with ExitStack() as stack:

        def start_progress(total: int) -> ShownProgress:
            gc.freeze()
            gc.enable()
            Thread(target=_prepare_pages, args=(banks,), daemon=True).start()
            return stack.enter_context(progress("executing", total))

        if foreign is None:
            course = course_to_apply(course_file, times, exam, banks)
            first, *others = settings.passes(is_local=spec.is_local)
            grade_all = partial(
                grade,
                submissions,
                exam,
                out,
                only=students,
                started=start_progress,
                warn=lambda note: click.echo(f"note: {note}.", err=True),
            )
            run = grade_all(settings=first, course=course)
            for more_settings in others:  # on a cluster, for the parts that need a GPU
                later = grade_all(settings=more_settings)
                run = replace(
                    run,
                    executed_count=run.executed_count + later.executed_count,
                    unsettled_count=later.unsettled_count,
                    notebook_seconds=run.notebook_seconds + later.notebook_seconds,
                )
            finished = run
            more = {"missing": list(run.collection.missing)}
        else:
            finished = grade_assignment(
                submissions,
                foreign,
                out,
                settings,
                cell_seconds=cell_seconds,
                only=students,
                started=start_progress,
            )
            more = {"assignment": finished.assignment.name}
    executing = time.perf_counter() - began
    from grader.grading.results import write_results  # usually imported while notebooks ran

    written = write_results(out, open_bank(banks))
    if finished.executed_count and not spec.is_local:
        click.echo(
            describe_run_time(
                finished.executed_count,
                executing=executing,
                notebooks=finished.notebook_seconds,
                writing=time.perf_counter() - began - executing,
                own_cpu=time.process_time(),
            ),
            err=True,
        )
    return _print_outcome(finished, written, {"results": str(out), **more}, as_json=as_json)


def _print_outcome(
    done: ExecutedRun, written: WrittenResults, head: dict[str, object], *, as_json: bool
) -> int:
    """Prints the outcome, and returns the exit status."""
    status = 1 if done.unsettled_count else 0
    if as_json:
        print_json(
            {
                **head,
                "executed": done.executed_count,
                "kept": done.kept_count,
                "unsettled": done.unsettled_count,
                "notices": [
                    {"level": n.level, "path": n.path, "text": n.text} for n in done.notices
                ],
                "class": written.figures.to_json(),
                "grades": written.figures.totals,
            }
        )
        return status
    for notice in done.notices:
        click.echo(f"{notice.level}: {notice.path}: {notice.text}", err=True)
    click.echo(written.summary)
    if done.unsettled_count:
        notebooks = count_of(done.unsettled_count, "notebook")
        click.echo(
            f"{notebooks} could not be graded completely because of a problem on this machine. No "
            "points are deducted. Run the same command again.",
            err=True,
        )
    return status


def _prepare_pages(banks: tuple[str, ...]) -> None:
    """Compiles templates while the first kernel starts. Writing the pages reports any errors."""
    from grader.grading.results import prepare_pages

    with suppress(Exception):
        prepare_pages(open_bank(banks))


def _refuse_exam_options(given: Mapping[str, object]) -> None:
    """Raises UsageError if an option is given that nbgrader assignments don't have."""
    refused = next((name for name, value in given.items() if value is not None), None)
    if refused is not None:
        raise click.UsageError(f"{refused} can't be used with --format nbgrader.")


def _nbgrader_source(format_: str, source: Path | None, exam: Path | None) -> Path | None:
    """Returns the source of an nbgrader assignment, or None for an exam.

    Raises SetupError if the options don't fit together.
    """
    if format_ != "nbgrader":
        if source is not None:
            raise SetupError(
                "--source is only for nbgrader assignments",
                fix="add --format nbgrader, or use --release instead",
            )
        return None
    if exam is not None:
        raise SetupError(
            "an nbgrader assignment has no release", fix="leave out --release and --pack"
        )
    if source is None:
        raise SetupError(
            "--format nbgrader needs --source",
            fix="add --source with the course's folder source/ASSIGNMENT",
        )
    return source
