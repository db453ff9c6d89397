"""Options of formats that export an exam rather than results."""

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
    help="If problems of a pool are worth different points, scale all of them to the highest.",
)


def quiz_options(default: str) -> Callable[[F], F]:
    """Adds SET and the options that all quiz formats share; *default* is the output file."""

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
            help="Number of variants of each problem; a student gets one of them.",
        ),
        click.option(
            "--out",
            type=click.Path(path_type=Path, dir_okay=False),
            default=default,
            show_default=True,
            help="File to write.",
        ),
        click.option(
            "--private-key",
            metavar="TEXT",
            help="Secret from which the numbers are drawn; random by default.",
        ),
        click.option(
            "--leave-out",
            is_flag=True,
            help="Drop parts that the format can't represent, with their points, and list them.",
        ),
        even_points_option,
    ]


def finish_file(exported: Exported, out: Path, *, as_json: bool) -> None:
    """Writes the single exported file to *out*, and prints its path and the notes."""
    (data,) = exported.files.values()
    finish(replace(exported, files={out.name: data}), out.parent, as_json=as_json)
