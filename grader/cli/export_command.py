"""`grader export FORMAT`: one module a format in `grader.cli.exports`."""

from __future__ import annotations

import click

from grader.cli.lazy import LazyGroup
from grader.cli.options import examples

_FORMATS: dict[str, str] = {
    "csv": "Totals with names and sections, for any spreadsheet.",
}


@click.group(
    "export",
    cls=LazyGroup,
    sentences=_FORMATS,
    module="grader.cli.exports.{}",
    noun="export format",
    epilog=examples("grader export csv results", "grader export canvas results --help"),
)
def command() -> None:
    """Write results or an exam in the format of another system."""
