"""`grader schema`: the JSON Schema that an editor completes and checks specs with."""

from __future__ import annotations

import click

from grader.cli.options import examples, print_json


@click.command("schema", epilog=examples("grader schema > problem.schema.json"))
@click.option("--sets", is_flag=True, help="The schema of sets instead.")
def command(sets: bool) -> None:
    """Print the JSON Schema of problems, or of sets.

    In VS Code with the YAML extension, start a spec with the line
    '# yaml-language-server: $schema=PATH' to get completion and checks while typing.
    """
    from grader.load.schema import json_schema, set_schema

    print_json(set_schema() if sets else json_schema())
