"""The options of the formats that hold an exam rather than results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from grader.cli.exports import finish
from grader.cli.options import bank_option, json_option
from grader.model.exported import Exported

F = TypeVar("F", bound=Callable[..., Any])


even_points_option = click.option(
    "--even-points",
    is_flag=True,
    help="Where a pool's problems are worth different points, scale all to the highest.",
)


def quiz_options(default: str) -> Callable[[F], F]:
    """SET and everything that decides what is drawn; the file is *default* unless given."""

    def decorate(command: F) -> F:
        wrapped = json_option(bank_option(command))
        for option in reversed(_options(default)):
            wrapped = option(wrapped)
        return wrapped

    return decorate


def _options(default: str) -> list[Callable[[F], F]]:
    return [
        click.argument("exam", metavar="SET"),
        click.option(
            "--variants",
            type=click.IntRange(min=1, max=1000),
            default=10,
            show_default=True,
            metavar="N",
            help="How many variants of each problem; a student gets one of them.",
        ),
        click.option(
            "--out",
            type=click.Path(path_type=Path, dir_okay=False),
            default=default,
            show_default=True,
            help="The file to write.",
        ),
        click.option(
            "--private-key",
            metavar="TEXT",
            help="Draws the same numbers every time; random by default.",
        ),
        click.option(
            "--leave-out",
            is_flag=True,
            help="Drop the parts that can't be asked there, and their points, and name each.",
        ),
        even_points_option,
    ]


def finish_file(exported: Exported, out: Path, *, as_json: bool) -> None:
    """Writes the one file that was exported to *out*, and says what was lost."""
    (data,) = exported.files.values()
    finish(replace(exported, files={out.name: data}), out.parent, as_json=as_json)
