"""`grader doctor`: what this machine can run, and whether it withstands hostile notebooks."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from grader.cli.options import JSON, print_json, table
from grader.cli.parameters import option, subcommand
from grader.errors import SetupError
from grader.text.words import count_of

if TYPE_CHECKING:
    from grader.security.redteam import Report


@subcommand(
    "doctor",
    "grader doctor",
    "grader doctor --json",
    "grader doctor --attack",
    "grader doctor --attack --class escape --class survive --sandbox off",
    "grader doctor --executor dask:tcp://host:8786",
)
def command(
    kernel: bool = option(
        True, help="Start a kernel and measure how long it takes.", show_default=True
    ),
    attacked: bool = option(
        False,
        "--attack",
        help="Grade about two hundred hostile submissions along with honest ones, and report which "
        "attacks were stopped.",
    ),
    classes: tuple[str, ...] = option(
        (),
        "--class",
        metavar="CLASS",
        help="Run only attacks of this class. Repeat for more classes.",
    ),
    sandbox: str = option(
        "auto",
        type=click.Choice(["auto", "required", "off"]),
        help="Sandbox that the attacks run in, or that workers are asked for.",
    ),
    executor: str | None = option(
        None,
        metavar="EXECUTOR",
        help="List the workers of a Dask cluster instead of this machine: dask:ADDRESS, as for "
        "`grader grade`.",
    ),
    quick: bool = option(False, help="Skip slow attacks."),
    as_json: bool = JSON,
) -> int:
    """Show what this machine can run: interpreter, packages, kernels, sandbox layers, devices.

    Exits 1 if notebooks can't be graded here or, with --attack, if an attack was not stopped. With
    --executor, lists what each worker of a cluster offers, and exits 1 if one doesn't fit this
    machine's runs.
    """
    if executor is not None:
        if attacked:
            raise click.UsageError("--attack tests this machine: omit --executor.")
        return _list_workers(executor, sandbox, as_json)
    if attacked:
        return _run_suite(classes, sandbox, quick, as_json)
    if classes or quick:
        raise click.UsageError("--class and --quick need --attack.")
    from grader.cli.doctor_report import examine

    findings = examine(kernel=kernel)
    if as_json:
        print_json(
            [{"what": f.what, "ok": f.ok, "seen": f.observation, "fix": f.fix} for f in findings]
        )
    else:
        width = max(len(f.what) for f in findings)
        for f in findings:
            click.echo(f"{_status_word(f.ok)} {f.what.ljust(width)}  {f.observation}")
            if f.fix:
                click.echo(f"     {' ' * width}  fix: {f.fix}")
    return 1 if any(f.ok is False for f in findings) else 0


def _list_workers(executor: str, sandbox: str, as_json: bool) -> int:
    """Prints the workers of a cluster, and returns 1 if one differs from this machine, else 0."""
    from grader.integrations.cluster.connections import survey_workers
    from grader.integrations.cluster.environments import wanted_environment

    name, _, address = executor.partition(":")
    if name != "dask" or not address:
        raise SetupError(
            f"'{executor}' names no cluster",
            fix="name a scheduler, such as dask:tcp://host:8786, a scheduler file, or a Python "
            "file",
        )
    survey = survey_workers(address, sandbox=sandbox)
    environment = wanted_environment()
    differing = {w.address: w.differences(environment) for w in survey.workers}
    if as_json:
        print_json(
            {
                "dashboard": survey.dashboard,
                "workers": [
                    asdict(w) | {"differences": differing[w.address]} for w in survey.workers
                ],
            }
        )
        return 1 if any(differing.values()) else 0
    rows = [
        (
            _status_word(not differing[w.address]),
            w.address,
            w.host,
            f"{w.threads} of {w.cores}",
            ", ".join(w.layers) or "none",
            ", ".join(f"{k}={v:g}" for k, v in w.resources.items()) or "-",
        )
        for w in survey.workers
    ]
    head = ("", "worker", "host", "threads of cores", "sandbox layers", "declares")
    click.echo(table(head, rows))
    for address_, differences in differing.items():
        for difference in differences:
            click.echo(f"{address_}: {difference}", err=True)
    for w in survey.workers:
        if w.has_cuda and "GPU" not in w.resources:
            click.echo(f"{w.address}: has a GPU; to use it, start it with --resources GPU=1")
    versions = ", ".join(f"{name} {version or 'none'}" for name, version in environment.items())
    click.echo(f"This machine: {versions}.")
    if survey.dashboard:
        click.echo(f"Dask's dashboard: {survey.dashboard}")
    return 1 if any(differing.values()) else 0


def _status_word(ok: bool | None) -> str:
    return {True: "ok  ", False: "FAIL", None: "--  "}[ok]


def _run_suite(classes: tuple[str, ...], sandbox: str, quick: bool, as_json: bool) -> int:
    """Runs the attacks, prints a report, and returns 1 if one was not stopped, else 0."""
    from grader.security.redteam import AttackSettings, report_data, run_attacks

    click.echo("Attacking this installation. This takes a minute or two.", err=True)
    report = run_attacks(AttackSettings(sandbox=sandbox, selection=classes, slow=not quick))
    if as_json:
        print_json(report_data(report))
    else:
        _print_report(report)
    return 0 if report.holds else 1


def _print_report(report: Report) -> None:
    """Prints each check of the attacks, the sandbox layers, and how many checks passed."""
    width = max(len(row.name) for row in report.rows)
    for row in report.rows:
        click.echo(f"{_status_word(row.has_held)} {row.name.ljust(width)}  {row.tries}")
        if row.has_held is not True:
            click.echo(f"     {' ' * width}  {row.observation}")
    click.echo(f"layers: {', '.join(report.layers) or 'none'}")
    if report.missing:
        click.echo(f"not available: {', '.join(report.missing)}")
    counts = {
        held: sum(row.has_held is held for row in report.rows) for held in (True, False, None)
    }
    click.echo(
        f"{count_of(counts[True], 'check')} passed, {counts[False]} failed, "
        f"{counts[None]} could not be run; {report.seconds:.0f} s"
    )
