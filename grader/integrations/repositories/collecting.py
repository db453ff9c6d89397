"""Collects every student's notebook from their repository into a folder for `grader grade`."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from urllib.parse import quote

from grader.errors import GraderError, SetupError, one_line
from grader.files import exclusive_lock, write_atomic, write_changed
from grader.grading.ownership import OTHER_EXAM, exam_fit
from grader.integrations.repositories.git import GitError, git_address
from grader.integrations.repositories.pushes import NO_PUSHES, read_push_log
from grader.integrations.repositories.roster import parse_instant
from grader.integrations.repositories.snapshot import (
    CollectOptions,
    FetchedNotebook,
    Fit,
    NothingThereError,
    Repository,
    RepositoryOutcome,
    fetch_notebook,
)
from grader.model import Student
from grader.model.course import TimeSource
from grader.notebook import Notebook
from grader.release.file import load_release
from grader.text.spreadsheet import csv_line

STATE = ".collected.json"
"""What was collected when. The leading dot keeps it from being read as a submission."""

LATE = ".late"
"""Where notebooks go that came after a deadline, if an earlier run collected them without it. The
leading dot keeps them from being read as submissions."""

TIMES = "times.csv"
"""When each notebook was handed in, for `grader grade --times`."""


class CollectStatus(StrEnum):
    """Outcome for one student's repository."""

    COLLECTED = "collected"
    KEPT = "kept"
    """It was collected after the deadline before; later commits do not count."""
    NOTHING = "nothing handed in"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectedEntry:
    """What is stored about one student between runs."""

    commit: str = ""
    """Empty if nothing was handed in."""
    committed: str = ""
    seen: str
    """When the fetch that found this commit began. Unlike the commit's own time, it can't be
    forged. A push during the fetch is found by the next one."""
    sha256: str = ""
    deadline: str = ""
    pushed: str = ""
    """When the forge received the commit; empty if it is not known."""
    created: str = ""
    """When the forge created the repository; empty if it is not known."""
    failed: str = ""
    """When the repository could first not be read after the deadline. Commits that are found
    later may be backdated."""

    @property
    def note(self) -> str:
        """What to add to an outcome's text."""
        note = f"; it could not be read on {self.failed}, so its commit may be backdated"
        return note if self.failed else ""


def student_repositories(
    students: Iterable[Student],
    about: Mapping[str, Mapping[str, str]],
    *,
    url: str = "",
    deadline: datetime | None = None,
    pushes: Path | None = None,
) -> tuple[Repository, ...]:
    """Returns each student's repository: from *about* (the roster), or else by the pattern *url*.

    The folder *pushes* has the forge's record of each repository in STUDENT.json.
    """
    if url and "{id}" not in url:
        raise SetupError(
            f"the pattern '{url}' does not contain {{id}}",
            fix="write {id} in place of the student's id: https://github.com/ORG/midterm-{id}.git",
        )
    repositories = []
    for student in students:
        mine = about.get(student.id, {})
        name = quote(student.id, safe="") if "://" in url else student.id
        own = mine.get("repository") or url.replace("{id}", name)
        if not own:
            raise SetupError(
                f"the repository of '{student.id}' is not known",
                fix="pass --url with {id} in it, or add a column 'repository' to the roster",
            )
        git_address(own)  # reports a wrong address before anything is fetched
        until = parse_instant(mine["deadline"]) if mine.get("deadline") else deadline
        log = read_push_log(pushes / f"{student.id}.json") if pushes else NO_PUSHES
        repositories.append(Repository(student=student.id, url=own, deadline=until, pushes=log))
    return tuple(repositories)


def fit_rule(release_file: Path) -> Fit:
    """Returns how well a notebook fits a student of the release, by the rule of `grader grade`."""
    release = load_release(release_file)
    fits = exam_fit(release)

    def fit(student: str, notebook: Notebook) -> int:
        return fits(student, notebook) if student in release.students else OTHER_EXAM

    return fit


def collect_repositories(
    wanted: Iterable[Repository],
    out: Path,
    how: CollectOptions,
    done: Callable[[str], None] = lambda _: None,
) -> tuple[RepositoryOutcome, ...]:
    """Writes STUDENT.ipynb into *out* for every student, and times.csv; returns the outcomes.

    What was collected after a student's deadline is final, because later commits can be backdated.
    """
    out.mkdir(parents=True, exist_ok=True)
    listed = list(wanted)
    with exclusive_lock(out), ThreadPoolExecutor(max_workers=how.jobs) as pool:
        state = _read_state(out)
        work = partial(_collect_one, out=out, how=how, state=dict(state))
        outcomes = []
        try:
            for outcome, entry in pool.map(work, listed):
                outcomes.append(outcome)
                if entry is not None:
                    state[outcome.student] = entry
                done(outcome.student)
        finally:
            # If the run is interrupted, what was found after a deadline is still final.
            data = {student: asdict(entry) for student, entry in sorted(state.items())}
            write_atomic(out / STATE, (json.dumps(data, indent=1) + "\n").encode())
            write_atomic(out / TIMES, _times_csv(state).encode())
    return tuple(outcomes)


def _collect_one(
    repository: Repository, *, out: Path, how: CollectOptions, state: Mapping[str, CollectedEntry]
) -> tuple[RepositoryOutcome, CollectedEntry | None]:
    """Returns the outcome, and the entry to store; None if the stored entry stays as it is."""
    student, before = repository.student, state.get(repository.student)
    outcome = partial(RepositoryOutcome, student=student)
    target = out / f"{student}.ipynb"
    if before and not how.again and _is_final(before, repository, target):
        text = f"as it was on {before.seen}, after the deadline{before.note}"
        if not before.commit:
            return outcome(status=CollectStatus.NOTHING, text=text), None
        _set_file_time(target, before.committed)  # the file may have been copied since
        return outcome(status=CollectStatus.KEPT, text=text, commit=before.commit), None
    deadline = _to_iso(repository.deadline) if repository.deadline else ""
    started = _to_iso(datetime.now(UTC))
    entry = partial(CollectedEntry, seen=started, deadline=deadline)
    try:
        notebook = fetch_notebook(repository, how)
    except NothingThereError as error:
        text = error.what
        if before is not None and before.commit and target.exists():
            text += f"; the notebook collected on {before.seen} "
            if not deadline or (before.pushed or before.committed) <= deadline:
                text += "is kept"
                return outcome(status=CollectStatus.KEPT, text=text, commit=before.commit), None
            text += f"came later, and was moved to {LATE}/"
            _move_aside(target)
        return outcome(status=CollectStatus.NOTHING, text=text), entry()
    except Exception as error:  # noqa: BLE001  # one repository must not stop the others
        text = f"an internal error ({type(error).__name__})"
        if isinstance(error, GraderError):
            text = error.reason if isinstance(error, GitError) else error.what
        if before is not None and before.commit and target.exists():
            text += f"; the notebook collected on {before.seen} is kept"
        stored = before or CollectedEntry(seen="")
        stored = replace(stored, failed=stored.failed or started)
        is_late = deadline and deadline <= started
        return outcome(status=CollectStatus.FAILED, text=text), stored if is_late else None
    committed = _to_iso(datetime.fromtimestamp(notebook.commit_time, UTC))
    write_changed(target, notebook.data)
    _set_file_time(target, committed)
    created = repository.pushes.creation_time
    collected = entry(
        commit=notebook.commit,
        committed=committed,
        sha256=_sha256(notebook.data),
        pushed=_to_iso(notebook.push_time) if notebook.push_time else "",
        created=_to_iso(created) if created else "",
    )
    if before and before.commit != notebook.commit and deadline and before.failed >= deadline:
        collected = replace(collected, failed=before.failed)
    text = _describe_notebook(notebook, collected)
    return outcome(status=CollectStatus.COLLECTED, text=text, commit=notebook.commit), collected


def _move_aside(target: Path) -> None:
    """Moves a notebook that does not count out of the way of `grader grade`."""
    folder = target.parent / LATE
    folder.mkdir(exist_ok=True)
    target.replace(folder / target.name)


def _describe_notebook(notebook: FetchedNotebook, entry: CollectedEntry) -> str:
    text = f"{one_line(notebook.path, 80)} of {entry.committed}"
    if entry.pushed:
        text += f", pushed {entry.pushed}"
    if notebook.newer:
        text += "; later commits came after the deadline and are left out"
    return text + entry.note


def _times_csv(state: Mapping[str, CollectedEntry]) -> str:
    """Returns the table of times: of pushes if known, else of commits, which a student can set."""
    lines = [csv_line(["student", "file", "received", "source", "started"])]
    for student, entry in sorted(state.items()):
        if entry.commit:
            source = TimeSource.FORGE if entry.pushed else TimeSource.COMMIT
            received = entry.pushed or entry.committed
            cells = [student, f"{student}.ipynb", received, source.value, entry.created]
            lines.append(csv_line(cells))
    return "\n".join(lines) + "\n"


def _is_final(before: CollectedEntry, repository: Repository, target: Path) -> bool:
    """Returns whether *target* was collected after the current deadline, and is unchanged since."""
    if repository.deadline is None or before.deadline != _to_iso(repository.deadline):
        return False
    if datetime.fromisoformat(before.seen) < repository.deadline:
        return False
    if not before.commit:
        return not target.exists()
    return target.exists() and _sha256(target.read_bytes()) == before.sha256


def _set_file_time(target: Path, committed: str) -> None:
    """Sets the file's time to its commit's, which `grader grade` uses as the submission time."""
    seconds = datetime.fromisoformat(committed).timestamp()
    os.utime(target, (seconds, seconds))


def _to_iso(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat(timespec="seconds")


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read_state(out: Path) -> dict[str, CollectedEntry]:
    """Returns the entries of earlier runs by student. Raises SetupError if they can't be read."""
    try:
        data = json.loads((out / STATE).read_bytes())
        return {str(student): CollectedEntry(**entry) for student, entry in data.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise SetupError(
            "the record of earlier collections can't be read",
            where=str(out / STATE),
            fix="restore the file, or remove it to collect everything again",
        ) from error
