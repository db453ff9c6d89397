"""`grader requests`: take in students' requests for a regrade, and list them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.options import BANKS, BY, JSON, open_bank, print_json, table
from grader.cli.parameters import EXISTING, argument, option, subcommand
from grader.errors import one_line
from grader.text.words import count_of
from grader.text.words import points as worth

if TYPE_CHECKING:
    from grader.model.requests import RegradeRequest

_SHOWN = 60
"""Characters of a request in the list."""


@subcommand(
    "requests",
    "grader requests results --open              # show the form on feedback pages",
    "grader requests results regrade-requests/   # import what students handed in",
    "grader requests results                     # list the requests",
    "grader requests results --close",
)
def command(
    results: Path,
    files: tuple[Path, ...] = argument(type=EXISTING, metavar="[FILE]..."),
    opens: bool | None = option(
        None, "--open/--close", help="Show the form for requests on feedback pages, or remove it."
    ),
    by: str = BY,
    banks: tuple[str, ...] = BANKS,
    as_json: bool = JSON,
) -> None:
    """Import and list students' regrade requests.

    A FILE is what the form on a feedback page made, the text of an issue that contains it, or a
    folder of such files. If any file is invalid, nothing is imported. Answer the requests in
    `grader desk`.
    """
    if opens is not None:
        _open_or_close_form(results, opens, by, banks)
    if files:
        from grader.grading.requests import take_requests

        taken = take_requests(results, files)
        click.echo(
            f"{count_of(taken.files, 'file')}: {count_of(taken.new, 'new request')}.", err=as_json
        )
    if as_json or (opens is None and not files):
        _print_requests(results, as_json)


def _open_or_close_form(results: Path, opens: bool, by: str, banks: tuple[str, ...]) -> None:
    """Adds the form for requests to the feedback pages if *opens*, else removes it."""
    from grader.gradebook import Gradebook
    from grader.grading.requests import close_requests, open_requests
    from grader.grading.results import write_results

    with Gradebook.open(results) as book:
        (open_requests if opens else close_requests)(book, by=by)
    write_results(results, open_bank(banks))
    what = "have the form" if opens else "no longer have the form"
    click.echo(f"The feedback pages {what} for regrade requests.", err=True)


def _request_data(request: RegradeRequest) -> dict[str, object]:
    """Returns what `--json` prints of a request."""
    data = asdict(request)
    for answer in data["answers"]:
        answer["undone"] = answer.pop("is_undone")  # the older name
    return data | {"state": request.state.value}


def _print_requests(results: Path, as_json: bool) -> None:
    """Prints all regrade requests as a table or as JSON."""
    from grader.gradebook import Gradebook

    with Gradebook.open(results) as book:
        requests = book.requests.every()
    if as_json:
        print_json([_request_data(request) for request in requests])
        return
    if not requests:
        click.echo("There are no regrade requests.")
        return
    rows = [
        (
            request.student,
            request.name,
            "open" if request.points is None else worth(request.points),
            request.state.value,
            one_line(request.text, _SHOWN),
        )
        for request in requests
    ]
    click.echo(table(("student", "answer", "points", "state", "text"), rows, right=(2,)))
