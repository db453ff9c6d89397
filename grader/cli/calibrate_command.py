"""`grader calibrate`: measure this machine and save the results as a profile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.options import JSON
from grader.cli.parameters import FILE, option, subcommand
from grader.cli.progress import progress
from grader.errors import SetupError

if TYPE_CHECKING:
    from grader.runtime.machine import MachineProfile


@subcommand(
    "calibrate",
    "grader calibrate",
    "grader calibrate --quick",
    "grader calibrate --device cuda --out lab-gpu.json",
    "grader calibrate --json | jq '.figures[] | {name, threads, median, unit}'",
)
def command(
    out: Path = option(
        Path("machine.json"),
        type=FILE,
        help="File for the profile; an existing one is replaced.",
        show_default=True,
    ),
    device: str = option(
        "cpu", type=click.Choice(["cpu", "cuda"]), help="cuda: also measure the GPU."
    ),
    quick: bool = option(
        False, help="Take a few seconds instead of up to a minute; the figures are less certain."
    ),
    as_json: bool = JSON,
) -> None:
    """Measure this machine: peak rates, memory bandwidths, and overheads.

    Run nothing else at the same time: other programs distort the figures.
    """
    from grader.files import write_atomic
    from grader.runtime.machine.calibrate import calibrate, count_figures, plan_assignments
    from grader.runtime.machine.hardware import read_hardware

    _check_overwrite(out)
    count = count_figures(plan_assignments(read_hardware(), device, quick=quick))
    with progress("measuring", count) as step:
        profile = calibrate(device, quick=quick, on_figure=lambda figure: step(figure.name))
    text = profile.to_json()
    write_atomic(out, text.encode())
    if as_json:
        click.echo(text, nl=False)
    else:
        _print_profile(profile)
    click.echo(f"wrote profile {profile.id} to {out} in {profile.seconds:.0f} s", err=as_json)


def _check_overwrite(out: Path) -> None:
    """Raises SetupError if *out* exists and is not a profile, before anything is measured."""
    from grader.runtime.machine import read_profile

    if not out.exists():
        return
    try:
        read_profile(out)
    except SetupError as error:
        raise SetupError(
            f"this file would be overwritten, but is not a machine profile ({error.what})",
            where=str(out),
            fix="choose another file with --out, or remove this one",
        ) from None


def _print_profile(profile: MachineProfile) -> None:
    """Prints the machine, the table of figures, and the notes below it."""
    from rich.console import Console

    from grader.cli.profile_table import lines_of, notes_of, table_of

    # Processor names contain brackets, which rich would take for markup.
    console = Console(markup=False, highlight=False, emoji=False)
    for line in lines_of(profile):
        console.print(line)
    console.print(table_of(profile))
    for line in notes_of(profile):
        console.print(line)
