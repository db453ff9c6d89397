"""One submission on Gradescope's machine: from its metadata and files to `results.json`."""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grader import notebook
from grader.collect.folder import read_file
from grader.errors import GraderError, SetupError
from grader.files import write_atomic
from grader.grading.settings import Settings
from grader.integrations.github.autograding import GradedSubmission, grade_submission
from grader.integrations.gradescope.autograder import (
    RELEASE,
    SETTINGS,
    RunSettings,
    network_problems,
)
from grader.integrations.gradescope.results import (
    FILE,
    Visibility,
    counted_runs,
    earlier_counted_runs,
    rate_refusal,
    results_json,
    ungraded_result,
)
from grader.model import Limits, Release, Student, Verdict
from grader.model.exported import Result
from grader.model.result import ShownPart
from grader.notebook.self_description import read_owner
from grader.release.file import load_release
from grader.runtime.sandbox import choose_sandbox
from grader.text.escape import to_one_line
from grader.text.words import count_of, count_points, points

OURS_MB, OURS_WITH_TORCH_MB = 300, 550
"""Megabytes of the container's memory that are reserved for the grader, the parent process of
kernels, and a kernel before its first cell. With torch, the first two import it as well, because
the grader runs the solution on hidden inputs."""
LEAST_MB = 200
CELL_SECONDS = 60.0
SHARE = 0.6
"""Share of the time for the notebook's cells; the rest is for startup and hidden cases."""

_NO_NETWORK = (
    "Your code communicates between processes over 127.0.0.1, which is not possible in this "
    "autograder. No points are deducted; your instructor grades this part elsewhere."
)

log = logging.getLogger("grader.gradescope")
log.addHandler(logging.NullHandler())


def _run_settings(how: RunSettings, runs: int) -> Settings:
    """Returns the settings for each of *runs* runs, which together must fit into the time."""
    whole = SHARE * how.time_limit / runs
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
    sentence: str
    """Printed by the autograder, which only the instructor sees."""


def autograde(root: Path) -> AutograderOutput:
    """Grades the submission in *root* and writes its `results/results.json`, whatever happens."""
    metadata: Mapping[str, Any] = {}
    try:
        metadata = _read_json(
            root / "submission_metadata.json",
            "run this in Gradescope's container, which provides the file",
        )
        output = _grade(root, _load_settings(root / "source"), metadata)
    except Exception as error:
        if not isinstance(error, GraderError):
            log.exception("grading failed")
        sentence = (
            "Your submission could not be graded because of an internal error. This is not your "
            "fault, and no points are deducted. Tell your instructor."
        )
        output = replace(_ungraded_output(sentence, metadata), sentence=f"not graded: {error}")
    write_atomic(root / "results" / FILE, output.data)
    return output


def _grade(root: Path, how: RunSettings, metadata: Mapping[str, Any]) -> AutograderOutput:
    """Returns the output for the submission in *root*; without a score if it can't be graded."""
    if how.limit is not None:
        refusal = rate_refusal(metadata, most=how.limit[0], minutes=how.limit[1])
        if refusal is not None:
            return AutograderOutput(data=refusal.results_json(), sentence=refusal.sentence)
    source, submission = root / "source" / RELEASE, root / "submission"
    release = load_release(source)
    students = find_submitters(release.students, metadata)
    if not students:
        return _ungraded_output(
            f"Not graded: the exam has no notebook for {_submitter_names(metadata)}. No points are "
            "deducted. Ask your instructor to add this e-mail or number to the roster, render the "
            "exam again, and upload the new autograder.",
            metadata,
        )
    # A group submits one notebook, which has the numbers of one member.
    named = set(_named_students(submission)) if len(students) > 1 else set()
    whose = [student for student in students if student in named] or students
    settings = _run_settings(how, len(whose))
    published = how.solutions is not None
    attempts = (grade_submission(submission, name, source, settings, published) for name in whose)
    graded = [attempt for attempt in attempts if attempt is not None]
    if not graded:
        return _ungraded_output(
            "Not graded: your submission contains no notebook. Submit the file that ends in "
            ".ipynb.",
            metadata,
        )
    if network_problems(release) and not has_loopback(how.sandbox):
        graded = [replace(one, result=leave_open(one.result, release)) for one in graded]
    best = max(graded, key=lambda one: one.result.feedback.score)
    runs = counted_runs(metadata, minutes=how.limit[1]) if how.limit else ()
    if best.result.feedback.total is None:
        runs = runs[:-1]  # a submission without a score does not count toward the limit
    above = tuple(_notes(best, students))
    data = results_json(best.result, tiers=how.tiers, counted=runs, above=above)
    return AutograderOutput(data=data, sentence=_total_sentence(best))


def _named_students(submission: Path) -> Iterator[str]:
    for path in [*submission.rglob("*.ipynb")][:20]:
        with suppress(GraderError, OSError):
            yield read_owner(notebook.read(read_file(path))).student


def _notes(best: GradedSubmission, students: Sequence[str]) -> Iterator[str]:
    yield from (f"{text}." for text in best.notes)
    if len(students) > 1:
        yield f"Graded with the numbers of {best.result.feedback.student.id}, for the whole group."


def _total_sentence(best: GradedSubmission) -> str:
    """Returns the total, and why parts are open, if any are."""
    shown = best.result.feedback
    total = f"{shown.student.id}: {points(shown.score)} of {count_points(shown.max_score)}"
    parts = [part for problem in shown.problems for part in problem.parts if part.points is None]
    if not parts:
        return total
    count = count_of(len(parts), "part is", "parts are")
    return f"{total}; {count} open. {parts[0].name}: {to_one_line(parts[0].why, 200)}"


def find_submitters(students: Mapping[str, Student], metadata: Mapping[str, Any]) -> list[str]:
    """Returns the ids of all submitters that are among *students*, without duplicates."""
    emails = _unique_ids((s.email, s.id) for s in students.values() if s.email)
    ids = _unique_ids((name, name) for name in students)
    # If the roster has an e-mail, only it counts: another domain is another person.
    bare = {name: student for name, student in ids.items() if not students[student].email}
    submitters = []
    for user in _list_users(metadata):
        email, number = _fold_text(user.get("email")), _fold_text(user.get("id"))
        local = bare.get(email.partition("@")[0])
        submitters.append(emails.get(email) or ids.get(number) or ids.get(email) or local)
    return [name for name in dict.fromkeys(submitters) if name is not None]


def _submitter_names(metadata: Mapping[str, Any]) -> str:
    shown = (
        _fold_text(u.get("email")) or f"user {_fold_text(u.get('id'))}"
        for u in _list_users(metadata)
    )
    return ", ".join(shown) or "nobody"


def _list_users(metadata: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    listed = metadata.get("users")
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _fold_text(value: object) -> str:
    return str(value).strip().casefold() if isinstance(value, (str, int)) else ""


def _unique_ids(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Maps folded names to ids; drops names that two students share."""
    ids_by_key: dict[str, set[str]] = defaultdict(set)
    for name, student in pairs:
        ids_by_key[name.strip().casefold()].add(student)
    return {name: next(iter(ids)) for name, ids in ids_by_key.items() if len(ids) == 1}


def _ungraded_output(sentence: str, metadata: Mapping[str, Any]) -> AutograderOutput:
    """Returns a result without a score, which does not count toward the submission limit."""
    earlier: tuple[str, ...] = ()
    with suppress(SetupError):
        earlier = earlier_counted_runs(metadata)
    data = ungraded_result(sentence, counted=list(earlier))
    return AutograderOutput(data=data, sentence=sentence)


def _load_settings(source: Path) -> RunSettings:
    """Returns the settings in the folder *source*. Raises SetupError if they can't be read."""
    path, fix = source / SETTINGS, "upload the zip that `grader classroom gradescope` writes"
    data = _read_json(path, fix)
    try:
        tiers = {n: data[n] and Visibility(data[n]) for n in ("marks", "solutions", "output")}
        return RunSettings(**{**data, **tiers})
    except (KeyError, TypeError, ValueError):
        what = "the settings are not in the expected format"
        raise SetupError(what, where=str(path), fix=fix) from None


def _read_json(path: Path, fix: str) -> Mapping[str, Any]:
    """Returns the JSON object in *path*. Raises SetupError with *fix* if there is none."""
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError):
        data = None
    if not isinstance(data, dict):
        raise SetupError("the file is missing or is not JSON", where=str(path), fix=fix)
    return data


def has_loopback(sandbox: str) -> bool:
    """Returns whether student code in the sandbox *sandbox* can use 127.0.0.1.

    Without a network of its own it can't, because it would be the whole container's.
    """
    plan = choose_sandbox(sandbox).sandbox.plan(loopback=True)
    return plan["loopback"] or plan["filter"] is None


def leave_open(result: Result, release: Release) -> Result:
    """Returns *result* with code parts left open that may have lost points without a network."""
    feedback, needing = result.feedback, network_problems(release)
    problems = tuple(
        replace(p, parts=tuple(map(_leave_part_open, p.parts))) if p.id in needing else p
        for p in feedback.problems
    )
    lost = sum(p.points for p in feedback.problems) - sum(p.points for p in problems)
    feedback = replace(
        feedback,
        problems=problems,
        score=round(feedback.score - lost, 6),
        complete=feedback.complete and problems == feedback.problems,
    )
    return replace(result, feedback=feedback)


def _leave_part_open(part: ShownPart) -> ShownPart:
    judged = part.kind == "code" and part.verdict is not Verdict.ABSENT
    if not judged or part.points is None or part.points >= part.max_points:
        return part
    return replace(part, points=None, verdict=Verdict.UNSETTLED, why=_NO_NETWORK, look_at="")
