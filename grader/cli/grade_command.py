"""`grader grade`: execute and score."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import click

from grader.cli.options import (
    bank_option,
    examples,
    jobs_option,
    json_option,
    print_json,
    progress,
    sandbox_option,
)


@click.command(
    "grade",
    epilog=examples(
        "grader grade submissions/ --release release/release.json --out results",
        "grader grade submissions.zip --release release --out results --jobs 4",
        "grader grade submissions/ --release release --out results --student ada",
    ),
)
@click.argument("submissions", type=click.Path(path_type=Path))
@click.option("--release", required=True, type=click.Path(path_type=Path), metavar="FILE")
@click.option("--out", required=True, type=click.Path(path_type=Path), metavar="RESULTS")
@click.option(
    "--student", "students", multiple=True, metavar="ID", help="Only this one; again for more."
)
@click.option(
    "--only",
    type=click.Choice(["deferred"]),
    help="With --device cuda: fill in what runners without a GPU have put off.",
)
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@click.option(
    "--machine",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="This machine's profile, from `grader calibrate`, for what is measured.",
)
@sandbox_option
@click.option("--cell-seconds", type=click.FloatRange(min=0.1), default=60.0, show_default=True)
@click.option("--notebook-seconds", type=click.FloatRange(min=1), default=600.0, show_default=True)
@click.option(
    "--memory-gb",
    type=click.FloatRange(min=0.1),
    default=4.0,
    show_default=True,
    help="Most memory of one notebook.",
)
@click.option("--again", is_flag=True, help="Execute even what was executed before.")
@click.option(
    "--executor", default="threads", show_default=True, help="threads, processes, inline."
)
@jobs_option
@bank_option
@json_option
def command(
    submissions: Path,
    release: Path,
    out: Path,
    students: tuple[str, ...],
    only: str | None,
    device: str,
    machine: Path | None,
    sandbox: str,
    cell_seconds: float,
    notebook_seconds: float,
    memory_gb: float,
    again: bool,
    executor: str,
    jobs: int | None,
    banks: tuple[str, ...],
    as_json: bool,
) -> int:
    """Execute and score submissions: a folder or zip of STUDENT.ipynb or STUDENT/*.ipynb.

    Run it again after Ctrl-C or with more submissions: what was executed is kept. Exits 1 when
    a mark could not be settled for a fault of ours.
    """
    from grader.load import Bank
    from grader.machine import read_profile
    from grader.model import Limits
    from grader.pipeline import Settings, grade, write_results
    from grader.sandbox import choose

    chosen = choose(sandbox)  # an unknown or missing one is an error before anything runs
    if chosen.warning:
        click.echo(f"warning: {chosen.warning}", err=True)
    settings = Settings(
        limits=Limits(
            cell_seconds=cell_seconds,
            notebook_seconds=notebook_seconds,
            memory_bytes=int(memory_gb * 1e9),
        ),
        jobs=jobs,
        executor=executor,
        sandbox=sandbox,
        device=device,
        again=again,
        deferred=only == "deferred",
        machine=read_profile(machine).to_json() if machine else "",
    )
    with ExitStack() as stack:

        def started(total: int) -> Callable[[str], None]:
            return stack.enter_context(progress("executing", total))

        run = grade(submissions, release, out, settings, only=students, started=started)
    written = write_results(out, Bank.open(banks))
    if as_json:
        print_json(
            {
                "results": str(out),
                "executed": run.executed,
                "kept": run.kept,
                "unsettled": run.unsettled,
                "missing": list(run.collected.missing),
                "notices": [
                    {"level": str(n.level), "path": n.path, "text": n.text} for n in run.notices
                ],
                "grades": written.totals,
            }
        )
        return 1 if run.unsettled else 0
    for notice in run.notices:
        click.echo(f"{notice.level}: {notice.path}: {notice.text}", err=True)
    click.echo(written.summary)
    if run.unsettled:
        click.echo(
            f"{run.unsettled} notebooks could not be run by a fault of ours: nothing is deducted; "
            "run the same command again.",
            err=True,
        )
    return 1 if run.unsettled else 0
