"""`grader classroom gradescope-run`: the command that Gradescope's run_autograder calls."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import examples


@click.command(
    "gradescope-run",
    epilog=examples("grader classroom gradescope-run /autograder"),
)
@click.argument(
    "root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    envvar="AUTOGRADER_ROOT",
    default="/autograder",
)
def command(root: Path) -> None:
    """Grade the submission that Gradescope put into ROOT, and write ROOT/results/results.json.

    Exits 0 whatever the score. After an internal error, the result has no score.
    """
    from grader.integrations.gradescope.grading import autograde

    click.echo(autograde(root).sentence)
