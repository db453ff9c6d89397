"""`grader check`: the student's own check."""

from __future__ import annotations

import os
import secrets
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.options import CELL_SECONDS, JSON, print_json
from grader.cli.parameters import argument, option, subcommand
from grader.errors import one_line

if TYPE_CHECKING:
    from grader.collect.check.run import CheckResult


@subcommand(
    "check",
    "grader check midterm.ipynb",
    "grader check midterm.ipynb --receipt receipt.json",
    "grader check midterm.ipynb --verify-receipt receipt.json",
)
def command(
    notebook: Path = argument(metavar="NB"),
    cell_seconds: float = CELL_SECONDS,
    receipt: Path | None = option(
        None,
        metavar="FILE",
        help="Also write the result to FILE, with the notebook's hash and the time.",
    ),
    verify_receipt: Path | None = option(
        None,
        metavar="RECEIPT",
        help="Only report whether NB is the notebook of this receipt, without running it.",
    ),
    github: bool = option(
        False, help="In GitHub Actions: print annotations and write a step summary."
    ),
    as_json: bool = JSON,
) -> int:
    """Check a notebook before you hand it in: is every answer there, and can it be read?

    Runs the notebook on this machine, without a network connection, and shows how each answer is
    understood and which visible examples pass. It can't tell whether an answer is correct, because
    the notebook doesn't contain the key. Exits 1 if an answer is missing or unreadable, or if an
    example fails.
    """
    from grader.collect.check.run import check
    from grader.model import Limits

    if verify_receipt is not None:
        if receipt is not None:
            raise click.UsageError("Use either --receipt or --verify-receipt, not both.")
        return _verify_receipt(verify_receipt, notebook, as_json=as_json)
    if receipt is not None and (
        receipt.suffix.lower() == ".ipynb" or _is_same_file(receipt, notebook)
    ):
        raise click.UsageError(
            f"--receipt would replace the notebook {receipt}: name another file, such as "
            "receipt.json."
        )
    checked = check(notebook, Limits(cell_seconds=cell_seconds))
    content = _make_receipt(checked, notebook, receipt)
    if as_json:
        print_json(_check_data(checked, content))
    elif github:
        _print_for_github(checked, notebook)
    else:
        from grader.cli.check_screen import color_setting, report

        click.echo(report(checked), color=color_setting())
    if receipt is not None and not as_json:
        click.echo(
            f"Wrote receipt {content['code']} to {receipt}. Keep it with your copy of the notebook."
        )
    return 0 if checked.ready else 1


def _is_same_file(one: Path, other: Path) -> bool:
    """Returns whether both paths lead to the same existing file."""
    return one.exists() and other.exists() and one.samefile(other)


def _make_receipt(checked: CheckResult, notebook: Path, path: Path | None) -> dict[str, object]:
    """Returns the receipt for *checked*, and writes it to *path* unless that is None."""
    from grader.collect.check.receipts import make_receipt, write_receipt

    made = dict(make_receipt(checked, notebook.name, datetime.now(UTC)))
    if path is not None:
        write_receipt(made, path)
    return made


def _check_data(checked: CheckResult, made: dict[str, object]) -> dict[str, object]:
    """Returns the output of --json."""
    names = ("ready", "set", "release", "student", "answers")
    return {
        **{name: made[name] for name in names},
        "complete": checked.complete,
        "sha256": checked.sha256,
        "trouble": list(checked.trouble),
        "stopped": [
            {"cell": cell.number, "index": cell.index, "line": cell.line, "error": cell.error}
            for cell in checked.stopped_cells
        ],
        "receipt": made["code"],
    }


def _verify_receipt(receipt: Path, notebook: Path, *, as_json: bool) -> int:
    """Prints whether *receipt* is for *notebook*, and returns 0 if it is, else 1."""
    from grader.collect.check.receipts import compare_receipt

    comparison = compare_receipt(receipt, notebook)
    if as_json:
        data = asdict(comparison)
        print_json({"holds": comparison.holds, "receipt": data.pop("code"), **data})
        return 0 if comparison.holds else 1

    named = one_line(f"Receipt {comparison.code} of {comparison.time}")
    if not comparison.intact:
        answer = f"NO: {named} was changed after it was written, so it proves nothing."
    elif comparison.same_file:
        answer = f"YES: {named} is for exactly this file."
    elif comparison.same_code:
        answer = (
            f"NO: {named} is for another file with the same code: the notebook was saved again, "
            "or its text or outputs differ."
        )
    else:
        answer = f"NO: {named} is for another notebook; the code differs."
    click.echo(answer)
    return 0 if comparison.holds else 1


def _print_for_github(checked: CheckResult, notebook: Path) -> None:
    """Prints the report, guarded against workflow commands in it, and then the annotations."""
    from grader.cli.check_screen import report
    from grader.cli.check_steps import annotations_of_check, step_summary
    from grader.integrations.github.actions import annotation_lines, stop_commands

    click.echo(stop_commands(report(checked), secrets.token_hex(16)), nl=False, color=False)
    click.echo(annotation_lines(annotations_of_check(checked, notebook)), nl=False)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(step_summary(checked))
