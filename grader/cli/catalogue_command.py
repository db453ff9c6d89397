"""`grader catalogue`: the bank as a static site."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import BANKS, open_bank, print_errors
from grader.cli.parameters import FOLDER, option, subcommand
from grader.text.words import count_of


@subcommand(
    "catalogue",
    "grader catalogue --out catalogue",
    "grader catalogue --out public --no-keys     # without keys and worked solutions",
    "grader catalogue --out catalogue --bank ~/course",
)
def command(
    out: Path = option(
        type=FOLDER, help="Folder to write into. Pages of an earlier catalogue are replaced."
    ),
    keys: bool = option(
        True,
        help="Write the pages with keys and worked solutions, or leave them out. Default: --keys.",
    ),
    banks: tuple[str, ...] = BANKS,
) -> int:
    """Write the bank as a static site: an index to search, and pages for each problem.

    A problem's page shows three variants as students see them. The key and the worked solution
    are on a page of their own, in DIR/solutions. Problems and sets that can't be read are left
    out and reported, and the command exits 1.
    """
    from grader.integrations.catalogue.site import write_catalogue

    written = write_catalogue(open_bank(banks), out, solutions=keys)
    pages = count_of(written.pages, "page")
    click.echo(f"{count_of(written.problems, 'problem')}, {pages}. Open {written.index}")
    if written.errors:
        print_errors(f"{count_of(len(written.errors), 'error')}; left out:", written.errors)
    return 1 if written.errors else 0
