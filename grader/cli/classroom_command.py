"""`grader classroom`: each subcommand is a module in `grader.cli.classrooms`."""

from __future__ import annotations

import click

from grader.cli.lazy import LazyGroup
from grader.cli.parameters import example_lines

_COMMANDS: dict[str, str] = {
    "init": "Write the repositories of a class: the students' and the instructor's.",
    "handout": "Add missing files to every student's repository.",
    "collect": "Collect every student's notebook from the repositories.",
    "autograde": "Grade one checkout on a runner of Classroom 50.",
    "publish": "Push feedback to a branch of each student's repository.",
    "gradescope": "Build a Gradescope autograder zip from a release.",
    "gradescope-run": "Grade one submission inside Gradescope's autograder.",
    "seal": "Encrypt a release for a runner that holds the key.",
    "leaks": "Search the files that students get for leaked keys and hidden cases.",
}


@click.group(
    "classroom",
    cls=LazyGroup,
    sentences=_COMMANDS,
    package="grader.cli.classrooms",
    modules={"gradescope-run": "gradescope"},
    noun="classroom command",
    epilog=example_lines("grader classroom init course --release exam"),
)
def command() -> None:
    """Set up and run a class on GitHub, Classroom 50, or Gradescope."""
