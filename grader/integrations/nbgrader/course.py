"""Reads the settings of an nbgrader course from its configuration files, without running them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.errors import Location, SetupError, SpecError
from grader.integrations.nbgrader.assignment import CourseConfig

_ABOVE = 4
"""Number of folders to search: `source/ps1`, `source`, the course, and its parent."""
_NAMES = frozenset({"c", "get_config", "load_subconfig", "exec", "eval", "globals", "vars"})
"""Names by which a statement can change a setting; statements without them are skipped."""
_HOW = "write the setting as one line with a plain value, such as `c.Execute.timeout = 60`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The value of `c.SECTION.NAME` and its location."""

    value: Any
    where: Location
    literal: bool = True
    """Whether the value is a literal."""


Settings = Mapping[str, Setting]
"""By section and name, such as `Execute.timeout`."""


def load_course(folder: Path) -> CourseConfig:
    """Reads the settings for *folder* from the nearest folder with a configuration file."""
    folder = folder.absolute()
    for above in (folder, *folder.parents)[:_ABOVE]:
        files = [above / name for name in _FILES if (above / name).is_file()]
        if files:
            settings: dict[str, Setting] = {}
            for file in files:
                settings.update(_FILES[file.name](_read_text(file), str(file)))
            return interpret_settings(settings, str(files[-1]))
    return CourseConfig()


def require_usual_regions(folder: Path) -> None:
    """Raises SetupError if nbgrader would not find the regions, and so release solutions."""
    course, usual = load_course(folder), CourseConfig()
    for region in ("solution", "hidden", "scheme"):
        markers = getattr(course, region)
        usual_markers = getattr(usual, region)
        if markers != usual_markers:
            raise SetupError(
                f"this course marks regions with '{markers[0]}', and an export with "
                f"'{usual_markers[0]}', so nbgrader would release solutions to students",
                where=course.file,
                fix="remove that setting, or export into the folder of another course",
            )


def _read_text(file: Path) -> str:
    """Returns the text of a settings file. Raises SpecError if it can't be read as UTF-8."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        what, fix = f"can't be read: {error.strerror}", "check its permissions"
    except UnicodeDecodeError:
        what, fix = "are not UTF-8", "save the file as UTF-8"
    raise SpecError(f"the settings of the course {what}", where=Location(str(file)), fix=fix)


def parse_python(text: str, file: str) -> Settings:
    """Reads the literal settings in a Python file without executing it; raises SpecError."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _syntax_error("Python", file, error, "offset") from None
    return {name: setting for each in tree.body for name, setting in _read_statement(each, file)}


def _read_statement(statement: ast.stmt, file: str) -> Iterator[tuple[str, Setting]]:
    """Yields the settings that *statement* assigns. Raises SpecError if it may change others."""
    where = Location(file, statement.lineno, statement.col_offset + 1)
    if isinstance(statement, ast.Assign):
        if ast.unparse(statement) == "c = get_config()":
            return
        names = [re.fullmatch(r"c\.(\w+\.\w+)", ast.unparse(t)) for t in statement.targets]
        if all(names) and not _mentions_config(statement.value):
            value, literal = _literal_value(statement.value)
            for name in filter(None, names):
                yield name[1], Setting(value=value, where=where, literal=literal)
            return
    if _mentions_config(statement):
        raise SpecError(
            "this statement may change settings, and the file is read without running it",
            where=where,
            fix=_HOW,
        )


def _mentions_config(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Name) and one.id in _NAMES for one in ast.walk(node))


def _literal_value(node: ast.expr) -> tuple[object, bool]:
    """Returns the value of a literal or of `dict(name=literal)`, and True; else None and False."""
    try:
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "dict" and not node.args:
            return {str(k.arg): ast.literal_eval(k.value) for k in node.keywords}, True
        return ast.literal_eval(node), True
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None, False


def parse_json(text: str, file: str) -> Settings:
    """Reads the settings in a JSON configuration file; raises SpecError."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _syntax_error("JSON", file, error, "colno") from None
    where = Location(file)
    if not isinstance(data, dict):
        raise SpecError("not an object of settings", where=where, fix='such as {"Execute": {}}')
    return {
        f"{section}.{name}": Setting(value=value, where=where)
        for section, values in data.items()
        if isinstance(values, dict)
        for name, value in values.items()
    }


def _syntax_error(language: str, file: str, error: Exception, column: str) -> SpecError:
    where = Location(file, getattr(error, "lineno", None), getattr(error, column, None))
    what = f"not {language}: {getattr(error, 'msg', None) or error}"
    return SpecError(what, where=where, fix="correct it; nbgrader can't read it either")


_FILES = {"nbgrader_config.py": parse_python, "nbgrader_config.json": parse_json}
"""In traitlets' order: the JSON file overrides the Python file."""

# The classes that Execute inherits its settings from, the most specific last.
_EXECUTE = ("NotebookClient", "ExecutePreprocessor", "Execute")
# nbgrader's own spelling is "delimeter".
_DELIMITERS = {
    "ClearSolutions.begin_solution_delimeter": ("solution", 0),
    "ClearSolutions.end_solution_delimeter": ("solution", 1),
    "ClearHiddenTests.begin_test_delimeter": ("hidden", 0),
    "ClearHiddenTests.end_test_delimeter": ("hidden", 1),
    "ClearMarkScheme.begin_mark_scheme_delimeter": ("scheme", 0),
    "ClearMarkScheme.end_mark_scheme_delimeter": ("scheme", 1),
}


def _is_code(value: Any) -> bool:
    return isinstance(value.get("python") if isinstance(value, dict) else value, str)


def _is_time(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


_HONORED: Mapping[str, tuple[str, Callable[[Any], bool], str]] = {
    "ClearSolutions.code_stub": ("code_stub", _is_code, 'a text, or {"python": "..."}'),
    "ClearSolutions.text_stub": ("text_stub", lambda value: isinstance(value, str), "a text"),
    "ClearSolutions.enforce_metadata": (
        "require_solution_cells", lambda value: isinstance(value, bool), "True or False",
    ),
    **dict.fromkeys(
        [f"{section}.timeout" for section in _EXECUTE],
        ("cell_seconds", _is_time, "seconds, or None"),
    ),
    **{
        name: (region, lambda value: isinstance(value, str) and bool(value), "a text, not empty")
        for name, (region, _) in _DELIMITERS.items()
    },
}  # fmt: skip
"""The field of CourseConfig that a setting changes, and the values that it may have."""

_RUN = rf"({'|'.join(_EXECUTE)})"
_REFUSED = {
    r"IgnorePattern\.enabled": "it drops warnings that would otherwise cost a test its points",
    r"InstantiateTests\.\w+_delimiter": "tests that nbgrader generates are not run here",
    r"(GenerateAssignment\.|Autograde\.\w+_)preprocessors": "nbgrader's own steps run here",
    _RUN + r"\.timeout_func": "a function of each cell can't be read without running it",
    _RUN + r"\.skip_cells_with_tag": "every cell is run here",
    r"(NbGraderPreprocessor|ClearSolutions|OverwriteCells|Execute|ExecutePreprocessor|SaveCells|"
    r"SaveAutoGrades|ComputeChecksums|DeduplicateIds)\.enabled": "this step always runs here",
}
"""Settings that change marks and can't be applied, with the reason."""
_NOTED = {
    r"OverwriteCells\.add_missing_cells": "a graded cell that is missing waits for a person",
    r"LateSubmissionPlugin\.penalty_method|AssignLatePenalties\.plugin_class": "late penalties are "
    "not supported",
    r"IncludeHeaderFooter\.(header|footer)": "graded cells in that notebook are not graded",
    r"Autograde\.exclude_overwriting": "files of the source replace those of students",
    _RUN + r"\.(kernel_name|extra_arguments|interrupt_on_timeout|startup_timeout)": "it is not "
    "applied",
}
"""Settings that may change marks in rare cases, with what happens here."""


def interpret_settings(settings: Settings, file: str = "") -> CourseConfig:
    """Returns what *settings* mean for grading; raises SpecError if they can't be applied."""
    notes = []
    for name, setting in settings.items():
        refusal, note = _find_reason(_REFUSED, name), _find_reason(_NOTED, name)
        if not setting.literal and (refusal or name in _HONORED):
            what = f"the value of c.{name} would have to be computed"
            raise SpecError(what, where=setting.where, fix=_HOW)
        if refusal and _changes_marks(name, setting.value):
            raise SpecError(
                f"c.{name} changes marks and is not supported here: {refusal}",
                where=setting.where,
                fix="remove it, or use nbgrader to grade this course",
            )
        if note and setting.value:
            notes.append(f"c.{name} is not supported: {note} ({setting.where})")
    return CourseConfig(**_read_config_fields(settings), notes=tuple(notes), file=file)


def _find_reason(table: Mapping[str, str], name: str) -> str | None:
    return next((why for pattern, why in table.items() if re.fullmatch(pattern, name)), None)


def _changes_marks(name: str, value: object) -> bool:
    """Returns whether *value* differs from nbgrader's default for the setting *name*."""
    if not name.endswith(".enabled"):
        return bool(value)
    is_on_by_default = name != "IgnorePattern.enabled"
    return (value is True) != is_on_by_default


def _read_config_fields(settings: Settings) -> dict[str, Any]:
    """Returns the fields of CourseConfig that *settings* change. Raises SpecError if one is bad."""
    fields: dict[str, Any] = {}
    for name, (field, fits, wanted) in _HONORED.items():
        if name not in settings:
            continue
        value = settings[name].value
        if not fits(value):
            what = f"c.{name} is {value!r}, not {wanted}"
            raise SpecError(what, where=settings[name].where, fix=f"make it {wanted}")
        if name in _DELIMITERS:
            pair = [*fields.get(field, getattr(CourseConfig(), field))]
            pair[_DELIMITERS[name][1]] = value
            value = tuple(pair)
        elif field == "cell_seconds":  # as in nbclient, 0 and negative numbers mean no limit
            value = float(value) if value is not None and value > 0 else None
        fields[field] = value["python"] if isinstance(value, dict) else value
    return fields
