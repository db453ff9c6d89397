"""`grader schema`: print the JSON Schema that editors use to complete and check specs."""

from __future__ import annotations

import click

from grader.cli.options import bank_option, examples, print_json


@click.command(
    "schema",
    epilog=examples(
        "grader schema > problem.schema.json",
        "grader schema --bank . > problem.schema.json   # with the bank's own families",
    ),
)
@click.option("--sets", is_flag=True, help="Print the schema of sets instead.")
@bank_option
def command(sets: bool, banks: tuple[str, ...]) -> None:
    """Print the JSON Schema of problems, or of sets.

    The schema allows the built-in families and those that the bank declares. In VS Code with the
    YAML extension, start a spec with the line '# yaml-language-server: $schema=PATH' to get
    completion and checks while typing.
    """
    from grader.bank.index import BankIndex
    from grader.bank.schema import json_schema, set_schema

    print_json(set_schema() if sets else json_schema(BankIndex.open(banks).families))
