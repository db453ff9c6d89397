"""Reads the settings of an nbgrader course from its configuration files."""

from __future__ import annotations

from pathlib import Path

from grader.errors import Location, SetupError, SpecError
from grader.integrations.nbgrader.assignment import CourseConfig
from grader.integrations.nbgrader.settings import (
    CourseSettings,
    Setting,
    interpret_settings,
    parse_json,
    parse_python,
)

_FILES = {"nbgrader_config.py": parse_python, "nbgrader_config.json": parse_json}
"""In traitlets' order: the JSON file overrides the Python file."""
_ABOVE = 4
"""Number of folders to search: `source/ps1`, `source`, the course, and its parent."""


def load_course(folder: Path) -> CourseSettings:
    """The settings for *folder*, from the nearest enclosing folder with a configuration file.

    Raises SpecError for a file that can't be evaluated without running it.
    """
    folder = folder.absolute()
    for above in (folder, *folder.parents)[:_ABOVE]:
        files = [above / name for name in _FILES if (above / name).is_file()]
        if files:
            settings: dict[tuple[str, str], Setting] = {}
            for file in files:
                settings.update(_FILES[file.name](_read_text(file), str(file)))
            return interpret_settings(settings, str(files[-1]))
    return CourseSettings()


def require_usual_regions(folder: Path) -> None:
    """Raises SetupError if nbgrader would not find the regions of an exported notebook.

    It would then release the solutions to students.
    """
    course, usual = load_course(folder), CourseConfig()
    for what in ("solution", "hidden", "scheme"):
        mine, wanted = getattr(course.config, what), getattr(usual, what)
        if mine != wanted:
            raise SetupError(
                f"this course marks regions with '{mine[0]}', and an export with '{wanted[0]}', so "
                "nbgrader would release solutions to students",
                where=course.file,
                fix="remove that setting, or export into the folder of another course",
            )


def _read_text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        what = f"can't read the settings of the course: {error.strerror}"
        raise SpecError(what, where=Location(str(file)), fix="check its permissions") from None
    except UnicodeDecodeError:
        what = "the settings of the course are not UTF-8"
        raise SpecError(what, where=Location(str(file)), fix="save the file as UTF-8") from None
