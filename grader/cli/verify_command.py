"""`grader verify`: the gate."""

from __future__ import annotations

import click

from grader.cli.options import bank_option, examples, jobs_option, json_option, print_json, progress
from grader.cli.verify_screen import all_hold, finding_data, lines_of


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
@jobs_option
@bank_option
@json_option
def command(
    problems: tuple[str, ...],
    seeds: int,
    kernel: bool,
    jobs: int | None,
    banks: tuple[str, ...],
    as_json: bool,
) -> int:
    """Check the named problems, or all problems of the bank: the gate before an exam.

    Exits 1 when anything does not hold, and when a file of the bank can't be read. Every finding
    names file, line, seed and numbers.
    """
    from grader.load import Bank
    from grader.verify import verify
    from grader.verify.whole import run_references

    total = len(problems) or len(Bank.open(banks).listed)
    with progress("verifying", total) as done:
        results = verify(
            banks, problems, seeds=seeds, jobs=jobs, progress=lambda r: done(r.problem)
        )
    sound = [r.problem for r in results if r.holds]
    ran = run_references(Bank.open(banks), problems or None, sound) if kernel and sound else ()
    holds = all(r.holds for r in results) and not ran
    if as_json:
        print_json(_data(results, ran, holds))
        return 0 if holds else 1
    for result in results:
        for line in lines_of(result):
            click.echo(line)
    for line in ran:
        click.echo(f"FAIL {line}")
    unrun = sum(bool(r.unrun) for r in results)
    failed = sum(not r.holds for r in results) + len(ran)
    click.echo(
        f"\n{len(results) - failed} of {len(results)} hold."
        if failed
        else f"\n{all_hold(len(results), seeds)}"
        + (f" Of {unrun} some code was not run, see above." if unrun else "")
    )
    return 0 if holds else 1


def _data(results, ran, holds: bool) -> dict[str, object]:  # type: ignore[no-untyped-def]
    return {
        "holds": holds,
        "kernel": list(ran),
        "problems": [
            {
                "id": r.problem,
                "holds": r.holds,
                "seeds": r.seeds,
                "different": r.distinct,
                "hit_rate": r.hit_rate,
                "seconds": round(r.seconds, 3),
                "errors": list(r.errors),
                "unrun": list(r.unrun),
                "findings": [finding_data(f) for f in r.findings],
            }
            for r in results
        ],
    }
