"""`grader verify`: check problems before an exam."""

from __future__ import annotations

import click

from grader.cli.options import bank_option, examples, jobs_option, json_option, print_json
from grader.cli.progress import progress
from grader.cli.verify_screen import all_hold, finding_data, lines_of, said_of_skipped


@click.command(
    "verify",
    epilog=examples(
        "grader verify", "grader verify kv-cache-size --seeds 200", "grader verify --bank ~/course"
    ),
)
@click.argument("problems", nargs=-1, metavar="[ID]...")
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    metavar="N",
    help="Number of variants to check of each problem.",
)
@click.option(
    "--kernel/--no-kernel",
    default=True,
    show_default=True,
    help="Also run the reference answers in a real kernel.",
)
@click.option(
    "--cache/--no-cache",
    default=True,
    show_default=True,
    help="Skip problems that passed before and have not changed since.",
)
@click.option(
    "--strict", is_flag=True, help="Exit 1 if a problem was skipped for a missing package."
)
@jobs_option
@bank_option
@json_option
def command(
    problems: tuple[str, ...],
    seeds: int,
    kernel: bool,
    cache: bool,
    strict: bool,
    jobs: int | None,
    banks: tuple[str, ...],
    as_json: bool,
) -> int:
    """Check the named problems, or all problems of the bank. Do this before every exam.

    Exits 1 if a check fails or a file of the bank can't be read. Every finding names file, line,
    seed and numbers. If a problem needs a package that is not installed, it is skipped; with
    --strict, or if you named the problem, the command then exits 1.
    """
    from grader.bank.index import BankIndex
    from grader.verify import verify

    total = len(problems) or len(BankIndex.open(banks).listed)
    with progress("verifying", total) as done:
        results = verify(
            banks, problems, seeds=seeds, jobs=jobs, kernel=kernel, cached=cache,
            done=done, running=done.running,
        )  # fmt: skip
    ran = tuple(line for r in results for line in r.kernel)
    checked = [r for r in results if not r.skipped]
    holds = all(r.holds for r in checked) and not ran
    is_short = len(checked) < len(results) and (strict or bool(problems))
    status = 0 if holds and not is_short else 1
    if as_json:
        print_json(_data(results, ran, holds))
        return status
    for result in results:
        for line in lines_of(result):
            click.echo(line)
    for line in ran:
        click.echo(f"FAIL {line}")
    unrun = sum(bool(r.unrun) for r in results)
    failed = sum(not r.holds for r in checked) + len(ran)
    click.echo(
        f"\n{len(checked) - failed} of {len(checked)} hold."
        if failed
        else f"\n{all_hold(len(checked), seeds)}"
        + (f" Some code of {unrun} was not run; see above." if unrun else "")
    )
    if len(checked) < len(results):
        click.echo(said_of_skipped(results))
    return status


def _data(results, ran, holds: bool) -> dict[str, object]:  # type: ignore[no-untyped-def]
    return {
        "holds": holds,
        "kernel": list(ran),
        "problems": [
            {
                "id": r.problem,
                "holds": None if r.skipped else r.holds,
                "skipped": list(r.skipped),
                "seeds": r.seeds,
                "different": r.distinct,
                "hit_rate": r.hit_rate,
                "seconds": round(r.seconds, 3),
                "cached": r.cached,
                "errors": list(r.errors),
                "unrun": list(r.unrun),
                "findings": [finding_data(f) for f in r.findings],
            }
            for r in results
        ],
    }
