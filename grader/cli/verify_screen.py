"""The console and JSON output of `grader verify` for each problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from grader.model.packages import install_command
from grader.words import counted

if TYPE_CHECKING:
    from grader.verify import Finding, Verified


def lines_of(result: Verified) -> Iterator[str]:
    """The result of one problem: a line with the verdict, followed by the findings."""
    if result.skipped:
        yield f"skip {result.problem}  needs {' and '.join(result.skipped)}"
        return
    mark = "ok  " if result.holds else "FAIL"
    yield f"{mark} {result.problem}  {_summary(result)}".rstrip()
    for line in (*result.unrun, *result.errors, *map(str, result.findings)):
        yield "     " + line.replace("\n", "\n     ")


def _summary(result: Verified) -> str:
    if result.errors:
        return ""
    seeds = counted(result.seeds, "seed")
    if not result.distinct:
        return f"({seeds}, no variant could be drawn, {result.seconds:.1f} s)"
    when = "unchanged since it passed" if result.cached else f"{result.seconds:.1f} s"
    return (
        f"({seeds}, {counted(result.distinct, 'different variant')}, "
        f"hit rate {result.hit_rate:.0%}, {when})"
    )


def all_hold(problems: int, seeds: int) -> str:
    """The last line if there are no findings.

    >>> all_hold(1, 50), all_hold(121, 1)
    ('The problem holds over 50 seeds.', 'All 121 problems hold over 1 seed.')
    """
    if not problems:
        return "No problem was verified."
    who = "The problem holds" if problems == 1 else f"All {problems} problems hold"
    return f"{who} over {counted(seeds, 'seed')}."


def said_of_skipped(results: Sequence[Verified]) -> str:
    """The line that counts skipped problems and says how to verify them."""

    skipped = [r for r in results if r.skipped]
    lacking = dict.fromkeys(name for r in skipped for name in r.skipped)
    were = "was" if len(skipped) == 1 else "were"
    number = counted(len(skipped), "problem")
    return f"{number} {were} skipped. To verify all: {install_command(lacking)}"


def finding_data(finding: Finding) -> dict[str, object]:
    """A finding in the JSON output."""
    return {
        "check": finding.check,
        "file": finding.where.file,
        "line": finding.where.line,
        "column": finding.where.column,
        "seed": finding.seed,
        "seeds": finding.seeds,
        "of": finding.of,
        "values": finding.values,
        "what": finding.what,
        "fix": finding.fix,
    }
