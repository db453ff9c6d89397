"""`grader score`: score the stored evidence again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.options import BANKS, BY, COURSE, JSON, format_total, open_bank, print_json, table
from grader.cli.parameters import option, subcommand
from grader.text.words import count_of, points

if TYPE_CHECKING:
    from grader.bank.folders import Bank
    from grader.grading.rescoring import RowChange
    from grader.model.result import Row
    from grader.verify import Verified


@subcommand(
    "score",
    "grader score results --specs current --dry-run   # preview the effect of a corrected key",
    "grader score results --specs current --why 'tolerance of q3 was too narrow'",
    "grader score results --course course.yaml --dry-run   # preview an extension",
)
def command(
    results: Path,
    specs: str = option(
        "in-force",
        type=click.Choice(["in-force", "current", "released"]),
        help="Which specs to score by: those that the results use now (in-force), those in the "
        "bank (current), or those in the release (released).",
    ),
    dry_run: bool = option(False, help="Show what would change without changing anything."),
    why: str = option("", metavar="TEXT", help="Reason, for the audit log."),
    unverified: bool = option(
        False, help="With --specs current and --why, apply specs even if they fail `grader verify`."
    ),
    by: str = BY,
    course_file: Path | None = COURSE,
    banks: tuple[str, ...] = BANKS,
    as_json: bool = JSON,
) -> int:
    """Score stored answers again without running any notebook, and show whose marks change.

    With --course, applies only the course's dates and policies, and scores no answer.

    With --specs current, verifies changed specs first, with a few variants. If one fails, applies
    nothing, and exits 1. Also exits 1 if the stored evidence of a student is missing.
    """
    from grader.gradebook.audit_log import ENGINE
    from grader.grading.rescoring import rescore
    from grader.grading.results import write_results
    from grader.verify.corrections import verify_changed

    if unverified and not why.strip():
        raise click.UsageError("--unverified needs a reason: add --why TEXT.")
    bank = open_bank(banks)
    if course_file is not None:
        return _apply_course(
            results, course_file, bank, dry_run=dry_run, by=by, why=why, as_json=as_json
        )
    checked = verify_changed(results, bank) if specs == "current" else ()
    faults = [
        line
        for r in checked
        if not r.missing_packages
        for line in (*r.errors, *map(str, r.findings))
    ]
    status = 1 if faults and not unverified else 0
    if not as_json:
        _print_verification(checked, faults)
    is_refused = bool(status) and not dry_run
    dry_run = dry_run or is_refused
    if faults:
        why = f"not verified: {why}"
    outcome = rescore(
        results,
        current=bank if specs == "current" else None,
        released=specs == "released",
        dry_run=dry_run,
        by=ENGINE if specs == "in-force" else by,
        why=why,
    )
    if not dry_run:
        write_results(results, bank)
    status = 1 if outcome.skipped_students else status
    if as_json:
        print_json(
            {
                "applied": outcome.is_applied,
                "faults": faults,
                "scored": outcome.scored_count,
                "skipped": list(outcome.skipped_students),
                "changes": [_change_data(d) for d in outcome.changes],
            }
        )
        return status
    rows = [
        (
            d.after.student.id,
            _total_text(d.before),
            _total_text(d.after),
            "; ".join(f"{m.name}: {m.why}" for m in d.marks),
        )
        for d in outcome.changes
    ]
    if rows:
        click.echo(table(("student", "before", "after", "why"), rows, right=(1, 2)))
    verb = "would change" if dry_run else "changed"
    up = sum(d.points > 0 for d in outcome.changes)
    down = sum(d.points < 0 for d in outcome.changes)
    click.echo(
        f"{len(rows)} of {count_of(outcome.scored_count, 'grade')} {verb}: {up} up, {down} down."
    )
    if outcome.skipped_students:
        skipped = ", ".join(outcome.skipped_students)
        click.echo(
            f"not scored, because there is no usable evidence: {skipped}; "
            "to execute their notebooks again, run `grader grade`",
            err=True,
        )
    if is_refused:
        click.echo(
            "Nothing was applied because a changed spec failed verification. Correct it, or apply "
            "it anyway with --unverified --why TEXT.",
            err=True,
        )
    return status


def _apply_course(
    results: Path,
    course_file: Path,
    bank: Bank,
    *,
    dry_run: bool,
    by: str,
    why: str,
    as_json: bool,
) -> int:
    """Applies the course's dates and policies, prints the changed totals, and returns 0."""
    from grader.cli.course_commands import print_unknown_students
    from grader.course import load_course, named_course
    from grader.grading.course_change import change_course, set_and_students, slip_days_of
    from grader.grading.results import write_results

    path = named_course(course_file)
    course = load_course(path)
    print_unknown_students(course, *set_and_students(results))
    used = slip_days_of(results, course, path)
    changes = change_course(results, course, used, dry_run=dry_run, by=by, why=why)
    if not dry_run:
        write_results(results, bank)
    if as_json:
        print_json({"applied": not dry_run, "changes": [asdict(change) for change in changes]})
        return 0
    if changes:
        rows = [
            (change.student, points(change.before) or "-", points(change.after) or "-", change.why)
            for change in changes
        ]
        click.echo(table(("student", "before", "after", "why"), rows, right=(1, 2)))
    verb = "would change" if dry_run else "changed"
    click.echo(f"{count_of(len(changes), 'total')} {verb}.")
    return 0


def _print_verification(checked: Sequence[Verified], faults: Sequence[str]) -> None:
    """Prints the first *faults*, and the problems that lack a package."""
    for line in faults[:_MOST_FAULTS]:
        click.echo(line, err=True)
    if len(faults) > _MOST_FAULTS:
        click.echo(f"… and {len(faults) - _MOST_FAULTS} more: see `grader verify`", err=True)
    for result in checked:
        if result.missing_packages:
            lacking = " and ".join(result.missing_packages)
            what = f"{result.problem} was not verified: {lacking} is missing"
            click.echo(f"note: {what} here", err=True)


_MOST_FAULTS = 6


def _change_data(change: RowChange) -> dict[str, object]:
    """Returns what `--json` prints of a changed grade."""
    return {
        "student": change.after.student.id,
        "before": change.before.total,
        "after": change.after.total,
        "max_before": change.before.max_score,
        "max_after": change.after.max_score,
        "marks": [
            {
                "name": m.name,
                "before": m.before.points if m.before else None,
                "after": m.after.points if m.after else None,
                "why": m.why,
            }
            for m in change.marks
        ],
    }


def _total_text(row: Row) -> str:
    suffix = "" if row.complete or row.total is None else " +?"
    return format_total(row.total, row.max_score) + suffix
