"""The settings of an nbgrader course, from the configuration files beside its folders."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from grader.errors import Location, SetupError, SpecError
from grader.model.assignment import CourseConfig
from grader.notebook.nbgrader_cells import Setting, parsed_json, parsed_python, understood

_FILES = {"nbgrader_config.py": parsed_python, "nbgrader_config.json": parsed_json}
"""As traitlets reads them: the JSON file has the last word."""
_ABOVE = 4
"""Folders that are looked into: `source/ps1`, `source`, the course, and the one that holds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What a course's configuration files say."""

    config: CourseConfig = field(default_factory=CourseConfig)
    notes: tuple[str, ...] = ()
    file: str = ""
    """The file that says it; empty where there is none."""


def load_course(folder: Path) -> Course:
    """The settings that hold for *folder*: those of the nearest folder above with a file of them.

    Raises SpecError for a file that can't be understood without running it.
    """
    folder = folder.absolute()
    for above in (folder, *folder.parents)[:_ABOVE]:
        files = [above / name for name in _FILES if (above / name).is_file()]
        if files:
            settings: dict[tuple[str, str], Setting] = {}
            for file in files:
                settings.update(_FILES[file.name](_text(file), str(file)))
            found = understood(settings)
            return Course(config=found.config, notes=found.notes, file=str(files[-1]))
    return Course()


def require_usual_regions(folder: Path) -> None:
    """Raises SetupError where nbgrader would not find the regions of an exported notebook.

    It would hand out the solutions then.
    """
    course, usual = load_course(folder), CourseConfig()
    for what in ("solution", "hidden", "scheme"):
        mine, wanted = getattr(course.config, what), getattr(usual, what)
        if mine != wanted:
            raise SetupError(
                f"this course marks regions by '{mine[0]}', and an export by '{wanted[0]}', so "
                "nbgrader would leave solutions in what it hands out",
                where=course.file,
                fix="remove that setting, or export into the folder of another course",
            )


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        what = f"can't read the settings of the course: {error.strerror}"
        raise SpecError(what, where=Location(str(file)), fix="check its permissions") from None
    except UnicodeDecodeError:
        what = "the settings of the course are not UTF-8"
        raise SpecError(what, where=Location(str(file)), fix="save the file as UTF-8") from None
