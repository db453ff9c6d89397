"""The stages in their order: what the commands do."""

from grader.pipeline.by_hand import give_points, waiting, withdraw_points
from grader.pipeline.checking import Checked, check
from grader.pipeline.coverage import Coverage, coverage
from grader.pipeline.grading import Rescored, Run, Settings, grade, rescore
from grader.pipeline.releases import (
    Made,
    Preview,
    key_data,
    make_release,
    preview,
    solve,
    write_notebooks,
)
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
    "waiting",
    "withdraw_points",
    "write_notebooks",
    "write_results",
]
