"""The stages in their order: what the commands do."""

from importlib import import_module
from typing import TYPE_CHECKING

# Not put off, as the module and the function have the same name.
from grader.pipeline.coverage import Coverage, coverage

if TYPE_CHECKING:
    from grader.pipeline.by_hand import give_points, waiting, withdraw_points
    from grader.pipeline.checking import Checked, check
    from grader.pipeline.grading import Run, Settings, grade
    from grader.pipeline.releases import (
        Made,
        Preview,
        key_data,
        make_release,
        preview,
        solve,
        write_notebooks,
    )
    from grader.pipeline.rescoring import Rescored, rescore, verify_changed
    from grader.pipeline.results import Written, set_published, write_results

__all__ = [
    "Checked",
    "Coverage",
    "Made",
    "Preview",
    "Rescored",
    "Run",
    "Settings",
    "Written",
    "check",
    "coverage",
    "give_points",
    "grade",
    "key_data",
    "make_release",
    "preview",
    "rescore",
    "set_published",
    "solve",
    "verify_changed",
    "waiting",
    "withdraw_points",
    "write_notebooks",
    "write_results",
]

# A command loads what it needs: the store alone takes longer than showing a problem.
_MODULES = {
    "by_hand": ("give_points", "waiting", "withdraw_points"),
    "checking": ("Checked", "check"),
    "grading": ("Run", "Settings", "grade"),
    "releases": (
        *("Made", "Preview", "key_data", "make_release", "preview", "solve"),
        "write_notebooks",
    ),
    "rescoring": ("Rescored", "rescore", "verify_changed"),
    "results": ("Written", "set_published", "write_results"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
