"""`grader export actions`: annotations and a summary for a GitHub workflow step."""

from __future__ import annotations

import os
from pathlib import Path

import click

from grader.cli.exports.students import only, results_argument
from grader.cli.options import examples
from grader.cli.runner_files import append


@click.command(
    "actions",
    epilog=examples(
        "grader export actions results --student ada --notebook exam.ipynb",
    ),
)
@results_argument
@click.option("--student", required=True, metavar="ID", help="Whose result to print.")
@click.option(
    "--notebook",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="NB",
    help="Notebook that the annotations point to, by its path in the repository.",
)
@click.option(
    "--summary",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Append the summary to FILE. Default: $GITHUB_STEP_SUMMARY, if it is set.",
)
def command(results: Path, student: str, notebook: Path | None, summary: Path | None) -> None:
    """Print annotations for wrong answers, and append a summary to that of the workflow step.

    The annotations are GitHub Actions commands, shown in the log and beside the notebook.
    """
    from grader.integrations.exporting import class_results
    from grader.integrations.github.actions import annotation_lines, annotations_of, summary_of
    from grader.integrations.places import places

    mine = only(class_results(results, [student]), student)
    known = places(notebook.read_bytes()) if notebook is not None else None
    file = notebook.as_posix() if notebook is not None else ""
    click.echo(annotation_lines(annotations_of(mine, file, known)), nl=False)
    target = summary or (Path(os.environ["GITHUB_STEP_SUMMARY"]) if _in_a_step() else None)
    if target is not None:
        append(target, summary_of(mine))


def _in_a_step() -> bool:
    return bool(os.environ.get("GITHUB_STEP_SUMMARY"))
