"""`grader show`: show one problem as a student sees it."""

from __future__ import annotations

import sys

import click

from grader.cli.options import bank_option, examples, json_option, print_json


@click.command(
    "show",
    epilog=examples(
        "grader show kv-cache-size",
        "grader show kv-cache-size --seed 7 --key",
        "grader show mybank/problems/numerics/ulp.yaml",
    ),
)
@click.argument("problem", metavar="ID")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Number of the variant to show.",
)
@click.option("--key", is_flag=True, help="Also show the answers, tolerances and mistakes.")
@bank_option
@json_option
def command(problem: str, seed: int, key: bool, banks: tuple[str, ...], as_json: bool) -> None:
    """Show one variant of a problem as a student sees it.

    ID is a problem's id or a path to its YAML file.
    """
    from grader.bank.folders import Bank
    from grader.release.rendering import preview

    shown = preview(Bank.open(banks), problem, seed)
    if as_json:
        print_json(shown.as_data(key=key))
        return
    text = shown.as_markdown(key=key)
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(text))
    else:
        click.echo(text)
