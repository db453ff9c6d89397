"""`grader classroom leaks`: search files for students for secrets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.classrooms import students_option
from grader.cli.options import BANKS, JSON, open_bank, print_json
from grader.cli.parameters import argument, option, subcommand
from grader.cli.progress import progress
from grader.errors import one_line
from grader.text.words import count_of

if TYPE_CHECKING:
    from grader.security.leaks import SearchResult


@subcommand(
    "leaks",
    "grader classroom leaks student-template --release release",
    "grader classroom leaks release/notebooks --release release --json",
    "GRADER_PACK_KEY=… grader classroom leaks student-template --release exam.pack",
)
def command(
    folder: Path = argument(metavar="DIR"),
    release: Path = option(
        metavar="FILE", help="The release.json or sealed pack whose secrets to search for."
    ),
    students: tuple[str, ...] = students_option("Search for this student's keys only."),
    seconds: float = option(
        1800,
        least=1,
        metavar="SECONDS",
        help="Time limit, in seconds. Files not searched by then are listed.",
    ),
    banks: tuple[str, ...] = BANKS,
    as_json: bool = JSON,
) -> int:
    """Search the files that students get for leaked keys, hidden cases, solutions, and seeds.

    Searches files of every type, archives, notebooks with outputs and attachments, and the whole
    git history for secrets, plain or in base64 or hex. Exits 1 if a secret is found or a file can't
    be searched. Secrets are masked in the output.
    """
    from grader.security.leaks import SearchLimits, find_leaks

    bounds = SearchLimits(seconds=seconds)
    total = sum(path.is_file() for path in folder.rglob("*")) if folder.is_dir() else 0
    with progress("searching", total) as done:
        search = find_leaks(folder, release, open_bank(banks), bounds, students, done)
    if as_json:
        print_json(_result_data(search))
    else:
        _print_result(search, seconds)
    return 0 if search.is_clean else 1


_SHOWN = ("path", "line", "kind", "detail")


def _result_data(found: SearchResult) -> dict[str, object]:
    """Returns what `--json` prints of a search."""
    return {
        "release": found.release,
        "clean": found.is_clean,
        "findings": [
            {**{name: getattr(finding, name) for name in _SHOWN}, "encodings": list(finding.how)}
            for finding in found.findings
        ],
        "more": found.more,
        "unread": [{"path": path, "why": why} for path, why in found.unread],
        "files": found.files,
        "git_objects": found.objects,
        "bytes": found.bytes,
    }


def _print_result(found: SearchResult, seconds: float) -> None:
    """Prints each leak and each file that was not searched, then a summary."""
    for finding in found.findings:
        how = f" [{', '.join(finding.how)}]" if finding.how else ""
        click.echo(one_line(f"{finding.place}: {finding.kind}: {finding.detail}{how}"))
    if found.more:
        click.echo(f"… and {found.more} more")
    for path, why in found.unread:
        click.echo(one_line(f"{path}: not searched: {why}"))
    searched = f"{count_of(found.files, 'file')} and {count_of(found.objects, 'git object')}, "
    searched += f"{found.bytes / 1e6:.1f} MB"
    if found.is_clean:
        click.echo(f"Found no secrets of release {found.release} in {searched}.")
        return
    count = len(found.findings) + found.more
    if found.unread:
        searched += f", {len(found.unread)} not searched"
    click.echo(f"{count_of(count, 'leak')} of release {found.release} in {searched}.", err=True)
    if count:
        click.echo(
            "  fix: remove them. Secrets in the git history stay there until you rewrite it. "
            "Consider anything pushed as known, and render a new release",
            err=True,
        )
    if found.is_late:
        click.echo(
            f"  fix: the time limit of {seconds:g} s was reached; raise it with --seconds, or "
            "search one folder at a time",
            err=True,
        )
