"""`grader classroom`: one module a subcommand in `grader.cli.classrooms`."""

from __future__ import annotations

import click

from grader.cli.lazy import LazyGroup
from grader.cli.options import examples

_COMMANDS: dict[str, str] = {}


@click.group(
    "classroom",
    cls=LazyGroup,
    sentences=_COMMANDS,
    module="grader.cli.classrooms.{}",
    noun="classroom command",
    epilog=examples("grader classroom init course --release exam"),
)
def command() -> None:
    """Set up and run a class on GitHub, Classroom 50 or Gradescope."""
