"""`grader export FORMAT`: a command for each registered exporter, made from its fields."""

from __future__ import annotations

import inspect
from dataclasses import Field, fields, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import click

from grader.cli.completion import complete_ids
from grader.cli.lazy import LazyGroup
from grader.cli.options import BANKS, JSON, open_bank, print_json, print_notes
from grader.cli.parameters import (
    EXISTING_FILE,
    EXISTING_FOLDER,
    FILE,
    FOLDER,
    REQUIRED,
    example_lines,
    make_option,
    option,
    without_none,
)
from grader.errors import GraderError, SetupError
from grader.registry import BUILT_IN
from grader.text.words import count_of

if TYPE_CHECKING:
    from grader.integrations.base import Exporter
    from grader.model.exported import Exported


class _FormatGroup(LazyGroup):
    """A command for each format."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Returns the formats of this package, then those of others in alphabetical order."""
        from grader.integrations.base import exporters

        own = BUILT_IN[exporters.group]
        return [*own, *sorted(set(exporters) - set(own))]

    def sentence(self, name: str) -> str:
        """Returns the first line of an exporter's docstring."""
        try:
            return (inspect.getdoc(_find_exporter(name)) or "").partition("\n")[0]
        except GraderError as error:
            return str(error).partition("\n")[0]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Returns the command of a format; None if it does not exist."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command = _make_command(cmd_name, _find_exporter(cmd_name))
        complete_ids(command)
        return command


_STUDENT = make_option("student", str, option(metavar="ID", help="Whose result to export."))
_STUDENTS = make_option(
    "students",
    tuple[str, ...],
    option(
        (),
        "--student",
        metavar="ID",
        help="Export this student only. Repeat for more students.",
    ),
)


@click.group(
    "export",
    cls=_FormatGroup,
    sentences={},
    package="",
    noun="export format",
    epilog=example_lines("grader export csv results", "grader export canvas results --help"),
)
def command() -> None:
    """Write results or an exam in the format of another system."""


def _find_exporter(name: str) -> type[Exporter[Any]]:
    """Returns the exporter *name*. Raises SetupError if it can't be loaded."""
    from grader.integrations.base import Exporter, exporters

    exporter = exporters.find(name)
    if not (isinstance(exporter, type) and issubclass(exporter, Exporter)):
        raise SetupError(
            f"the export format '{name}' is not an exporter",
            fix="derive its class from StudentExporter, ClassExporter, or QuizExporter of "
            "grader.integrations.base",
        )
    return exporter


def _make_command(name: str, exporter: type[Exporter[Any]]) -> click.Command:
    """Returns the command of a format, with the arguments and options that its exporter takes."""
    from grader.integrations.base import QuizExporter, StudentExporter

    command = click.Command(name, callback=partial(_run_export, name, exporter))
    command.help = inspect.getdoc(exporter)
    command.epilog = example_lines(*exporter.examples) if exporter.examples else None
    is_quiz = issubclass(exporter, QuizExporter)
    if is_quiz:
        command.params.append(click.Argument(["exam"], metavar="SET"))
    else:
        command.params.append(click.Argument(["results"], type=EXISTING_FOLDER))
        single = issubclass(exporter, StudentExporter) and exporter.one_student
        command.params.append(_STUDENT if single else _STUDENTS)
    command.params += field_options(exporter)
    if exporter.out is not None:
        command.params.append(_out_option(name, exporter.out))
    if is_quiz:
        command.params.append(make_option("banks", tuple[str, ...], BANKS))
    if exporter.out is not None:
        command.params.append(make_option("as_json", bool, JSON))
    return command


def field_options(record: type, *, keeps: bool = False) -> list[click.Option]:
    """Returns an option for each field that `grader.integrations.base.option` made.

    With *keeps*, the value of an option that is not given is None, and only the help shows the
    default.
    """
    hints = get_type_hints(record)
    with_options = [field for field in fields(record) if "option" in field.metadata]
    return [_field_option(field, hints[field.name], keeps=keeps) for field in with_options]


def _field_option(field: Field[Any], hint: Any, *, keeps: bool) -> click.Option:
    """Returns the option for *field* of type *hint*. With *keeps*, its default is None."""
    about, default = field.metadata["option"], field.default
    default = default.value if isinstance(default, StrEnum) else default
    flags = [f"--{field.name.replace('_', '-')}", *([about.also] if about.also else [])]
    text = about.help
    if default is True:
        flags[0] += f"/--no-{flags[0][2:]}"
    elif keeps and default:
        text += f"  [default: {default}]"
    path = {"type": EXISTING_FILE if about.exists else FILE} if without_none(hint) is Path else {}
    declared = option(
        None if keeps else default,
        *flags,
        **path,
        least=about.least,
        most=about.most,
        metavar=about.metavar,
        help=text,
    )
    return make_option(field.name, hint, declared)


def pop_fields(record: type, values: dict[str, Any]) -> dict[str, Any]:
    """Removes the options made from the fields of *record* from *values*; returns their values."""
    hints = get_type_hints(record)
    names = [field.name for field in fields(record) if "option" in field.metadata]
    return {name: _to_enum(values.pop(name), without_none(hints[name])) for name in names}


def _out_option(name: str, pattern: str) -> click.Option:
    """Returns --out, with *pattern* as its default; it is required if *pattern* is empty."""
    is_file = bool(Path(pattern).suffix)
    fixed = pattern if pattern and "{" not in pattern else None
    shown = f"  [default: {pattern.format(results='RESULTS', name=name)}]" if pattern else ""
    declared = option(
        fixed if pattern else REQUIRED,
        type=FILE if is_file else FOLDER,
        metavar="FILE" if is_file else "DIR",
        help=f"{'File to write.' if is_file else 'Folder to write to.'}{shown}",
        show_default=False,
    )
    return make_option("out", Path, declared)


def _run_export(
    name: str,
    exporter: type[Exporter[Any]],
    *,
    out: Path | None = None,
    as_json: bool = False,
    **values: Any,
) -> None:
    """Runs the command of *exporter*."""
    from grader.integrations.base import QuizExporter
    from grader.integrations.exporting import append_text, write_exported

    chosen_exporter = exporter(**pop_fields(exporter, values))
    if exporter.out is not None:
        out = out or Path(exporter.out.format(results=values.get("results"), name=name))
    exported = _run_exporter(chosen_exporter, out, **values)
    is_file = bool(Path(exporter.out or "").suffix)
    if out is not None and is_file:
        (data,) = exported.files.values()
        exported, out = replace(exported, files={out.name: data}), out.parent
    click.echo(exported.stdout, nl=False)
    for file, text in exported.appended_text.items():
        append_text(file, text)
    if out is not None:
        # A quiz contains its keys.
        private = is_file and isinstance(chosen_exporter, QuizExporter)
        written = write_exported(exported, out, private=private)
        _print_exported(exported, written, out, as_json=as_json)


def _to_enum(value: Any, hint: Any) -> Any:
    """Returns *value* as a member of *hint*, if that is an enumeration; else *value* itself."""
    is_enum = isinstance(hint, type) and issubclass(hint, StrEnum)
    return hint(value) if is_enum and value is not None else value


def _run_exporter(
    exporter: Exporter[Any],
    out: Path | None,
    *,
    results: Path | None = None,
    exam: str = "",
    student: str = "",
    students: tuple[str, ...] = (),
    banks: tuple[str, ...] = (),
) -> Exported:
    """Returns what *exporter* makes of the results or of the set on the command line."""
    from grader.integrations.base import QuizExporter, StudentExporter
    from grader.integrations.exporting import class_results, export_students

    if isinstance(exporter, QuizExporter):
        quiz = exporter.quiz(open_bank(banks), exam)
        exporter.check_target(quiz, out or Path())
        return exporter.export(quiz)
    chosen = (student,) if student else students
    results_of_class = class_results(results or Path(), chosen)
    if not isinstance(exporter, StudentExporter):
        exporter.check_target(results_of_class, out or Path())
        return exporter.export(results_of_class)
    if len(chosen) == 1:
        return exporter.export(results_of_class.results[0])
    return export_students(exporter, results_of_class.results)


def _print_exported(exported: Exported, written: list[Path], out: Path, *, as_json: bool) -> None:
    """Prints the paths of the files and the notes."""
    if as_json:
        print_json({"files": [str(path) for path in written], "notes": list(exported.notes)})
        return
    print_notes(exported.notes)
    several = f"{count_of(len(written), 'file')} in {out}"
    click.echo(f"{written[0]}" if len(written) == 1 else several)
