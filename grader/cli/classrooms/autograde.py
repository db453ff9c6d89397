"""`grader classroom autograde`: the command that Classroom 50's autograder.py calls."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.options import CELL_SECONDS, NOTEBOOK_SECONDS, SANDBOX, print_notes
from grader.cli.parameters import EXISTING_FILE, option, subcommand
from grader.errors import SetupError, SubmissionError

if TYPE_CHECKING:
    from grader.integrations.github.classroom50 import SubmissionIdentity
    from grader.model import Limits
    from grader.model.exported import Exported, Result

_PUBLIC = (
    "These are the public checks only: they show that an answer is there and how it is read, "
    "not that it is correct. Their points are not the grade."
)


@subcommand(
    "autograde",
    "grader classroom autograde midterm.ipynb                     # the public checks",
    "GRADER_PACK_KEY=… grader classroom autograde midterm.ipynb --pack exam.pack",
)
def command(
    notebook: Path,
    pack: Path | None = option(
        None,
        type=EXISTING_FILE,
        help="Sealed pack to grade with; opened with the key in GRADER_PACK_KEY.",
    ),
    scale: int = option(100, least=1, most=10_000, help="Classroom 50 points per exam point."),
    cell_seconds: float = CELL_SECONDS,
    notebook_seconds: float = NOTEBOOK_SECONDS,
    sandbox: str = SANDBOX,
) -> None:
    """Write Classroom 50's result.json and release-body.md for the checkout in this folder.

    The environment that the runner sets identifies the student. With a pack, the hidden tests are
    run; parts that can't be graded here are left out of the points and listed. Without a pack, only
    the public checks are run. Exits 0 whatever the score.
    """
    from grader.integrations.exporting import append_text, move_folders_aside, write_exported
    from grader.integrations.github.actions import step_outputs
    from grader.integrations.github.autograding import commit_time, require_no_links
    from grader.integrations.github.classroom50 import read_identity, result_files, runner_outputs
    from grader.model import Limits

    here, whose = Path.cwd(), read_identity(os.environ)
    limits = Limits(cell_seconds=cell_seconds, notebook_seconds=notebook_seconds)
    when = commit_time(here)
    require_no_links(notebook)
    if pack is None:
        exported, values = _check_publicly(notebook, whose, limits, when, scale)
    else:
        result = _grade_with_pack(notebook, whose.owner, pack, limits, sandbox)
        exported = result_files(result, whose, scale=scale, leave_out=True, submitted_at=when)
        values = runner_outputs(result, scale=scale, leave_out=True)
    moved = move_folders_aside(exported, here)
    write_exported(exported, here)
    if os.environ.get("GITHUB_OUTPUT"):
        append_text(Path(os.environ["GITHUB_OUTPUT"]), step_outputs(values))
    print_notes([*moved, *exported.notes])
    click.echo(values["summary"])


def _check_publicly(
    notebook: Path, whose: SubmissionIdentity, limits: Limits, when: str, scale: int
) -> tuple[Exported, dict[str, str]]:
    """Returns Classroom 50's files, and the outputs for its runner."""
    from grader.cli.check_steps import step_summary
    from grader.collect.check.run import check
    from grader.integrations.github import classroom50
    from grader.integrations.github.autograding import answer_test, public_test
    from grader.model.exported import Exported

    body = ""
    try:
        checked = check(notebook, limits)
        tests = [answer_test(line, scale) for line in checked.lines]
        body = f"{step_summary(checked)}\n"
    except SubmissionError as error:
        # An unreadable notebook is the student's, so it gets a result like any other.
        tests = [public_test("notebook: can be read", False, error.what, scale)]
    files = {
        classroom50.RESULT: classroom50.result_json(whose, tests, when),
        classroom50.BODY: f"{body}{_PUBLIC}\n".encode("utf-8", "replace"),
    }
    values = classroom50.outputs_of(tests)
    values["summary"] = f"public checks only: {values['summary']}"
    return Exported(files=files), values


def _grade_with_pack(
    notebook: Path, student: str, pack: Path, limits: Limits, sandbox: str
) -> Result:
    """Returns the student's result. Raises SetupError if *notebook* is not a notebook."""
    from grader.grading.settings import Settings
    from grader.integrations.github.autograding import grade_submission
    from grader.runtime.sandbox import choose_sandbox

    if sandbox == "auto":
        sandbox = "required"  # the key is on this machine
    choose_sandbox(sandbox)  # raises for a missing layer before anything runs
    graded = grade_submission(notebook, student, pack, Settings(limits=limits, sandbox=sandbox))
    if graded is None:
        raise SetupError("this is not a notebook", where=str(notebook), fix="pass its path")
    return graded.result
