"""`grader score`: the stored evidence, scored again."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import bank_option, examples, json_option, print_json, table


@click.command(
    "score",
    epilog=examples(
        "grader score results --specs current --dry-run   # what a corrected key would change",
        "grader score results --specs current --why 'tolerance of q3 was too narrow'",
    ),
)
@click.argument("results", type=click.Path(path_type=Path))
@click.option(
    "--specs",
    type=click.Choice(["released", "current"]),
    default="released",
    show_default=True,
    help="The specs as they were released, or as the bank has them now.",
)
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--why", default="", metavar="TEXT", help="The reason, for the audit log.")
@bank_option
@json_option
def command(
    results: Path, specs: str, dry_run: bool, why: str, banks: tuple[str, ...], as_json: bool
) -> None:
    """Score the stored evidence again, without a kernel, and show who changes and why."""
    from grader.load import Bank
    from grader.pipeline import rescore, write_results

    bank = Bank.open(banks)
    done = rescore(results, current=bank if specs == "current" else None, dry_run=dry_run, why=why)
    if not dry_run and done.changes:
        write_results(results, bank)
    if as_json:
        print_json(
            {
                "applied": done.applied,
                "scored": done.scored,
                "changes": [
                    {
                        "student": d.student,
                        "before": d.before,
                        "after": d.after,
                        "marks": [
                            {
                                "name": m.name,
                                "before": m.before,
                                "after": m.after,
                                "why": m.why,
                            }
                            for m in d.marks
                        ],
                    }
                    for d in done.changes
                ],
            }
        )
        return
    rows = [
        (
            d.student,
            _points(d.before),
            _points(d.after),
            "; ".join(f"{m.name}: {m.why}" for m in d.marks),
        )
        for d in done.changes
    ]
    if rows:
        click.echo(table(("student", "before", "after", "why"), rows, right=(1, 2)))
    verb = "would change" if dry_run else "changed"
    click.echo(f"{len(rows)} of {done.scored} grades {verb}.")


def _points(value: float | None) -> str:
    return "open" if value is None else f"{value:g}"
