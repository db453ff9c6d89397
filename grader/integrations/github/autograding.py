"""Grades one submission on a class's runner, with a sealed pack or with the public checks."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from grader.collect.check.run import AnswerLine
from grader.errors import GraderError, SetupError
from grader.grading.results import set_published
from grader.grading.run import grade
from grader.grading.settings import Settings
from grader.integrations.exporting import class_results
from grader.integrations.repositories.git import Git
from grader.model.exported import Result
from grader.text.escape import escape_controls, neutralize_line


def require_no_links(path: Path) -> None:
    """Raises SetupError if *path* contains a symbolic link, which a student can commit.

    A relative path may lead above the current folder with `..`. Of an absolute path, only the
    last component is checked.
    """
    steps = [path] if path.is_absolute() else list(_path_steps(path))
    linked = next((step for step in steps if step.is_symlink()), None)
    if linked is not None:
        what = "the notebook" if linked == steps[-1] else f"the notebook's folder '{linked.name}'"
        raise SetupError(
            f"{what} is a symbolic link",
            where=str(path),
            fix="commit the notebook itself",
        )


def _path_steps(path: Path) -> Iterator[Path]:
    """Yields the paths from the current folder to *path*; `..` leads back to the previous one."""
    here = Path.cwd().resolve()
    for part in path.parts:
        here = here.parent if part == ".." else here / part
        yield here


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedSubmission:
    """What a student may see of one submission."""

    result: Result
    notes: tuple[str, ...]
    """Which of several notebooks was graded."""


def grade_submission(
    submission: Path, student: str, release: Path, settings: Settings, published: bool = False
) -> GradedSubmission | None:
    """Grades *submission*, a notebook or a folder; returns None if the folder has no notebook.

    *release* may be a pack. Raises SetupError for an unknown student or an unreadable file.
    """
    unknown = SetupError(
        f"the release has no student '{student}'",
        fix="render and seal it again with a roster that has the students' names on this platform",
    )
    if Path(student).name != student:  # it would lead outside of the folder
        raise unknown
    with tempfile.TemporaryDirectory(prefix="grader-one-") as folder:
        handed, out = Path(folder) / "submissions", Path(folder) / "results"
        _copy_submission(submission, handed / student)
        (handed / "submitted").touch()  # so that a submission without files is not an error
        run = grade(handed, release, out, settings)
        if not run.collection.submissions:
            if submission.is_dir():
                return None
            raise unknown
        if published:
            set_published(out, True)
        collected = run.collection.submissions[0]
        infos = (n for n in run.notices if n.level == "info")
        return GradedSubmission(
            result=class_results(out, [collected.student]).results[0],
            notes=tuple(n.text for n in infos if collected.path.endswith(n.path)),
        )


def _copy_submission(submission: Path, target: Path) -> None:
    """Copies *submission* to *target*. Raises SetupError for a notebook that can't be read."""
    if submission.is_dir():
        shutil.copytree(submission, target, symlinks=True)
        return
    target.mkdir(parents=True)
    try:
        shutil.copyfile(submission, target / "notebook.ipynb", follow_symlinks=False)
    except OSError as error:
        raise SetupError(
            f"can't read the notebook: {(error.strerror or 'it does not exist').lower()}",
            where=str(submission),
            fix="pass the path of the notebook in the student's repository",
        ) from None


def public_test(name: str, passes: bool, why: str, scale: int) -> dict[str, Any]:
    """Returns a public check for Classroom 50; one point, because it does not judge the answer."""
    return {
        "test-name": neutralize_line(f"{name} (public check only)"),
        "passed": passes,
        "score": scale if passes else 0,
        "max-score": scale,
        "points": 1.0 if passes else 0.0,
        "max-points": 1.0,
        "message": escape_controls(why),
    }


def answer_test(line: AnswerLine, scale: int) -> dict[str, Any]:
    """Returns the entry of the public check of one answer."""
    what = "visible examples pass" if line.example_results else "exists and can be read"
    why = "; ".join([line.text, *(tried.fault for tried in line.example_results if tried.fault)])
    return public_test(f"{line.name}: {what}", line.passes, why, scale)


def commit_time(folder: Path) -> str:
    """Returns the time of the commit checked out in *folder*, in ISO 8601; now if git fails."""
    try:
        # The folder is a student's: a bare repository inside it must not be used, and settings
        # that name programs must have no effect.
        command = ["-c", "safe.bareRepository=explicit", "show", "-s", "--no-show-signature"]
        return Git(folder, ours=False).line(*command, "--format=%cI", "HEAD")
    except GraderError:
        return datetime.now(UTC).isoformat(timespec="seconds")
