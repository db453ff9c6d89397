"""Grades one submission on a class's runner, with a sealed pack or with the public checks."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from grader.check.run import AnswerLine, CheckResult
from grader.errors import GraderError, SetupError
from grader.files import write_atomic
from grader.grading.results import set_published
from grader.grading.run import grade
from grader.grading.settings import Settings
from grader.integrations.exporting import class_results
from grader.integrations.github.classroom50 import BODY, RESULT
from grader.integrations.repositories.git import Git
from grader.model import Audience, Student, Verdict
from grader.model.exported import Result
from grader.model.result import Feedback, ShownPart, ShownProblem, Standing
from grader.notebook import MAX_BYTES

_NUMBER = re.compile(r"q(\d{1,9})_", re.ASCII)


def grade_with_pack(notebook: Path, student: str, pack: Path, settings: Settings) -> Result:
    """Grades *notebook* with the release in *pack*; returns what *student* may see.

    Raises SetupError if the pack can't be opened or does not contain the student.
    """
    try:
        with require_no_links(notebook).open("rb") as file:
            data = file.read(MAX_BYTES + 1)  # enough for a longer file to be refused
    except OSError as error:
        raise SetupError(
            f"can't read the notebook: {(error.strerror or 'it does not exist').lower()}",
            where=str(notebook),
            fix="pass the path of the notebook in the student's repository",
        ) from None
    return grade_notebook(data, student, pack, settings)


def require_no_links(path: Path) -> Path:
    """Returns *path*. Raises SetupError if it contains a symbolic link, which a student can commit.

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
    return path


def _path_steps(path: Path) -> Iterator[Path]:
    """The paths from the current folder to *path*, one per component.

    If none of them is a link, `..` leads back to the previous folder.
    """
    here = Path.cwd().resolve()
    for part in path.parts:
        here = here.parent if part == ".." else here / part
        yield here


def grade_notebook(
    data: bytes,
    student: str,
    release: Path,
    settings: Settings,
    *,
    published: bool = False,
) -> Result:
    """Grades the notebook in *data* in a temporary folder; returns what *student* may see.

    *release* may be a pack. Includes accepted answers if *published*. Raises SetupError for an
    unknown student.
    """
    unknown = SetupError(
        f"the release has no student '{student}'",
        fix="render and seal it again with a roster that has the students' names on this platform",
    )
    if Path(student).name != student:  # would be written outside the folder
        raise unknown
    with tempfile.TemporaryDirectory(prefix="grader-one-") as folder:
        handed, out = Path(folder) / "submissions", Path(folder) / "results"
        write_atomic(handed / f"{student}.ipynb", data)
        run = grade(handed, release, out, settings)
        if not run.collected.submissions:
            raise unknown
        known = run.collected.submissions[0].student
        if published:
            set_published(out, True)
        return class_results(out, [known]).results[0]


def public_result(checked: CheckResult, student: str, submitted_at: str) -> Result:
    """The public checks as a result: one point for each answer that exists and can be read.

    The result does not judge answers; its title and the names of its parts say so.
    """
    problems: dict[int, list[ShownPart]] = {}
    for line in checked.lines:
        found = _NUMBER.match(line.name)
        problems.setdefault(int(found[1]) if found else 0, []).append(_part_of_line(line))
    shown = tuple(
        ShownProblem(number=n, id=f"q{n}", title="public check only", parts=tuple(parts))
        for n, parts in sorted(problems.items())
    )
    exam = checked.about.exam
    feedback = _public_feedback(student, exam, checked.about.release, shown)
    return Result(
        feedback=feedback,
        submission_sha256=checked.sha256,
        submitted_at=submitted_at,
        seconds=checked.seconds,
    )


def unreadable_result(why: str, student: str, submitted_at: str) -> Result:
    """Returns the result of an unreadable notebook: one failed check, with the reason *why*."""
    part = _check_part("notebook", "notebook: can be read", False, why)
    problem = ShownProblem(number=0, id="notebook", title="public check only", parts=(part,))
    return Result(feedback=_public_feedback(student, "", "", (problem,)), submitted_at=submitted_at)


def _public_feedback(
    student: str, exam: str, release: str, problems: tuple[ShownProblem, ...]
) -> Feedback:
    return Feedback(
        student=Student(id=student),
        exam=exam or "exam",
        title=f"{exam or 'Exam'}, public checks only",
        release=release,
        standing=Standing.GRADED,
        audience=Audience.STUDENT,
        published=False,
        score=sum(problem.points for problem in problems),
        max_score=float(sum(len(problem.parts) for problem in problems)),
        complete=True,
        problems=problems,
    )


def _part_of_line(line: AnswerLine) -> ShownPart:
    what = "visible examples pass" if line.tried else "exists and can be read"
    faults = [tried.fault for tried in line.tried if tried.fault]
    why = "; ".join([line.text, *faults])
    return _check_part(line.name.partition("_")[2], f"{line.name}: {what}", line.passes, why)


def _check_part(part: str, name: str, passes: bool, why: str) -> ShownPart:
    return ShownPart(
        id=part,
        name=name,
        kind="public check",
        ask="",
        answer=None,
        verdict=Verdict.CORRECT if passes else Verdict.INCORRECT,
        mistake=None,
        why=why,
        look_at="",
        points=1.0 if passes else 0.0,
        max_points=1.0,
    )


def without_verdicts(files: Mapping[str, bytes], body: str) -> dict[str, bytes]:
    """Classroom 50's files for public checks: with *body*, without verdicts and answers."""
    data = json.loads(files[RESULT])
    for test in data["tests"]:
        for name in ("verdict", "answer"):
            test.pop(name, None)
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    return {**files, RESULT: text.encode(), BODY: body.encode("utf-8", "replace")}


def commit_time(folder: Path) -> str:
    """Time of the commit that is checked out in *folder*, in ISO 8601; now if git fails."""
    try:
        # The folder is a student's: a bare repository inside it must not be used, and settings
        # that name programs must have no effect.
        command = ["-c", "safe.bareRepository=explicit", "show", "-s", "--no-show-signature"]
        return Git(folder, ours=False).line(*command, "--format=%cI", "HEAD")
    except GraderError:
        return datetime.now(UTC).isoformat(timespec="seconds")
