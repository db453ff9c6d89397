"""One submission on Gradescope's machine: from its metadata and files to `results.json`."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grader.errors import GraderError, SetupError, SubmissionError
from grader.files import write_atomic
from grader.grading.settings import Settings
from grader.integrations.github.autograding import grade_notebook
from grader.integrations.gradescope.image import RELEASE, SETTINGS, RunSettings, time_limit
from grader.integrations.gradescope.network import has_loopback, leave_open, network_problems
from grader.integrations.gradescope.notebooks import ChosenNotebook, choose_notebook
from grader.integrations.gradescope.people import SubmitterFinder, submitter_names
from grader.integrations.gradescope.results import (
    FILE,
    TextFormat,
    Tiers,
    Visibility,
    counted_runs,
    earlier_counted_runs,
    rate_refusal,
    results_json,
    ungraded_result,
)
from grader.model import Limits, Release
from grader.model.exported import Result
from grader.release.file import load_release
from grader.text.escape import to_one_line
from grader.words import counted, points

OURS_MB, OURS_WITH_TORCH_MB = 300, 550
"""Megabytes of the container's memory that are reserved for the grader, the parent process of
kernels, and a kernel before its first cell. With torch, the first two import it as well, because
the grader runs the solution on hidden inputs."""
LEAST_MB = 200
"""Megabytes that student code gets at least."""
CELL_SECONDS = 60.0
SHARE = 0.6
"""Share of the time for the notebook's cells; the rest is for startup and hidden cases."""

log = logging.getLogger("grader.gradescope")
log.addHandler(logging.NullHandler())


def _run_settings(how: RunSettings, share: int) -> Settings:
    """Returns the settings for each of *share* runs, which together must fit into the time."""
    whole = SHARE * time_limit(how.minutes) / share
    ours = OURS_WITH_TORCH_MB if how.torch else OURS_MB
    return Settings(
        limits=Limits(
            cell_seconds=min(CELL_SECONDS, whole),
            notebook_seconds=whole,
            memory_bytes=max(LEAST_MB, how.container_mb - ours) * 1_000_000,
        ),
        executor="inline",
        sandbox=how.sandbox,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AutograderOutput:
    """The result of one autograder run."""

    data: bytes
    """Content of `results.json`."""
    sentence: str
    """Printed by the autograder, which only the instructor sees."""


def autograde(root: Path) -> AutograderOutput:
    """Grades the submission in *root*, and writes its `results/results.json`.

    Does not raise: if the submission can't be graded, or an internal error occurs, the file says
    so and has no score.
    """
    metadata: Mapping[str, Any] = {}
    try:
        metadata = _read_metadata(root)
        done = _grade_submission(root, _load_settings(root / "source"), metadata)
    except SubmissionError as error:
        said = ". ".join(one.removesuffix(".") for one in (error.what, error.fix) if one)
        done = _ungraded_output(f"Not graded: {said}.", metadata)
    except Exception as error:
        if not isinstance(error, GraderError):
            log.exception("grading failed")
        sentence = (
            "Your submission could not be graded because of an internal error. This is not your "
            "fault, and no points are deducted. Tell your instructor."
        )
        done = replace(_ungraded_output(sentence, metadata), sentence=f"not graded: {error}")
    write_atomic(root / "results" / FILE, done.data)
    return done


def _grade_submission(
    root: Path, how: RunSettings, metadata: Mapping[str, Any]
) -> AutograderOutput:
    if how.rate is not None:
        soon = rate_refusal(metadata, most=how.rate[0], minutes=how.rate[1])
        if soon is not None:
            return AutograderOutput(data=soon.results_json(), sentence=soon.sentence)
    source = root / "source" / RELEASE
    release = load_release(source)
    students = SubmitterFinder(release.students).of(metadata)
    if not students:
        who = submitter_names(metadata)
        return _ungraded_output(
            f"Not graded: the exam has no notebook for {who}. No points are deducted. Ask your "
            "instructor to add this e-mail or number to the roster, render the exam again, and "
            "upload the new autograder.",
            metadata,
        )
    versions = {release.students[student].version for student in students} - {""}
    chosen = choose_notebook(root / "submission", release.id, students, versions)
    if chosen is None:
        return _ungraded_output(
            "Not graded: your submission contains no notebook. Submit the file that ends in "
            ".ipynb.",
            metadata,
        )
    return _grade_notebook(release, source, how, metadata, students, chosen)


def _grade_notebook(
    release: Release,
    source: Path,
    how: RunSettings,
    metadata: Mapping[str, Any],
    students: Sequence[str],
    chosen: ChosenNotebook,
) -> AutograderOutput:
    # A group submits one notebook, which has the numbers of one member.
    whose = [chosen.student] if chosen.student is not None else list(students)
    settings = _run_settings(how, len(whose))
    results = [
        grade_notebook(chosen.data, student, source, settings, published=how.solutions)
        for student in whose
    ]
    if network_problems(release) and not has_loopback(how.sandbox):
        results = [leave_open(one, release) for one in results]
    best = max(results, key=lambda one: one.feedback.score)
    counted = counted_runs(metadata, minutes=how.rate[1]) if how.rate else ()
    above = tuple(filter(None, (chosen.note, _group_note(best, students))))
    data = results_json(
        best, tiers=how.tiers, text_format=how.text_format, counted=counted, above=above
    )
    return AutograderOutput(data=data, sentence=_total_sentence(best))


def _total_sentence(result: Result) -> str:
    """The total, and why parts are open, if any are."""
    shown = result.feedback
    told = f"{shown.student.id}: {points(shown.score)} of {points(shown.max_score)} points"
    parts = [part for problem in shown.problems for part in problem.parts if part.points is None]
    if not parts:
        return told
    count = counted(len(parts), "part is", "parts are")
    return f"{told}; {count} open. {parts[0].name}: {to_one_line(parts[0].why, 200)}"


def _group_note(best: Result, students: Sequence[str]) -> str:
    if len(students) < 2:
        return ""
    return f"Graded with the numbers of {best.feedback.student.id}, for the whole group."


def _ungraded_output(sentence: str, metadata: Mapping[str, Any]) -> AutograderOutput:
    """A result without a score, which does not count toward the submission limit."""
    try:
        counted = earlier_counted_runs(metadata)
    except SetupError:
        counted = ()
    return AutograderOutput(data=ungraded_result(sentence, counted=counted), sentence=sentence)


def _read_metadata(root: Path) -> Mapping[str, Any]:
    path = root / "submission_metadata.json"
    return _read_json(path, "run this in Gradescope's container, which provides the file")


def _load_settings(source: Path) -> RunSettings:
    path = source / SETTINGS
    data = _read_json(path, "upload the zip that `grader classroom gradescope` writes")
    try:
        return RunSettings(
            tiers=Tiers(**{name: Visibility(tier) for name, tier in data["tiers"].items()}),
            solutions=bool(data["solutions"]),
            text_format=TextFormat(data["text"]),
            rate=(int(data["rate"][0]), float(data["rate"][1])) if data["rate"] else None,
            minutes=float(data["minutes"]),
            memory_mb=int(data["memory_mb"]),
            torch=bool(data["torch"]),
            sandbox=str(data["sandbox"]),
        )
    except (KeyError, TypeError, ValueError, IndexError):
        raise SetupError(
            "the settings are not in the expected format",
            where=str(path),
            fix="upload the zip that `grader classroom gradescope` writes",
        ) from None


def _read_json(path: Path, fix: str) -> Mapping[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError):
        data = None
    if not isinstance(data, dict):
        raise SetupError("the file is missing or is not JSON", where=str(path), fix=fix)
    return data
