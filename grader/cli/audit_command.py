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
@click.option("--student", metavar="ID", help="Only what concerns this student.")
@json_option
def command(results: Path, student: str | None, as_json: bool) -> None:
    """Print the audit log: everything that was done to the results, the oldest first.

    Each entry has the time in UTC, what was done, by whom, why, and what it was before. Entries are
    never changed or removed.
    """
    from grader.grading.audit import audit

    lines = audit(results, student)
    if as_json:
        print_json([asdict(line) for line in lines])
        return
    if not lines:
        click.echo("Nothing is recorded.")
        return
    rows = [(x.at, x.what, x.who, x.why, _told(x.detail)) for x in lines]
    click.echo(table(("at", "what", "by", "why", "details"), rows))


def _told(detail: object) -> str:
    """The details on one line, with digests cut to what tells them apart."""
    pairs = detail.items() if isinstance(detail, dict) else ()
    return ", ".join(
        f"{name} {str(value)[:12] if name.endswith(('sha256', 'fingerprint')) else value}"
        for name, value in pairs
    )
