"""`grader fairness`: tests whether some students' numbers or questions were harder."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.options import JSON, print_json, table
from grader.cli.parameters import option, subcommand
from grader.text.words import count_of, points

if TYPE_CHECKING:
    from grader.analysis.fairness import Fairness, ValueComparison

_LONGEST = 40
"""Maximum characters of a value in the table."""


@subcommand("fairness", "grader fairness results", "grader fairness results --all")
def command(
    results: Path,
    everything: bool = option(False, "--all", help="List every comparison."),
    as_json: bool = JSON,
) -> None:
    """Test whether some students' numbers or questions were harder than others'.

    For each part, compares the scores of students with different values of a parameter, with
    different right answers, and with different questions from a pool, by permutation tests that are
    corrected for multiple comparisons.
    """
    from grader.analysis.fairness import ComparisonFinding, compare_variants

    fairness = compare_variants(results)
    if as_json:
        print_json(_fairness_data(fairness))
        return
    clear = (ComparisonFinding.DIFFERS, ComparisonFinding.PERHAPS)
    shown = [
        comparison
        for comparison in fairness.comparisons
        if everything or comparison.finding in clear
    ]
    if shown:
        header = ("part", "what differs", "value", "students", "mean", "others", "points")
        right = (3, 4, 5, 6, 7)
        click.echo(
            table((*header, "p", "finding"), map(_comparison_row, shown), right=right) + "\n"
        )
    click.echo("\n".join(_summary_sentences(fairness)))


def _comparison_row(comparison: ValueComparison) -> tuple[str, ...]:
    from grader.kinds.lettered import one_line

    low, high = _format_signed(comparison.low), _format_signed(comparison.high)
    interval = f"{_format_signed(comparison.difference)} ({low} to {high})"
    return (
        comparison.question,
        one_line(comparison.what, _LONGEST),
        one_line(comparison.value, _LONGEST),
        str(len(comparison.students)),
        f"{comparison.mean:.0%}",
        f"{comparison.mean_of_others:.0%}",
        interval,
        f"{comparison.p_any:.2g}",
        comparison.finding.value,
    )


def _format_signed(number: float) -> str:
    text = points(number)
    return text if text == "0" or number < 0 else f"+{text}"


def _summary_sentences(found: Fairness) -> list[str]:
    """Returns sentences about all comparisons, and what to do."""
    from grader.analysis.fairness import ERROR_RATE, ComparisonFinding

    counts = Counter(comparison.finding for comparison in found.comparisons)
    too_few = counts[ComparisonFinding.TOO_FEW] + len(found.too_few)
    comparisons = count_of(len(found.comparisons) + len(found.too_few), "comparison")
    listed = (
        f"{counts[ComparisonFinding.DIFFERS]} clear, {counts[ComparisonFinding.PERHAPS]} perhaps, "
        f"{counts[ComparisonFinding.NO_SIGN]} without a sign of a difference, "
        f"{too_few} with too few students to tell"
    )
    lines = [f"{comparisons} of {count_of(found.students, 'student')}: {listed}."]
    if too_few:
        lines.append("With too few students, a difference of half the points could go unnoticed.")
    if counts[ComparisonFinding.DIFFERS]:
        lines.append(
            f"Chance alone leads to any clear finding in at most {ERROR_RATE:.0%} of exams. Read "
            "the variants first. To make up for a harder one, award points with `grader mark "
            "--from` (`--json` lists the students), and change the problem before its next use."
        )
    return lines


def _fairness_data(found: Fairness) -> dict[str, object]:
    """Returns what `--json` prints."""
    return {
        "students": found.students,
        "comparisons": [_comparison_data(comparison) for comparison in found.comparisons],
        "too_few": [{"asked": question, "what": what} for question, what in found.too_few],
    }


def _comparison_data(comparison: ValueComparison) -> dict[str, object]:
    data = asdict(comparison)
    return {"asked": data.pop("question"), **data, "finding": comparison.finding.value}
