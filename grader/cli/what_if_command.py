"""`grader what-if`: show what a change would do to a graded class, and apply it with a reason."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.options import BANKS, BY, COURSE, JSON, format_total, open_bank, print_json, table
from grader.cli.parameters import FOLDER, option, subcommand
from grader.text.words import count_of, join_names

if TYPE_CHECKING:
    from grader.bank.folders import Bank
    from grader.grading.what_if import Changes, Distribution, WhatIf
    from grader.model.course import Course

_CURVE = re.compile(r"(?P<factor>\d+(?:\.\d+)?)(?P<added>[+-]\d+(?:\.\d+)?)?\Z")
_WIDTH = 40
_MOST = 40


@subcommand(
    "what-if",
    "grader what-if results --tolerance kv-cache-size/per_token=2%",
    "grader what-if results --drop kv-cache-size/batch --apply --why 'the unit was ambiguous'",
    "grader what-if results --credit kv-cache-size/per_token=values-left-out:50% --curve 1+2",
    "grader what-if results --withdraw --why 'the part counts after all'",
)
def command(
    results: Path,
    tolerance: tuple[str, ...] = option(
        (),
        metavar="PART=WIDTH",
        help="Change the tolerance of PROBLEM/PART to 2% of the key, to a factor such as 2x, or "
        "to a distance in the part's unit.",
    ),
    key: tuple[str, ...] = option(
        (), metavar="PART=EXPRESSION", help="Change the key of PROBLEM/PART."
    ),
    credit: tuple[str, ...] = option(
        (),
        metavar="PART=MISTAKE:SHARE",
        help="Change the credit for a declared mistake or option of PROBLEM/PART.",
    ),
    drop: tuple[str, ...] = option(
        (), metavar="PART", help="Leave PROBLEM/PART out of every total."
    ),
    specs: Path | None = option(
        None, type=FOLDER, help="Score by the specs of the edited bank DIR."
    ),
    course_file: Path | None = COURSE,
    curve: str | None = option(
        None,
        metavar="FACTOR[+POINTS]",
        help="Multiply every total, after deductions, by FACTOR and add POINTS, up to the maximum.",
    ),
    is_applied: bool = option(False, "--apply", help="Apply the changes; needs --why."),
    withdraw: bool = option(
        False, help="Withdraw the curve, and count all dropped parts again; needs --why."
    ),
    why: str = option(
        "",
        metavar="TEXT",
        help="Reason, for the audit log; for --drop and --curve, students see it too.",
    ),
    by: str = BY,
    banks: tuple[str, ...] = BANKS,
    as_json: bool = JSON,
) -> None:
    """Show how other rules would change the totals of a class, from stored evidence.

    Runs no notebook and changes nothing, unless --apply is given with a reason. Options that name
    a part can be repeated. To return to the released tolerances, keys, and credits, use `grader
    score RESULTS --specs released`.
    """
    from grader.bank.folders import Bank
    from grader.grading.results import write_results
    from grader.grading.spec_edits import parse_edit
    from grader.grading.what_if import Changes, what_if, withdraw_adjustments

    why = why.strip()
    if (is_applied or withdraw) and not why:
        raise click.UsageError("A change needs a reason: add --why TEXT.")
    bank = open_bank(banks)
    course, used = _load_course(results, course_file)
    changes = Changes(
        edits=(
            *(parse_edit("tolerance", text) for text in tolerance),
            *(parse_edit("key", text) for text in key),
            *(parse_edit("credit", text) for text in credit),
        ),
        drop=drop,
        specs=None if specs is None else Bank.open([specs]),
        course=course,
        slip_days_used=used,
        curve=None if curve is None else _parse_curve(curve),
    )
    given = changes != Changes()
    if withdraw:
        if given or is_applied:
            raise click.UsageError("--withdraw can't be used with another change.")
        done = withdraw_adjustments(results, by=by, why=why)
        write_results(results, bank)
        click.echo("All parts count again, without a curve." if done else "Nothing to withdraw.")
        return
    if not given:
        raise click.UsageError("Name a change, such as --drop PROBLEM/PART.")
    if is_applied and specs is not None:
        raise click.UsageError(
            "--specs can't be applied here: use `grader score RESULTS --specs current --bank DIR`, "
            "which verifies the specs first"
        )
    found = what_if(results, changes, why=why)
    if is_applied:
        _apply(results, changes, found, bank, by, why)
    if as_json:
        changed = [
            {**asdict(change), "difference": round(change.difference, 6)}
            for change in found.changes
        ]
        data = {"before": asdict(found.before), "after": asdict(found.after), "changes": changed}
        print_json(data | {"applied": is_applied})
        return
    _print_result(found, is_applied=is_applied)


def _load_course(results: Path, file: Path | None) -> tuple[Course | None, dict[str, int]]:
    """Returns the course and the slip days each student has used; nothing if *file* is None."""
    if file is None:
        return None, {}
    from grader.course import load_course, named_course
    from grader.grading.course_change import slip_days_of

    path = named_course(file)
    course = load_course(path)
    return course, slip_days_of(results, course, path)


def _parse_curve(text: str) -> tuple[float, float]:
    """Returns the factor and the added points in a text such as "1.05" or "1+2"."""
    match = _CURVE.match(text.replace(" ", ""))
    if not match:
        raise click.BadParameter(
            f"'{text}' is not a factor with points: write 1.05 or 1+2", param_hint="--curve"
        )
    return float(match["factor"]), float(match["added"] or 0)


def _apply(results: Path, changes: Changes, result: WhatIf, bank: Bank, by: str, why: str) -> None:
    """Stores all *changes* in the gradebook with the reason *why*, and writes the results."""
    from grader.grading.course_change import change_course
    from grader.grading.rescoring import rescore
    from grader.grading.results import write_results
    from grader.grading.what_if import apply_adjustments

    if result.edited_release is not None:
        edits = "; ".join(str(edit) for edit in changes.edits)
        rescore(results, edited=result.edited_release, by=by, why=f"{why} ({edits})")
    if changes.course is not None:
        used = dict(changes.slip_days_used)
        change_course(results, changes.course, used, dry_run=False, by=by, why=why)
    if changes.adjusts:
        apply_adjustments(results, changes, by=by, why=why)
    write_results(results, bank)


def _print_result(result: WhatIf, *, is_applied: bool) -> None:
    """Prints the totals before and after, and the students whose totals differ most."""
    click.echo(_distribution_table(result.before, result.after))
    if result.changes:
        rows = [
            (
                change.student,
                format_total(change.before, change.max_before),
                format_total(change.after, change.max_after),
                f"{100 * change.difference:+.1f}%",
                join_names(change.parts, most=3),
            )
            for change in result.changes[:_MOST]
        ]
        header = ("student", "before", "after", "change", "parts")
        click.echo(f"\n{table(header, rows, right=(1, 2, 3))}")
        if len(result.changes) > _MOST:
            click.echo(f"… and {len(result.changes) - _MOST} more: see --json")
    up = sum(change.difference > 0 for change in result.changes)
    down = sum(change.difference < 0 for change in result.changes)
    same = len(result.changes) - up - down
    verb = "changed" if is_applied else "would change"
    rest = f", {same} with the same share of the points" if same else ""
    click.echo(f"\n{count_of(len(result.changes), 'total')} {verb}: {up} up, {down} down{rest}.")


def _distribution_table(before: Distribution, after: Distribution) -> str:
    """Returns both distributions side by side, as text."""
    largest = max((*before.bins, *after.bins, 1))

    def bar(count: int) -> str:
        return f"{'#' * round(_WIDTH / 2 * count / largest):<{_WIDTH // 2}} {count}"

    rows = [
        (f"{10 * place}-{10 * place + 10}%", bar(was), bar(now))
        for place, (was, now) in enumerate(zip(before.bins, after.bins, strict=True))
    ]
    rows += [
        ("mean", _format_percent(before.mean), _format_percent(after.mean)),
        ("median", _format_median(before), _format_median(after)),
        ("students", str(before.students), str(after.students)),
    ]
    return table(("share of points", "before", "after"), rows)


def _format_percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"


def _format_median(distribution: Distribution) -> str:
    return _format_percent(distribution.quartiles[1] if distribution.quartiles else None)
