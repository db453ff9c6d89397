"""What GitHub recorded about a repository: its pushes, and when it was created.

A commit's own time is set by its author; these times are the server's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from grader.errors import Location, SetupError, SubmissionError
from grader.integrations.repositories.git import Git, GitError

_MOVES = ("push", "force_push", "branch_creation", "pr_merge", "merge_queue_merge")


@dataclass(frozen=True, slots=True, order=True)
class Push:
    """A change of a branch."""

    at: datetime
    """When the server received it, in UTC."""
    commit: str
    ref: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PushLog:
    """The server's record of one repository."""

    pushes: tuple[Push, ...] = ()
    """Oldest first."""
    creation_time: datetime | None = None
    """When the repository was created; None if the record doesn't say so."""


NO_PUSHES = PushLog()


def read_push_log(path: Path) -> PushLog:
    """Returns the record in the JSON file at *path*; an empty one if there is no such file.

    The file holds answers of GitHub's REST API, one after the other: of `/repos/OWNER/REPO`, and of
    `activity` or `events` below it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return NO_PUSHES
    except (OSError, UnicodeDecodeError) as error:
        raise _log_error(path, 1) from error
    pushes: list[Push] = []
    created: list[datetime] = []
    for line, entry in _iter_objects(text, path):
        try:
            if "full_name" in entry:
                created.append(_instant(entry["created_at"]))
            else:
                pushes += _read_pushes(entry)
        except (KeyError, TypeError, ValueError) as error:
            raise _log_error(path, line) from error
    return PushLog(pushes=tuple(sorted(set(pushes))), creation_time=min(created, default=None))


def _iter_objects(text: str, path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yields the objects of all JSON documents in *text*, with the line of their document."""
    decoder = json.JSONDecoder()
    at = 0
    while text[at:].strip():
        at = len(text) - len(text[at:].lstrip())  # skips whitespace
        line = text.count("\n", 0, at) + 1
        try:
            document, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise _log_error(path, line) from error
        for entry in document if isinstance(document, list) else [document]:
            if not isinstance(entry, dict):
                raise _log_error(path, line)
            yield line, entry


def _log_error(path: Path, line: int) -> SetupError:
    return SetupError(
        "this is not what GitHub's API answers about a repository's pushes",
        where=Location(str(path), line),
        fix="write the file with `gh api --paginate repos/OWNER/REPO/activity`",
    )


def _read_pushes(entry: Mapping[str, Any]) -> Iterator[Push]:
    """Yields the push that *entry* describes; nothing if it describes another event."""
    if entry.get("activity_type") in _MOVES:
        yield Push(_instant(entry["timestamp"]), str(entry["after"]), str(entry["ref"]))
    elif entry.get("type") == "PushEvent":
        payload = entry["payload"]
        yield Push(_instant(entry["created_at"]), str(payload["head"]), str(payload["ref"]))
    elif "activity_type" not in entry and "type" not in entry:
        raise KeyError("activity_type")


def _instant(text: str) -> datetime:
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError(text)
    return instant


def find_commit(git: Git, log: PushLog, deadline: datetime) -> str:
    """Returns the branch's commit at *deadline*; empty if nothing was pushed by then.

    Raises SubmissionError if a later push removed that commit from the repository.
    """
    branch = git.line("symbolic-ref", "HEAD")
    before = [push for push in log.pushes if push.ref == branch and push.at <= deadline]
    if not before:
        return ""
    commit = before[-1].commit
    try:
        git.run("cat-file", "-e", f"{commit}^{{commit}}")
    except GitError:  # it is not in the repository
        try:
            git.run("fetch", "--quiet", "--no-tags", "origin", commit)
        except GitError:
            raise SubmissionError(
                f"the commit {commit[:10]}, pushed before the deadline, was removed by a later "
                "push; ask the student, or collect without the record of pushes"
            ) from None
    return commit


def time_of_push(git: Git, log: PushLog, commit: str) -> datetime | None:
    """Returns when *commit* was first pushed as the end of the current branch; None if unknown."""
    if not log.pushes:
        return None
    branch = git.line("symbolic-ref", "HEAD")
    mine = (push.at for push in log.pushes if push.ref == branch and push.commit == commit)
    return next(mine, None)
