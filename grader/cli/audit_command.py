"""`grader audit`: the audit log."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from grader.cli.options import examples, json_option, print_json, table


@click.command(
    "audit",
    epilog=examples(
        "grader audit results",
        "grader audit results --student ada",
        "grader audit results --json",
    ),
)
@click.argument("results", type=click.Path(path_type=Path))
@click.option("--student", metavar="ID", help="Show only entries about this student.")
@json_option
def command(results: Path, student: str | None, as_json: bool) -> None:
    """Print the audit log: every change to the results, oldest first.

    Each entry has the time in UTC, the change, who made it, the reason, and the previous value.
    Entries are never changed or removed.
    """
    from grader.grading.audit import audit

    lines = audit(results, student)
    if as_json:
        print_json([asdict(line) for line in lines])
        return
    if not lines:
        click.echo("The audit log has no entries.")
        return
    rows = [(x.at, x.what, x.who, x.why, _details(x.detail)) for x in lines]
    click.echo(table(("at", "what", "by", "why", "details"), rows))


def _details(detail: object) -> str:
    """The details on one line, with digests shortened to 12 characters."""
    pairs = detail.items() if isinstance(detail, dict) else ()
    return ", ".join(
        f"{name} {str(value)[:12] if name.endswith(('sha256', 'fingerprint')) else value}"
        for name, value in pairs
    )
