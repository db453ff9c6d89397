"""`grader classroom`: one module a subcommand in `grader.cli.classrooms`."""

from __future__ import annotations

import click

from grader.cli.lazy import LazyGroup
from grader.cli.options import examples

_COMMANDS: dict[str, str] = {
    "init": "Write the repositories of a class: students' and the instructor's.",
    "handout": "Add to every student's repository what it lacks.",
    "collect": "Collect every student's notebook out of their repository.",
    "autograde": "Grade one checkout on a runner of Classroom 50.",
    "publish": "Give students their feedback, on a branch of their repository.",
    "gradescope": "Make the zip of a Gradescope autograder from a release.",
    "gradescope-run": "Grade what Gradescope handed over; its autograder calls this.",
    "seal": "Encrypt a release for a runner that holds the secret.",
    "leaks": "Search what students would get for keys, hidden cases and their encodings.",
}


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
