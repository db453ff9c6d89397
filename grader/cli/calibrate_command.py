"""`grader calibrate`: measure what this machine can do, and keep it as a profile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.options import examples, json_option
from grader.cli.progress import progress

if TYPE_CHECKING:
    from grader.runtime.machine import MachineProfile


@click.command(
    "calibrate",
    epilog=examples(
        "grader calibrate",
        "grader calibrate --quick",
        "grader calibrate --device cuda --out lab-gpu.json",
        "grader calibrate --json | jq '.figures[] | {name, threads, median, unit}'",
    ),
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("machine.json"),
    show_default=True,
    metavar="FILE",
    help="File for the profile; an existing one is replaced.",
)
@click.option(
    "--device",
    type=click.Choice(["cpu", "cuda"]),
    default="cpu",
    show_default=True,
    help="cuda: also measure the GPU.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="Take a few seconds instead of most of a minute, with less certain figures.",
)
@json_option
def command(out: Path, device: str, quick: bool, as_json: bool) -> None:
    """Measure this machine: peak rates, bandwidths, overheads, thread scaling.

    Run nothing else meanwhile: every other program distorts the figures.
    """
    from grader.files import write_whole
    from grader.runtime.machine.calibrate import Settings, calibrate, planned
    from grader.runtime.machine.hardware import look_at_hardware

    _spare(out)
    settings = Settings(device=device, quick=quick)
    hardware = look_at_hardware()
    with progress("measuring", planned(settings, hardware)) as step:
        profile = calibrate(settings, lambda figure: step(figure.name))
    text = profile.to_json()
    write_whole(out, text.encode())
    if as_json:
        click.echo(text, nl=False)
    else:
        _print(profile)
    click.echo(f"profile {profile.id} is in {out}; it took {profile.seconds:.0f} s", err=as_json)


def _spare(out: Path) -> None:
    """Raises SetupError when *out* holds something else than a profile; before a minute is lost."""
    from grader.errors import SetupError
    from grader.runtime.machine import read_profile

    if not out.exists():
        return
    try:
        read_profile(out)
    except SetupError as error:
        raise SetupError(
            f"this file would be overwritten, and it is not a machine profile ({error.what})",
            where=str(out),
            fix="name another file with --out, or remove this one",
        ) from None


def _print(profile: MachineProfile) -> None:
    from rich.console import Console

    from grader.cli.profile_table import lines_of, notes_of, table_of
    from grader.runtime.machine.counters import uncounted

    # Nothing in a profile is markup: processors' names have brackets in them.
    console = Console(markup=False, highlight=False, emoji=False)
    for line in lines_of(profile):
        console.print(line)
    console.print(table_of(profile))
    for line in notes_of(profile):
        console.print(line)
    if uncounted("instructions") is None:  # where it is not, the notes say why
        console.print("instructions can be counted here, from outside of a kernel")
