"""`grader grade`: execute and score."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

import click

from grader.cli.options import (
    bank_option,
    course_option,
    examples,
    gradebook_option,
    jobs_option,
    json_option,
    notebook_seconds_option,
    print_json,
    release_or_pack,
    sandbox_option,
)
from grader.cli.progress import progress
from grader.text.words import count_of

if TYPE_CHECKING:
    from grader.collect import Notice
    from grader.grading.results import WrittenResults


@click.command(
    "grade",
    epilog=examples(
        "grader grade submissions/ --release release/release.json --out results",
        "grader grade submissions.zip --release release --out results --jobs 4",
        "grader grade submissions/ --release release --out results --student ada",
        "grader grade canvas.zip --names Grades.csv --release release --out results",
        "GRADER_PACK_KEY=… grader grade submissions/ --pack exam.pack --out results",
        "grader grade submitted/ --format nbgrader --source source/ps1 --out results",
    ),
)
@click.argument("submissions", type=click.Path(path_type=Path))
@click.option(
    "--release",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The release.json that `grader render` wrote, or its folder.",
)
@click.option(
    "--pack",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Sealed pack to use instead of --release; opened with the key in GRADER_PACK_KEY.",
)
@click.option(
    "--pack-key-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File with the pack's key, if it is not in GRADER_PACK_KEY.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["exam", "nbgrader"]),
    default="exam",
    show_default=True,
    help="nbgrader: grade an existing nbgrader assignment with its own tests.",
)
@click.option(
    "--source",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="With --format nbgrader: source/ASSIGNMENT of the course, or the source notebook.",
)
@click.option(
    "--names",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="For downloads from Canvas or Moodle: the gradebook or worksheet that maps their numbers "
    "to students.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="RESULTS",
    help="Folder for grades, feedback and report. If it holds results already, they are updated.",
)
@click.option(
    "--student",
    "students",
    multiple=True,
    metavar="ID",
    help="Grade this student only. Repeat for more students.",
)
@click.option(
    "--only",
    type=click.Choice(["deferred"]),
    help="Grade only parts that other runs deferred: those that need a package installed here and, "
    "with --device cuda, those that need a GPU.",
)
@click.option(
    "--device",
    type=click.Choice(["cpu", "cuda"]),
    default="cpu",
    show_default=True,
    help="cuda: also run parts that need a GPU.",
)
@click.option(
    "--machine",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Profile of this machine from `grader calibrate`, for parts that measure performance.",
)
@sandbox_option
@click.option(
    "--cell-seconds",
    type=click.FloatRange(min=0.1),
    metavar="SECONDS",
    help="Time limit per cell, in seconds.  [default: 60; with --format "
    "nbgrader, the course's own limit]",
)
@notebook_seconds_option
@click.option(
    "--memory-gb",
    type=click.FloatRange(min=0.1),
    default=4,
    show_default=True,
    metavar="GB",
    help="Memory limit per notebook, in GB.",
)
@click.option(
    "--again", is_flag=True, help="Execute notebooks again even if their results are stored."
)
@click.option(
    "--executor",
    default="threads",
    show_default=True,
    help="How notebooks run in parallel: threads, processes, inline (one at a time), dask (local "
    "workers), or dask:ADDRESS (a Dask cluster). threads:4 means threads with --jobs 4.",
)
@jobs_option
@gradebook_option
@course_option
@click.option(
    "--times",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="With a course: submission times, as a CSV file with the columns student and received, "
    "Moodle's grading worksheet, or Gradescope's submission_metadata.yml.",
)
@bank_option
@json_option
def command(
    submissions: Path,
    release: Path | None,
    pack: Path | None,
    pack_key_file: Path | None,
    format_: str,
    source: Path | None,
    names: Path | None,
    out: Path,
    students: tuple[str, ...],
    only: str | None,
    device: str,
    machine: Path | None,
    sandbox: str,
    cell_seconds: float | None,
    notebook_seconds: float,
    memory_gb: float,
    again: bool,
    executor: str,
    jobs: int | None,
    gradebook: str,
    course_file: Path | None,
    times: Path | None,
    banks: tuple[str, ...],
    as_json: bool,
) -> int:
    """Execute and score submissions: a folder or zip of STUDENT.ipynb or STUDENT/*.ipynb.

    Run it again after Ctrl-C or with more submissions: stored results are kept. Exits 1 if a
    problem on this machine left marks open.
    """
    from grader.runtime import executors
    from grader.runtime.kernels import start_early
    from grader.runtime.sandbox import choose

    foreign = _nbgrader_source(format_, source, release or pack)
    if foreign is not None and (course_file is not None or times is not None):
        raise click.UsageError("--course and --times are only for exams, not for nbgrader")
    exam = Path() if foreign else release_or_pack(release, pack, pack_key_file)
    spec = executors.parse(executor, jobs)  # raises for options that contradict each other
    if spec.is_local:
        chosen = choose(sandbox)  # raises for an unknown or missing layer before anything runs
        if chosen.warning:
            click.echo(f"warning: {chosen.warning}", err=True)
        if spec.name in ("threads", "inline"):
            start_early(chosen.sandbox, device)
    gc.disable()  # imported modules stay, so collecting garbage meanwhile would be in vain
    click.get_current_context().call_on_close(gc.enable)
    # Only now, because these imports take as long as the kernel's process takes to start.
    from grader.bank.folders import Bank
    from grader.cli.course_commands import course_to_apply
    from grader.grading.results import write_results
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
        deferred=only == "deferred",
        machine=read_profile(machine).to_json() if machine else "",
    )
    with ExitStack() as stack:

        def started(total: int) -> Callable[[str], None]:
            gc.freeze()
            gc.enable()
            Thread(target=_prepare_pages, args=(banks,), daemon=True).start()
            return stack.enter_context(progress("executing", total))

        if foreign is None:
            course = course_to_apply(course_file, times, exam, banks)
            first, *others = settings.passes(is_local=spec.is_local)
            grade_all = partial(
                grade, submissions, exam, out, only=students, started=started, warn=_print_note
            )
            run = grade_all(settings=first, course=course)
            done = _RunCounts(run.executed, run.kept, run.unsettled, run.notices)
            for again_ in others:
                run = grade_all(settings=again_)
                done = done._replace(executed=done.executed + run.executed, unsettled=run.unsettled)
            more: dict[str, object] = {"missing": list(run.collected.missing)}
        else:
            theirs = grade_assignment(
                submissions,
                foreign,
                out,
                settings,
                cell_seconds=cell_seconds,
                only=students,
                started=started,
            )
            more = {"assignment": theirs.assignment.name}
            done = _RunCounts(theirs.executed, theirs.kept, theirs.unsettled, theirs.notices)
    written = write_results(out, Bank.open(banks))
    return _print_outcome(done, written, {"results": str(out), **more}, as_json=as_json)


def _prepare_pages(banks: tuple[str, ...]) -> None:
    """Compiles templates while the first kernel starts; errors show when the pages are written."""
    from grader.bank.folders import Bank
    from grader.grading.results import prepare_pages

    with suppress(Exception):
        prepare_pages(Bank.open(banks))


def _print_note(note: str) -> None:
    click.echo(f"note: {note}.", err=True)


class _RunCounts(NamedTuple):
    """Counts and notices of a run, for exams and nbgrader assignments alike."""

    executed: int
    kept: int
    unsettled: int
    notices: tuple[Notice, ...]


def _print_outcome(
    done: _RunCounts, written: WrittenResults, head: dict[str, object], *, as_json: bool
) -> int:
    """Prints the outcome, and returns the exit status."""
    status = 1 if done.unsettled else 0
    if as_json:
        print_json(
            {
                **head,
                "executed": done.executed,
                "kept": done.kept,
                "unsettled": done.unsettled,
                "notices": [
                    {"level": str(n.level), "path": n.path, "text": n.text} for n in done.notices
                ],
                "class": written.figures,
                "grades": written.totals,
            }
        )
        return status
    for notice in done.notices:
        click.echo(f"{notice.level}: {notice.path}: {notice.text}", err=True)
    click.echo(written.summary)
    if done.unsettled:
        click.echo(
            f"{count_of(done.unsettled, 'notebook')} could not be graded completely because of a "
            "problem on this machine. No points are deducted. Run the same command again.",
            err=True,
        )
    return status


def _nbgrader_source(format_: str, source: Path | None, exam: Path | None) -> Path | None:
    """Returns the source of an nbgrader assignment, or None for an exam; raises SetupError if the
    options don't fit together."""
    from grader.errors import SetupError

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
