"""`grader export NAME` for a format that a plug-in package provides."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from grader.cli.exports import finish
from grader.cli.exports.quiz_options import even_points_option
from grader.cli.exports.students import of_everybody, only, results_argument
from grader.cli.options import bank_option, json_option
from grader.errors import SetupError
from grader.integrations.base import Exporter, exporters
from grader.model.exported import ClassResults, Result
from grader.model.quiz import Quiz

Make = Callable[..., Exporter[Any]]


def plugged(name: str) -> click.Command:
    """The command of the exporter *name*; raises SetupError if it can't be loaded."""
    make = exporters.find(name)
    takes = getattr(make, "takes", None)
    if takes not in (Result, ClassResults, Quiz):
        raise SetupError(
            f"the export format '{name}' does not declare its input",
            fix="set `takes` in its class to Result, ClassResults or Quiz of grader.model",
        )
    command = _quiz(name, make) if takes is Quiz else _results(name, make, takes)
    command.help = inspect.getdoc(make)
    return command


def _results(name: str, make: Make, takes: type[Result | ClassResults]) -> click.Command:
    @click.command(name)
    @results_argument
    @click.option("--student", metavar="ID", help="Export this student only.")
    @_shared
    def command(
        results: Path,
        student: str | None,
        settings: tuple[str, ...],
        leave_out: bool,
        out: Path | None,
        as_json: bool,
    ) -> None:
        from grader.integrations.exporting import class_results

        exporter = made(name, make, settings)
        found = class_results(results, [student] if student is not None else [])
        if takes is ClassResults:
            exported = exporter.export(found, leave_out=leave_out)
        elif student is not None:
            exported = exporter.export(only(found, student), leave_out=leave_out)
        else:
            exported = of_everybody(
                found.results, lambda one: exporter.export(one, leave_out=leave_out)
            )
        finish(exported, out or results / "exports" / name, as_json=as_json)

    return command


def _quiz(name: str, make: Make) -> click.Command:
    @click.command(name)
    @click.argument("exam", metavar="SET")
    @click.option(
        "--variants",
        type=click.IntRange(min=1, max=1000),
        default=10,
        show_default=True,
        metavar="N",
        help="Number of variants of each problem; a student gets one of them.",
    )
    @click.option(
        "--private-key",
        metavar="TEXT",
        help="Secret from which the numbers are drawn; random by default.",
    )
    @even_points_option
    @bank_option
    @_shared
    def command(
        exam: str,
        variants: int,
        private_key: str | None,
        even_points: bool,
        banks: tuple[str, ...],
        settings: tuple[str, ...],
        leave_out: bool,
        out: Path | None,
        as_json: bool,
    ) -> None:
        from grader.bank.folders import Bank
        from grader.integrations.lms.variants import make_quiz

        exporter = made(name, make, settings)
        quiz = make_quiz(Bank.open(banks), exam, variants, private_key, even_points=even_points)
        finish(exporter.export(quiz, leave_out=leave_out), out or Path(), as_json=as_json)

    return command


def _shared(command: Callable[..., None]) -> Callable[..., None]:
    command = json_option(command)
    command = click.option(
        "--out",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Folder to write to. Default: RESULTS/exports/NAME; for a set, the current folder.",
    )(command)
    command = click.option(
        "--leave-out",
        is_flag=True,
        help="Drop parts that the format can't represent, with their points, and list them.",
    )(command)
    return click.option(
        "-o",
        "--option",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help="Option of the format. May be repeated.",
    )(command)


def made(name: str, make: Make, settings: tuple[str, ...]) -> Exporter[Any]:
    """The exporter with its options; raises SetupError for an unknown or missing option."""
    options = dict(_pair(setting) for setting in settings)
    try:
        inspect.signature(make).bind(**options)
    except TypeError as error:
        raise SetupError(
            f"the export format '{name}' can't be used with these options: {error}",
            fix=f"known options: {_known(inspect.signature(make).parameters) or 'none'}",
        ) from None
    return make(**options)


def _pair(setting: str) -> tuple[str, str]:
    name, equals, value = setting.partition("=")
    if not equals:
        raise SetupError(f"the option '{setting}' has no value", fix="write it as NAME=VALUE")
    return name, value


def _known(parameters: Mapping[str, inspect.Parameter]) -> str:
    return ", ".join(
        p.name if p.default is inspect.Parameter.empty else f"{p.name} ({p.default!r})"
        for p in parameters.values()
    )
