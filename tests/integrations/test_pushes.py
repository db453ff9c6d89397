"""When a notebook was handed in: pushes as the forge recorded them, against commits' own times."""

from __future__ import annotations

import csv
import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from grader.course import read_times
from grader.course.times import find_zone
from grader.errors import SetupError
from grader.integrations.repositories.collecting import TIMES, CollectStatus, collect_repositories
from grader.integrations.repositories.pushes import PushLog, read_push_log
from grader.integrations.repositories.roster import parse_instant
from grader.integrations.repositories.snapshot import CollectOptions, Repository
from grader.model.course import TimeSource
from tests.helpers.classroom import Remote

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="paths of files as addresses")
OLD = '{"cells": [], "metadata": {"v": 1}, "nbformat": 4, "nbformat_minor": 5}'
NEW = '{"cells": [], "metadata": {"v": 2}, "nbformat": 4, "nbformat_minor": 5}'
DUE = parse_instant("2026-01-15T12:00:00+01:00")
EARLY = "2026-01-10T00:00:00Z"
PUSHED = "2026-01-14T10:00:00Z"
LATE = "2026-01-16T10:00:00Z"


def activity(commit: str, when: str, ref: str = "refs/heads/main", kind: str = "push") -> dict:  # type: ignore[type-arg]
    """An entry of GitHub's `/repos/OWNER/REPO/activity`, without what is not read."""
    return {"id": 1, "before": "0" * 40, "after": commit, "ref": ref, "timestamp": when,
            "activity_type": kind, "actor": {"login": "ada"}}  # fmt: skip


def event(commit: str, when: str) -> dict:  # type: ignore[type-arg]
    """An entry of GitHub's `/repos/OWNER/REPO/events`."""
    payload = {"ref": "refs/heads/main", "head": commit, "before": "0" * 40}
    return {"id": "2", "type": "PushEvent", "created_at": when, "payload": payload}


def logged(folder: Path, *documents: object) -> PushLog:
    path = folder / "ada.json"
    path.write_text("\n".join(json.dumps(one) for one in documents))
    return read_push_log(path)


def collected(remote: Remote, out: Path, log: PushLog, deadline: datetime | None = DUE):
    repository = Repository(student="ada", url=remote.url, deadline=deadline, pushes=log)
    (outcome,) = collect_repositories([repository], out, CollectOptions())
    return outcome


def times_of(out: Path) -> dict[str, str]:
    with (out / TIMES).open() as file:
        return next(csv.DictReader(file))


def test_a_backdated_commit_is_late_by_the_time_of_its_push(tmp_path: Path) -> None:
    remote = Remote(tmp_path, "ada")
    first = remote.push({"exam.ipynb": OLD}, EARLY)
    forged = remote.push({"exam.ipynb": NEW}, "2026-01-12T00:00:00Z")
    log = logged(tmp_path, [activity(forged, LATE), activity(first, PUSHED)])
    outcome = collected(remote, tmp_path / "out", log)
    assert outcome.commit == first
    assert (tmp_path / "out" / "ada.ipynb").read_text() == OLD
    assert times_of(tmp_path / "out")["received"] == "2026-01-14T10:00:00+00:00"
    assert times_of(tmp_path / "out")["source"] == "forge"
    # Without the record, the commit's own time is believed, and the table says what it is.
    collected(remote, tmp_path / "plain", PushLog())
    assert (tmp_path / "plain" / "ada.ipynb").read_text() == NEW
    assert times_of(tmp_path / "plain")["source"] == "commit"


def test_without_a_deadline_the_newest_commit_has_the_time_of_its_push(tmp_path: Path) -> None:
    remote = Remote(tmp_path, "ada")
    commit = remote.push({"exam.ipynb": OLD}, EARLY)
    elsewhere = activity(commit, EARLY, "refs/heads/draft")
    log = logged(tmp_path, {"full_name": "org/ada", "created_at": EARLY, "pushed_at": LATE},
                 [elsewhere], [event(commit, LATE)])  # fmt: skip
    outcome = collected(remote, tmp_path / "out", log, None)
    assert outcome.text.endswith("pushed 2026-01-16T10:00:00+00:00")
    [line] = read_times(tmp_path / "out" / TIMES, find_zone("UTC"))
    assert (line.student, line.file, line.source) == ("ada", "ada.ipynb", TimeSource.FORGE)
    assert line.received == datetime(2026, 1, 16, 10, tzinfo=UTC)
    assert line.started == datetime(2026, 1, 10, tzinfo=UTC)


def test_a_push_that_a_later_one_removed_is_never_replaced_silently(tmp_path: Path) -> None:
    remote = Remote(tmp_path, "ada")
    remote.push({"exam.ipynb": OLD}, EARLY)
    log = logged(tmp_path, [activity("ab" * 20, PUSHED)])
    outcome = collected(remote, tmp_path / "out", log)
    assert outcome.status is CollectStatus.FAILED
    assert "abababab" in outcome.text
    assert "was removed by a later push" in outcome.text


def test_nothing_pushed_in_time_is_nothing_handed_in(tmp_path: Path) -> None:
    remote = Remote(tmp_path, "ada")
    commit = remote.push({"exam.ipynb": OLD}, EARLY)
    outcome = collected(remote, tmp_path / "out", logged(tmp_path, [activity(commit, LATE)]))
    assert outcome.status is CollectStatus.NOTHING
    assert outcome.text == "nothing was pushed before the deadline"


def test_a_repository_without_a_record_is_no_error(tmp_path: Path) -> None:
    assert read_push_log(tmp_path / "bo.json") == PushLog()


@pytest.mark.parametrize(
    "text", ["hello", '{"message": "Not Found"}', "[1]", '[{"activity_type": "push"}]', "[\n[]"]
)
def test_another_file_is_an_error_that_names_its_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ada.json"
    path.write_text("[]\n" + text)
    with pytest.raises(SetupError) as caught:
        read_push_log(path)
    assert str(caught.value.where) == f"{path}:2"
    assert "gh api" in str(caught.value.fix)
