"""Appends to the files of a GitHub Actions step: outputs and the summary."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Any)


def output_option(command: F) -> F:
    """Adds --github-output FILE."""
    found: F = click.option(
        "--github-output",
        "output",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Append the step's outputs to FILE, which is $GITHUB_OUTPUT in a workflow.",
    )(command)
    return found


def append_outputs(file: Path, outputs: Mapping[str, str]) -> None:
    """Appends *outputs* of the step to *file*, each between unpredictable delimiters."""
    from grader.integrations.github.actions import outputs_text

    append(file, outputs_text(outputs, secrets.token_hex(16)))


def append(file: Path, text: str) -> None:
    """Appends *text* to *file*, after a line break if the last line has none."""
    with file.open("ab+") as sink:
        if sink.tell():
            sink.seek(-1, 2)
            if sink.read(1) != b"\n":
                sink.write(b"\n")
        sink.write(text.encode("utf-8", "replace"))
