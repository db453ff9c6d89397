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

from grader.errors import GraderError, SetupError, shown
from grader.files import exclusive_lock, write_atomic
from grader.grading.ownership import exam_fit
from grader.integrations.repositories.git import (
    ANYONE,
    USUAL,
    Access,
    Bounds,
    GitError,
    git_address,
)
from grader.integrations.repositories.roster import parse_instant
from grader.integrations.repositories.snapshot import (
    FetchedNotebook,
    Fit,
    NotebookRequest,
    NothingThereError,
    fetch_notebook,
)
from grader.model import Student
from grader.notebook import Notebook
from grader.release.file import load_release

STATE = ".collected.json"
"""What was collected when. The leading dot keeps it from being read as a submission."""


class CollectStatus(StrEnum):
    """Outcome for one student's repository."""

    COLLECTED = "collected"
    KEPT = "kept"
    """It was collected after the deadline before; later commits do not count."""
    NOTHING = "nothing handed in"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """The address of one student's repository, and the student's deadline."""

    student: str
    url: str
    deadline: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectedEntry:
    """What is stored about one student between runs."""

    commit: str
    committed: str
    seen: str
    """When the fetch that found this commit began. Unlike the commit's own time, it can't be
    forged. A push during the fetch is found by the next one."""
    sha256: str
    deadline: str = ""
    failed: str = ""
    """When the repository could first not be read after the deadline. Commits that are found
    later may be backdated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectOutcome:
    """One student's line in the report."""

    student: str
    came: CollectStatus
    text: str
    commit: str = ""


def student_repositories(
    students: Iterable[Student],
    about: Mapping[str, Mapping[str, str]],
    *,
    url: str = "",
    deadline: datetime | None = None,
) -> tuple[Repository, ...]:
    """The repository of each student: from *about* (the roster), or else from the pattern *url*.

    Raises SetupError if neither gives a student's repository.
    """
    if url and "{id}" not in url:
        raise SetupError(
            f"the pattern '{url}' does not contain {{id}}",
            fix="write {id} in place of the student's id: https://github.com/ORG/midterm-{id}.git",
        )
    found = []
    for student in students:
        mine = about.get(student.id, {})
        own = mine.get("repository") or _url_of(url, student.id)
        if not own:
            raise SetupError(
                f"the repository of '{student.id}' is not known",
                fix="pass --url with {id} in it, or add a column 'repository' to the roster",
            )
        git_address(own)  # reports a wrong address before anything is fetched
        until = parse_instant(mine["deadline"]) if mine.get("deadline") else deadline
        found.append(Repository(student=student.id, url=own, deadline=until))
    return tuple(found)


def _url_of(url: str, student: str) -> str:
    return url.replace("{id}", quote(student, safe="") if "://" in url else student)


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectOptions:
    """Options for collecting."""

    notebook: str = ""
    branch: str = ""
    fit: Fit | None = None
    """Chooses between several notebooks of a repository; see `fit_rule`."""
    access: Access = ANYONE
    bounds: Bounds = USUAL
    jobs: int = 8
    again: bool = False
    """Collect again even if a notebook was already collected after its deadline."""


def fit_rule(release_file: Path) -> Fit:
    """How well a notebook fits a student of the release, by the rule of `grader grade`.

    Raises SetupError if the release can't be read.
    """
    release = load_release(release_file)
    fits = exam_fit(release)

    def fit(student: str, notebook: Notebook) -> int:
        return fits(student, notebook) if student in release.students else 0

    return fit


def collect_repositories(
    wanted: Iterable[Repository],
    out: Path,
    how: CollectOptions,
    done: Callable[[str], None] = lambda _: None,
) -> tuple[CollectOutcome, ...]:
    """Writes STUDENT.ipynb into *out* for every student, and returns one outcome per student.

    A failure for one student does not stop the others. Each file gets the time of its commit.
    What was collected after a student's deadline is not collected again, because later commits
    can be backdated.
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
    return tuple(outcomes)


def _collect_one(
    repository: Repository, *, out: Path, how: CollectOptions, state: Mapping[str, CollectedEntry]
) -> tuple[CollectOutcome, CollectedEntry | None]:
    student, before = repository.student, state.get(repository.student)
    told = partial(CollectOutcome, student=student)
    if before and not how.again and _is_final(before, repository, out):
        text = f"as it was on {before.seen}, after the deadline{_backdating_note(before)}"
        came = CollectStatus.KEPT if before.commit else CollectStatus.NOTHING
        if before.commit:  # its file may have been copied since
            _set_file_time(out / f"{student}.ipynb", before.committed)
        return told(came=came, text=text, commit=before.commit), None
    wanted = NotebookRequest(
        url=repository.url,
        student=student,
        notebook=how.notebook.replace("{id}", student),
        branch=how.branch,
        before=repository.deadline,
        fit=how.fit,
    )
    asked = datetime.now(UTC)
    try:
        taken = fetch_notebook(wanted, how.access, how.bounds)
    except NothingThereError as error:
        return told(came=CollectStatus.NOTHING, text=error.what), _empty_entry(repository, asked)
    except GraderError as error:
        text = _failure_text(error, before, out / f"{student}.ipynb")
        return told(came=CollectStatus.FAILED, text=text), _entry_of_failure(repository, before)
    except Exception as error:  # noqa: BLE001  # one repository must not stop the others
        what = GraderError(
            f"an internal error ({type(error).__name__})", fix="report this as a bug"
        )
        text = _failure_text(what, before, out / f"{student}.ipynb")
        return told(came=CollectStatus.FAILED, text=text), _entry_of_failure(repository, before)
    entry = _new_entry(taken, repository, before, asked)
    target = out / f"{student}.ipynb"
    if not target.exists() or target.read_bytes() != taken.data:
        write_atomic(target, taken.data)
    _set_file_time(target, entry.committed)
    text = f"{shown(taken.path, 80)} of {entry.committed}"
    if taken.newer:
        text += "; later commits came after the deadline and are left out"
    return told(
        came=CollectStatus.COLLECTED, text=text + _backdating_note(entry), commit=taken.commit
    ), entry


def _backdating_note(entry: CollectedEntry) -> str:
    if not entry.failed:
        return ""
    return f"; it could not be read on {entry.failed}, so its commit may be backdated"


def _entry_of_failure(
    repository: Repository, before: CollectedEntry | None
) -> CollectedEntry | None:
    """The entry with the time of a failure after the deadline; None before the deadline."""
    now = datetime.now(UTC)
    if repository.deadline is None or now < repository.deadline:
        return None
    known = before or CollectedEntry(commit="", committed="", seen="", sha256="")
    return known if known.failed else replace(known, failed=_to_iso(now))


def _failure_text(error: GraderError, before: CollectedEntry | None, target: Path) -> str:
    text = error.reason if isinstance(error, GitError) else error.what
    if before is not None and before.commit and target.exists():
        text += f"; the notebook collected on {before.seen} is kept"
    return text


def _is_final(before: CollectedEntry, repository: Repository, out: Path) -> bool:
    """Whether it was collected after this same deadline, and the file is unchanged."""
    if repository.deadline is None or before.deadline != _to_iso(repository.deadline):
        return False
    if datetime.fromisoformat(before.seen) < repository.deadline:
        return False
    target = out / f"{repository.student}.ipynb"
    if not before.commit:
        return not target.exists()
    return target.exists() and _sha256(target.read_bytes()) == before.sha256


def _empty_entry(repository: Repository, asked: datetime) -> CollectedEntry:
    until = _to_iso(repository.deadline) if repository.deadline else ""
    return CollectedEntry(commit="", committed="", seen=_to_iso(asked), sha256="", deadline=until)


def _new_entry(
    taken: FetchedNotebook, repository: Repository, before: CollectedEntry | None, asked: datetime
) -> CollectedEntry:
    entry = CollectedEntry(
        commit=taken.commit,
        committed=_to_iso(datetime.fromtimestamp(taken.committed, UTC)),
        seen=_to_iso(asked),
        sha256=_sha256(taken.data),
        deadline=_to_iso(repository.deadline) if repository.deadline else "",
    )
    over = repository.deadline is not None and asked >= repository.deadline
    same = before is not None and before.commit == taken.commit
    if before and before.failed and repository.deadline and not same:
        late = datetime.fromisoformat(before.failed) >= repository.deadline
        entry = replace(entry, failed=before.failed if late else "")
    # After the deadline, the time of this fetch makes the commit final.
    return replace(entry, seen=before.seen) if same and before and not over else entry


def _set_file_time(target: Path, committed: str) -> None:
    """Sets the file's time to its commit's, which `grader grade` uses as the submission time."""
    seconds = datetime.fromisoformat(committed).timestamp()
    os.utime(target, (seconds, seconds))


def _to_iso(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat(timespec="seconds")


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read_state(out: Path) -> dict[str, CollectedEntry]:
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
