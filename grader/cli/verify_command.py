"""`grader verify`: check problems before an exam."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from grader.cli.options import BANKS, JOBS, JSON, print_json
from grader.cli.parameters import argument, option, subcommand
from grader.cli.progress import progress
from grader.model.packages import install_command
from grader.text.words import count_of

if TYPE_CHECKING:
    from grader.verify import Finding, Verified


@subcommand(
    "verify",
    "grader verify",
    "grader verify kv-cache-size --seeds 200",
    "grader verify --bank ~/course",
)
def command(
    problems: tuple[str, ...] = argument(metavar="[ID]..."),
    seeds: int = option(50, least=1, help="Number of variants to check of each problem."),
    kernel: bool = option(
        True, help="Also run the reference answers in a real kernel.", show_default=True
    ),
    cache: bool = option(
        True, help="Skip problems that passed before and have not changed since.", show_default=True
    ),
    strict: bool = option(False, help="Exit 1 if a problem was skipped for a missing package."),
    style: bool = option(False, help="Also report wording that the style guide advises against."),
    jobs: int | None = JOBS,
    banks: tuple[str, ...] = BANKS,
    as_json: bool = JSON,
) -> int:
    """Check the named problems, or all problems of the bank. Do this before every exam.

    Exits 1 if a check fails or a file of the bank can't be read. Every finding names file, line,
    seed, and numbers. If a problem needs a package that is not installed, it is skipped; with
    --strict, or if you named the problem, the command then exits 1.
    """
    from grader.bank.index import BankIndex
    from grader.verify import verify
    from grader.verify.wording import check_style

    total = len(problems) or len(BankIndex.open(banks).listed_problems)
    with progress("verifying", total) as done:
        results = verify(
            banks, problems, seeds=seeds, jobs=jobs, kernel=kernel, cached=cache,
            on_done=done,
        )  # fmt: skip
    ran = tuple(line for r in results for line in r.kernel)
    checked = [r for r in results if not r.missing_packages]
    wording = check_style(banks, [r.problem for r in results if not r.errors]) if style else ()
    holds = all(map(_has_passed, checked)) and not wording
    is_short = len(checked) < len(results) and (strict or bool(problems))
    status = 0 if holds and not is_short else 1
    if as_json:
        print_json(_result_data(results, ran, holds, wording))
        return status
    for result in results:
        for line in _result_lines(result):
            click.echo(line)
    for line in ran:
        click.echo(f"FAIL {line}")
    for finding in wording:
        click.echo(f"style {finding}")
    unrun = sum(bool(r.unrun) for r in results)
    failed = sum(not _has_passed(r) for r in checked)
    click.echo(
        f"\n{len(checked) - failed} of {count_of(len(checked), 'problem')} passed."
        if failed or wording
        else f"\n{_success_line(len(checked), seeds)}"
        + (f" Some code of {unrun} was not run; see above." if unrun else "")
    )
    if len(checked) < len(results):
        click.echo(_skipped_line(results))
    return status


def _has_passed(result: Verified) -> bool:
    """Returns whether a problem passed, also in the kernel."""
    return result.holds and not result.kernel


def _result_data(
    results: Sequence[Verified], ran: Sequence[str], holds: bool, wording: Sequence[Finding]
) -> dict[str, object]:
    """Returns what `--json` prints."""
    return {
        "holds": holds,
        "kernel": list(ran),
        "style": [_finding_data(f) for f in wording],
        "problems": [
            {
                "id": r.problem,
                "holds": None if r.missing_packages else _has_passed(r),
                "skipped": list(r.missing_packages),
                "seeds": r.seeds,
                "different": r.distinct,
                "hit_rate": r.hit_rate,
                "seconds": round(r.seconds, 3),
                "cached": r.is_cached,
                "errors": list(r.errors),
                "unrun": list(r.unrun),
                "findings": [_finding_data(f) for f in r.findings],
            }
            for r in results
        ],
    }


def _result_lines(result: Verified) -> Iterator[str]:
    """Yields a line with the verdict of one problem, followed by its findings."""
    if result.missing_packages:
        yield f"skip {result.problem}  needs {' and '.join(result.missing_packages)}"
        return
    mark = "ok  " if _has_passed(result) else "FAIL"
    yield f"{mark} {result.problem}  {_describe_checks(result)}".rstrip()
    for line in (*result.unrun, *result.errors, *map(str, result.findings)):
        yield "     " + line.replace("\n", "\n     ")


def _describe_checks(result: Verified) -> str:
    """Returns how a problem was checked, in parentheses; empty if it has errors."""
    if result.errors:
        return ""
    seeds = count_of(result.seeds, "seed")
    if not result.distinct:
        return f"({seeds}, no variant could be drawn, {result.seconds:.1f} s)"
    when = "unchanged since it passed" if result.is_cached else f"{result.seconds:.1f} s"
    return (
        f"({seeds}, {count_of(result.distinct, 'different variant')}, "
        f"hit rate {result.hit_rate:.0%}, {when})"
    )


def _success_line(problems: int, seeds: int) -> str:
    """Returns the last line if there are no findings.

    >>> _success_line(1, 50), _success_line(121, 1)
    ('The problem passed with 50 seeds.', 'All 121 problems passed with 1 seed.')
    """
    if not problems:
        return "No problem was verified."
    who = "The problem" if problems == 1 else f"All {problems} problems"
    return f"{who} passed with {count_of(seeds, 'seed')}."


def _skipped_line(results: Sequence[Verified]) -> str:
    """Returns the line that counts skipped problems and says how to verify them."""
    skipped = [r for r in results if r.missing_packages]
    lacking = dict.fromkeys(name for r in skipped for name in r.missing_packages)
    were = "was" if len(skipped) == 1 else "were"
    number = count_of(len(skipped), "problem")
    return f"{number} {were} skipped. To verify all: {install_command(lacking)}"


def _finding_data(finding: Finding) -> dict[str, object]:
    """Returns a finding in the JSON output."""
    data = asdict(finding)
    del data["problem"]  # which lists the finding
    return {**data.pop("where"), **data}
