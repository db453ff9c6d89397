"""The formats of `grader export`, one module with a `command` each."""

from __future__ import annotations

from pathlib import Path

import click

from grader.model.exported import Exported
from grader.words import counted


def finish(exported: Exported, out: Path, *, as_json: bool = False) -> None:
    """Writes the exported files to *out*, and prints their paths and the notes."""
    from grader.cli.options import print_json
    from grader.integrations.exporting import write_exported

    written = write_exported(exported, out)
    if as_json:
        print_json({"files": [str(path) for path in written], "notes": list(exported.notes)})
        return
    for note in exported.notes:
        click.echo(f"note: {note}", err=True)
    if len(written) == 1:
        click.echo(f"{written[0]}")
    else:
        click.echo(f"{counted(len(written), 'file')} in {out}")
