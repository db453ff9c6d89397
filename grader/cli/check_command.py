"""`grader check`: the student's own check."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import examples, json_option, print_json

_SIGN = {"ok": "ok      ", "empty": "EMPTY   ", "missing": "MISSING ", "unreadable": "UNCLEAR "}


@click.command("check", epilog=examples("grader check midterm.ipynb"))
@click.argument("notebook", metavar="NB", type=click.Path(path_type=Path))
@click.option("--cell-seconds", type=float, default=60.0, show_default=True, metavar="S")
@json_option
def command(notebook: Path, cell_seconds: float, as_json: bool) -> int:
    """Check a notebook before it is handed in: is every answer there, and can it be read?

    It runs the notebook on this machine and says how each answer is understood. It can't say
    whether an answer is right: the notebook holds no key. Exits 1 when something is missing.
    """
    from grader.model import Limits
    from grader.pipeline import check

    checked = check(notebook, Limits(cell_seconds=cell_seconds))
    if as_json:
        print_json(
            {
                "ready": checked.ready,
                "sha256": checked.sha256,
                "answers": [
                    {"name": line.name, "found": line.found.value, "text": line.text}
                    for line in checked.lines
                ],
                "trouble": list(checked.trouble),
            }
        )
        return 0 if checked.ready else 1
    width = max(len(line.name) for line in checked.lines)
    for line in checked.lines:
        click.echo(f"{_SIGN[line.found.value]}{line.name.ljust(width)}  {line.text}")
    if checked.trouble:
        click.echo("\nCells that did not run to their end:")
        for text in checked.trouble:
            click.echo(f"  {text}")
    good = sum(line.found.value == "ok" for line in checked.lines)
    click.echo(
        f"\n{good} of {len(checked.lines)} answers are there and readable. "
        "This says nothing about whether they are right."
    )
    click.echo(f"Receipt: sha256 {checked.sha256}")
    return 0 if checked.ready else 1
