"""`grader doctor`: what this machine can run, and whether it withstands hostile notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from grader.cli.options import examples, json_option, print_json

if TYPE_CHECKING:
    from grader.security.redteam import Report


@click.command(
    "doctor",
    epilog=examples(
        "grader doctor",
        "grader doctor --json",
        "grader doctor --attack",
        "grader doctor --attack --class escape --class survive --sandbox off",
    ),
)
@click.option(
    "--kernel/--no-kernel",
    default=True,
    show_default=True,
    help="Start a kernel and measure how long it takes.",
)
@click.option(
    "--attack",
    "attacked",
    is_flag=True,
    help="Grade about two hundred hostile submissions along with honest ones, and report which "
    "attacks were stopped.",
)
@click.option(
    "--class",
    "classes",
    multiple=True,
    metavar="CLASS",
    help="Run only attacks of this class. Repeat for more classes.",
)
@click.option(
    "--sandbox",
    type=click.Choice(["auto", "required", "off"]),
    default="auto",
    show_default=True,
    help="Sandbox that the attacks run in.",
)
@click.option("--quick", is_flag=True, help="Skip slow attacks.")
@json_option
def command(
    kernel: bool, attacked: bool, classes: tuple[str, ...], sandbox: str, quick: bool, as_json: bool
) -> int:
    """Show what this machine can run: interpreter, packages, kernels, sandbox layers, devices.

    Exits 1 if notebooks can't be graded here or, with --attack, if an attack was not stopped.
    """
    if attacked:
        return _run_suite(classes, sandbox, quick, as_json)
    if classes or quick:
        raise click.UsageError("--class and --quick need --attack")
    from grader.cli.doctor_report import examine

    found = examine(kernel=kernel)
    if as_json:
        print_json([{"what": f.what, "ok": f.ok, "seen": f.seen, "fix": f.fix} for f in found])
    else:
        width = max(len(f.what) for f in found)
        for f in found:
            click.echo(f"{_status_word(f.ok)} {f.what.ljust(width)}  {f.seen}")
            if f.fix:
                click.echo(f"     {' ' * width}  fix: {f.fix}")
    return 1 if any(f.ok is False for f in found) else 0


def _status_word(ok: bool | None) -> str:
    return {True: "ok  ", False: "FAIL", None: "--  "}[ok]


def _run_suite(classes: tuple[str, ...], sandbox: str, quick: bool, as_json: bool) -> int:
    from grader.security.redteam import AttackSettings, report_data, run_attacks

    click.echo("Attacking this installation. This takes a minute or two.", err=True)
    report = run_attacks(AttackSettings(sandbox=sandbox, wanted=classes, slow=not quick))
    if as_json:
        print_json(report_data(report))
    else:
        _print_report(report)
    return 0 if report.holds else 1


def _print_report(report: Report) -> None:
    width = max(len(row.name) for row in report.rows)
    for row in report.rows:
        click.echo(f"{_status_word(row.held)} {row.name.ljust(width)}  {row.tries}")
        if row.held is not True:
            click.echo(f"     {' ' * width}  {row.seen}")
    click.echo(f"layers: {', '.join(report.layers) or 'none'}")
    if report.missing:
        click.echo(f"not available: {', '.join(report.missing)}")
    counts = {held: sum(row.held is held for row in report.rows) for held in (True, False, None)}
    click.echo(
        f"{counts[True]} checks passed, {counts[False]} failed, {counts[None]} could not be run; "
        f"{report.seconds:.0f} s"
    )
