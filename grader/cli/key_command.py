"""`grader key`: print one student's key."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import examples, json_option, print_json, release_argument, table
from grader.words import points


@click.command(
    "key",
    epilog=examples("grader key release --student ada", "grader key release --student ada --json"),
)
@release_argument
@click.option("--student", required=True, metavar="ID", help="Whose key to print.")
@json_option
def command(release: Path, student: str, as_json: bool) -> None:
    """Print one student's key: every answer with its unit, points and kind. Keep it secret."""
    from grader.release.file import load_release
    from grader.release.rendering import key_data

    keys = key_data(load_release(release), student)
    if as_json:
        print_json(keys)
        return
    rows = [
        (name, str(k["kind"]), points(float(str(k["points"]))), _shown(k))
        for name, k in keys.items()
    ]
    click.echo(table(("answer", "kind", "points", "key"), rows, right=(2,)))


def _shown(key: dict[str, object]) -> str:
    return (
        f"{key['value']} {key['unit']}".strip() if key["value"] is not None else "graded manually"
    )
