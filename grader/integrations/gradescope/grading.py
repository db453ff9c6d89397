"""One submission on Gradescope's machine: from its metadata and files to `results.json`."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grader.errors import GraderError, SetupError, SubmissionError
from grader.files import write_whole
from grader.grading.settings import Settings
from grader.integrations.github.autograding import one_result
from grader.integrations.gradescope.image import RELEASE, SETTINGS, seconds
from grader.integrations.gradescope.network import has_loopback, left_open, talking
from grader.integrations.gradescope.notebooks import Chosen, choose
from grader.integrations.gradescope.people import People, named
from grader.integrations.gradescope.results import (
    FILE,
    TextFormat,
    Tiers,
    Visible,
    counted_before,
    counted_now,
    not_graded,
    results_json,
    too_soon,
)
from grader.model import Limits, Release
from grader.model.exported import Result
from grader.release.file import load_release
from grader.text.escape import one_line
from grader.words import counted, points

OURS_MB, OURS_WITH_TORCH_MB = 300, 550
"""Of the container's memory: for the grader, the parent of kernels, and a kernel before its first
cell. With torch, the first two import it as well: the grader runs the solution on hidden inputs."""
LEAST_MB = 200
"""For what student code needs of its own."""
CELL_SECONDS = 60.0
SHARE = 0.6
"""Of the time, for the cells of the notebook; the rest is for starting and for hidden cases."""

log = logging.getLogger("grader.gradescope")
log.addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True, kw_only=True)
class _How:
    """What `settings.json` of the zip says."""

    tiers: Tiers
    solutions: bool
    text_format: TextFormat
    rate: tuple[int, float] | None
    minutes: float
    memory_mb: int
    torch: bool
    sandbox: str

    def settings(self, share: int) -> Settings:
        """For one of *share* runs that have to fit into the time."""
        whole = SHARE * seconds(self.minutes) / share
        ours = OURS_WITH_TORCH_MB if self.torch else OURS_MB
        return Settings(
            limits=Limits(
                cell_seconds=min(CELL_SECONDS, whole),
                notebook_seconds=whole,
                memory_bytes=max(LEAST_MB, self.memory_mb - ours) * 1_000_000,
            ),
            jobs=1,
            executor="inline",
            sandbox=self.sandbox,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What came of it."""

    data: bytes
    """`results.json`."""
    sentence: str
    """For the instructor, who alone sees what the autograder prints."""


def autograde(root: Path) -> Done:
    """Grades what lies in *root*, and writes its `results/results.json`.

    Never raises for what a student or Gradescope did; for a fault of ours the file says so, and
    has no score.
    """
    metadata: Mapping[str, Any] = {}
    try:
        metadata = _metadata(root)
        done = _graded(root, _how(root / "source"), metadata)
    except SubmissionError as error:
        said = ". ".join(one.removesuffix(".") for one in (error.what, error.fix) if one)
        done = _nothing(f"Not graded: {said}.", metadata)
    except Exception as error:
        if not isinstance(error, GraderError):
            log.exception("grading failed")
        sentence = (
            "Your submission could not be graded. This is not your fault and costs no points: "
            "tell your instructor."
        )
        done = replace(_nothing(sentence, metadata), sentence=f"not graded: {error}")
    write_whole(root / "results" / FILE, done.data)
    return done


def _graded(root: Path, how: _How, metadata: Mapping[str, Any]) -> Done:
    if how.rate is not None:
        soon = too_soon(metadata, most=how.rate[0], minutes=how.rate[1])
        if soon is not None:
            return Done(data=soon.results_json(), sentence=soon.sentence)
    source = root / "source" / RELEASE
    release = load_release(source)
    students = People(release.students).of(metadata)
    if not students:
        who = named(metadata)
        return _nothing(
            f"Not graded: the exam has no notebook for {who}. This costs no points. Ask your "
            "instructor to put this e-mail, or this number, on the roster, to render the exam "
            "again, and to upload the autograder that is made of it.",
            metadata,
        )
    versions = {release.students[student].version for student in students} - {""}
    chosen = choose(root / "submission", release.id, students, versions)
    if chosen is None:
        return _nothing(
            "Not graded: there is no notebook in what you handed in. Hand in the file that ends "
            "in .ipynb.",
            metadata,
            score=0.0,
        )
    return _result(release, source, how, metadata, students, chosen)


def _result(
    release: Release,
    source: Path,
    how: _How,
    metadata: Mapping[str, Any],
    students: Sequence[str],
    chosen: Chosen,
) -> Done:
    # A group has one notebook, which has the numbers of one of them.
    whose = [chosen.student] if chosen.student is not None else list(students)
    settings = how.settings(len(whose))
    results = [
        one_result(chosen.data, student, source, settings, published=how.solutions)
        for student in whose
    ]
    if talking(release) and not has_loopback(how.sandbox):
        results = [left_open(one, release) for one in results]
    best = max(results, key=lambda one: one.feedback.score)
    counted = counted_now(metadata, minutes=how.rate[1]) if how.rate else ()
    above = tuple(filter(None, (chosen.note, _paper(best, students))))
    data = results_json(
        best, tiers=how.tiers, text_format=how.text_format, counted=counted, above=above
    )
    return Done(data=data, sentence=_sentence(best))


def _sentence(result: Result) -> str:
    """The total, and why there is less of it than could be."""
    shown = result.feedback
    told = f"{shown.student.id}: {points(shown.score)} of {points(shown.max_score)} points"
    parts = [part for problem in shown.problems for part in problem.parts if part.points is None]
    if not parts:
        return told
    count = counted(len(parts), "part is", "parts are")
    return f"{told}; {count} open, {parts[0].name} as: {one_line(parts[0].why, 200)}"


def _paper(best: Result, students: Sequence[str]) -> str:
    if len(students) < 2:
        return ""
    return f"Graded by the numbers of {best.feedback.student.id}, for all of you."


def _nothing(sentence: str, metadata: Mapping[str, Any], score: float | None = None) -> Done:
    """That nothing was graded; it does not count for the limit."""
    try:
        counted = counted_before(metadata)
    except SetupError:
        counted = ()
    return Done(data=not_graded(sentence, counted=counted, score=score), sentence=sentence)


def _metadata(root: Path) -> Mapping[str, Any]:
    path = root / "submission_metadata.json"
    return _json(path, "it is Gradescope's; run this where it lies")


def _how(source: Path) -> _How:
    path = source / SETTINGS
    data = _json(path, "upload the zip that `grader classroom gradescope` makes")
    try:
        return _How(
            tiers=Tiers(**{name: Visible(tier) for name, tier in data["tiers"].items()}),
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
            "the settings can't be understood",
            where=str(path),
            fix="upload the zip that `grader classroom gradescope` makes",
        ) from None


def _json(path: Path, fix: str) -> Mapping[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError):
        data = None
    if not isinstance(data, dict):
        raise SetupError("this is not there, or not JSON", where=str(path), fix=fix)
    return data
