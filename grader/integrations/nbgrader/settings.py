"""A course's `nbgrader_config.py` or `.json`, read without running it."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from grader.errors import Location, SpecError
from grader.integrations.nbgrader.assignment import CourseConfig

_NAMES = frozenset({"c", "get_config", "load_subconfig", "exec", "eval", "globals", "vars"})
"""Names by which a statement can change a setting; statements without them are skipped."""
_HOW = "write the setting as one line with a plain value, such as `c.Execute.timeout = 60`"


_BROKEN = "correct it; nbgrader can't read it either"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The value of `c.SECTION.NAME` and its location."""

    value: object
    where: Location
    literal: bool = True
    """Whether the value is a literal."""


Settings = Mapping[tuple[str, str], Setting]
"""By section and name, such as `("Execute", "timeout")`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseSettings:
    """What a course's configuration files mean for grading."""

    config: CourseConfig = field(default_factory=CourseConfig)
    notes: tuple[str, ...] = ()
    """Settings that may change marks in nbgrader and are not applied here."""
    file: str = ""
    """The configuration file; empty if there is none."""


def parse_python(text: str, file: str) -> Settings:
    """The settings in a Python configuration file; raises SpecError with the place.

    Nothing is executed: only `c.SECTION.NAME = VALUE` with a literal value is understood. Imports
    and helper variables are skipped.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        place = Location(file, getattr(error, "lineno", None), getattr(error, "offset", None))
        what = f"not Python: {getattr(error, 'msg', None) or error}"
        raise SpecError(what, where=place, fix=_BROKEN) from None
    found: dict[tuple[str, str], Setting] = {}
    for statement in tree.body:
        found.update(_read_statement(statement, file))
    return found


def _read_statement(statement: ast.stmt, file: str) -> Iterator[tuple[tuple[str, str], Setting]]:
    where = Location(file, statement.lineno, statement.col_offset + 1)
    if isinstance(statement, ast.Assign):
        if ast.unparse(statement) == "c = get_config()":
            return
        names = [_setting_name(target) for target in statement.targets]
        if all(names) and not _mentions_config(statement.value):
            value, literal = _literal_value(statement.value)
            for name in names:
                if name:
                    yield name, Setting(value=value, where=where, literal=literal)
            return
    if _mentions_config(statement):
        raise SpecError(
            "this statement may change settings, and the file is read without running it",
            where=where,
            fix=_HOW,
        )


def _setting_name(target: ast.expr) -> tuple[str, str] | None:
    """Section and name of `c.SECTION.NAME`; None for anything else."""
    if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Attribute):
        section = target.value
        if isinstance(section.value, ast.Name) and section.value.id == "c":
            return section.attr, target.attr
    return None


def _mentions_config(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Name) and one.id in _NAMES for one in ast.walk(node))


def _literal_value(node: ast.expr) -> tuple[object, bool]:
    """The value of a literal, or of `dict(name=literal)`; and whether it is one."""
    try:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args:
            pairs = {k.arg: ast.literal_eval(k.value) for k in node.keywords if k.arg}
            return pairs, node.func.id == "dict" and len(pairs) == len(node.keywords)
        return ast.literal_eval(node), True
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None, False


def parse_json(text: str, file: str) -> Settings:
    """The settings in a JSON configuration file; raises SpecError."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        place = Location(file, getattr(error, "lineno", None), getattr(error, "colno", None))
        what = f"not JSON: {getattr(error, 'msg', None) or error}"
        raise SpecError(what, where=place, fix=_BROKEN) from None
    where = Location(file)
    if not isinstance(data, dict):
        raise SpecError("not an object of settings", where=where, fix='such as {"Execute": {}}')
    return {
        (section, name): Setting(value=value, where=where)
        for section, values in data.items()
        if isinstance(values, dict)
        for name, value in values.items()
    }


# The settings that grading here knows. nbgrader's own spelling is "delimeter".
_STUB, _TEXT = ("ClearSolutions", "code_stub"), ("ClearSolutions", "text_stub")
_STRICT = ("ClearSolutions", "enforce_metadata")
_REGIONS = {
    "solution": ("ClearSolutions", "begin_solution_delimeter", "end_solution_delimeter"),
    "hidden": ("ClearHiddenTests", "begin_test_delimeter", "end_test_delimeter"),
    "scheme": (
        "ClearMarkScheme",
        "begin_mark_scheme_delimeter",
        "end_mark_scheme_delimeter",
    ),
}
# The classes that Execute inherits its settings from, the most specific last.
_EXECUTE = ("NotebookClient", "ExecutePreprocessor", "Execute")
_HONORED = {
    _STUB, _TEXT, _STRICT,
    *((section, name) for section, *both in _REGIONS.values() for name in both),
    *((section, "timeout") for section in _EXECUTE),
}  # fmt: skip

_REFUSED = {
    ("IgnorePattern", "enabled"): "it drops warnings that would otherwise cost a test its points",
    ("InstantiateTests", "autotest_delimiter"): "tests that nbgrader generates are not run here",
    ("InstantiateTests", "hashed_delimiter"): "tests that nbgrader generates are not run here",
    ("GenerateAssignment", "preprocessors"): "nbgrader's own steps are the ones that run here",
    ("Autograde", "sanitize_preprocessors"): "nbgrader's own steps are the ones that run here",
    ("Autograde", "autograde_preprocessors"): "nbgrader's own steps are the ones that run here",
    **{
        (section, "timeout_func"): "a function of each cell can't be read without running it"
        for section in _EXECUTE
    },
    **{(section, "skip_cells_with_tag"): "every cell is run here" for section in _EXECUTE},
}
"""Settings that change marks and can't be applied, with the reason."""
_STEPS = (
    "NbGraderPreprocessor", "ClearSolutions", "OverwriteCells", "Execute", "ExecutePreprocessor",
    "SaveCells", "SaveAutoGrades", "ComputeChecksums", "DeduplicateIds",
)  # fmt: skip
"""Steps that can be switched off by `enabled`, and that always run here."""
_NOTED = {
    ("OverwriteCells", "add_missing_cells"): "a graded cell that is missing waits for a person",
    ("LateSubmissionPlugin", "penalty_method"): "late penalties are not supported",
    ("AssignLatePenalties", "plugin_class"): "late penalties are not supported",
    ("IncludeHeaderFooter", "header"): "graded cells in that notebook are not graded",
    ("IncludeHeaderFooter", "footer"): "graded cells in that notebook are not graded",
    ("Autograde", "exclude_overwriting"): "files of the source replace those of students",
    **{
        (section, name): "it is not applied"
        for section in _EXECUTE
        for name in ("kernel_name", "extra_arguments", "interrupt_on_timeout", "startup_timeout")
    },
}
"""Settings that may change marks in rare cases, with what happens here."""


def interpret_settings(settings: Settings, file: str = "") -> CourseSettings:
    """Returns what *settings*, read from *file*, mean for grading.

    Raises SpecError for a setting that changes marks and can't be applied.
    """
    notes = []
    for (section, name), setting in settings.items():
        if not setting.literal and ((section, name) in _HONORED or _changes_marks(section, name)):
            what = f"the value of c.{section}.{name} would have to be computed"
            raise SpecError(what, where=setting.where, fix=_HOW)
        if not setting.value and (section, name) not in _HONORED and name != "enabled":
            continue  # such as an empty pattern: nbgrader's default
        if reason := _refusal_reason(section, name, setting):
            raise SpecError(
                f"c.{section}.{name} changes marks and is not supported here: {reason}",
                where=setting.where,
                fix="remove it, or use nbgrader to grade this course",
            )
        if (section, name) in _NOTED:
            text = f"c.{section}.{name} is not supported: {_NOTED[section, name]}"
            notes.append(f"{text} ({setting.where})")
    return CourseSettings(config=_course_config(settings), notes=tuple(notes), file=file)


def _changes_marks(section: str, name: str) -> bool:
    return (section, name) in _REFUSED or (name == "enabled" and section in _STEPS)


def _refusal_reason(section: str, name: str, setting: Setting) -> str | None:
    """Returns why the setting is refused; None if it is not."""
    if name == "enabled" and section in _STEPS:
        return None if setting.value is True else "this step always runs here"
    if (section, name) == ("IgnorePattern", "enabled") and setting.value is not True:
        return None
    return _REFUSED.get((section, name))


def _course_config(settings: Settings) -> CourseConfig:
    usual = CourseConfig()

    def text(name: tuple[str, str], default: str) -> str:
        return str(_checked_value(settings, name, default, _is_text, "a text that is not empty"))

    regions = {
        what: (text((section, begin), default[0]), text((section, end), default[1]))
        for what, (section, begin, end) in _REGIONS.items()
        for default in [getattr(usual, what)]
    }
    strict = _checked_value(settings, _STRICT, True, lambda v: isinstance(v, bool), "True or False")
    return CourseConfig(
        code_stub=_code_stub(settings, usual.code_stub),
        text_stub=str(_checked_value(settings, _TEXT, usual.text_stub, _is_any_text, "a text")),
        require_solution_cells=bool(strict),
        cell_seconds=_cell_seconds(settings, usual.cell_seconds),
        **regions,
    )


def _is_any_text(value: object) -> bool:
    return isinstance(value, str)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _code_stub(settings: Settings, default: str) -> str:
    def fits(value: object) -> bool:
        return isinstance(value.get("python") if isinstance(value, dict) else value, str)

    value = _checked_value(settings, _STUB, default, fits, 'a text, or {"python": "..."}')
    return str(value["python"] if isinstance(value, dict) else value)


def _cell_seconds(settings: Settings, default: float | None) -> float | None:
    """Seconds per cell; 0, a negative number and None mean no limit, as in nbclient."""

    def fits(value: object) -> bool:
        return value is None or (isinstance(value, int | float) and not isinstance(value, bool))

    seconds: object = default
    for section in _EXECUTE:
        seconds = _checked_value(settings, (section, "timeout"), seconds, fits, "seconds, or None")
    return float(seconds) if isinstance(seconds, int | float) and seconds > 0 else None


def _checked_value(
    settings: Settings,
    name: tuple[str, str],
    default: object,
    fits: Callable[[object], bool],
    wanted: str,
) -> object:
    setting = settings.get(name)
    if setting is None:
        return default
    if not fits(setting.value):
        what = f"c.{'.'.join(name)} is {setting.value!r}, not {wanted}"
        raise SpecError(what, where=setting.where, fix=f"make it {wanted}")
    return setting.value
