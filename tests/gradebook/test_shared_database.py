"""One PostgreSQL server for coordinators, desks, and regrades at once; backups made meanwhile."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine

from grader.gradebook import Gradebook
from grader.gradebook.address import display_address, find_address
from grader.gradebook.opening import gradebook_exists
from grader.model import Student
from tests.helpers.batch import Class, a_class, evidence_of, gradebook_of, rows
from tests.helpers.commands import ok
from tests.helpers.desk import a_desk, signed_in
from tests.helpers.postgres import Server

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(os.name != "posix", reason="starts a PostgreSQL server"),
]
COMMENT = "argued in person"


@pytest.fixture(params=["sqlite", "postgresql"])
def gradebook(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The options of `grader grade` for a gradebook in a file and in a database."""
    if request.param == "sqlite":
        return ()
    server: Server = request.getfixturevalue("postgres")
    return ("--gradebook", display_address(server.address()))


def start(home: Class, out: Path, *more: str) -> subprocess.Popen[bytes]:
    """Starts a grading run."""
    command = home.command(out, *more)
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(run: subprocess.Popen[bytes]) -> None:
    _, said = run.communicate(timeout=240)
    assert run.returncode == 0, said.decode()


def wait_for(condition: Any, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def grades_in(out: Path) -> dict[str, str]:
    """The students with a grade, each with the digest of the file; none without a gradebook."""
    if not gradebook_exists(find_address(out)):
        return {}
    with Gradebook.open(out) as book:
        return {one.student: one.submission_sha256 for one in book.grades()}


def test_coordinators_a_desk_and_a_regrade_at_once_lose_nothing(
    tmp_path: Path, postgres: Server
) -> None:
    slow = "import time; time.sleep(3)"
    homes = [a_class(tmp_path / name, 12, extra=slow) for name in ("first", "second")]
    earlier = a_class(tmp_path / "earlier", 8)
    outs = [home.home / "results" for home in (*homes, earlier)]
    at = [("--gradebook", display_address(postgres.address())) for _ in outs]
    earlier.graded(outs[2], *at[2])
    runs = [start(home, out, *more) for home, out, more in zip(homes, outs, at, strict=False)]
    wait_for(lambda: grades_in(outs[0]) and grades_in(outs[1]))

    decided: list[str] = []
    with a_desk(outs[0]) as links:
        kim = signed_in(links["kim"])
        for points in (2, 3, 4):
            wait_for(lambda: grades_in(outs[0]).keys() - {*decided})
            decided.append(min(grades_in(outs[0]).keys() - {*decided}))
            kim.send(f"/student/{decided[-1]}", "/override", points="0.5", comment=COMMENT)
            give_share_points(earlier.home / "bank", points)
            ok("score", outs[2], "--bank", earlier.home / "bank", "--specs", "current")
    assert [run.poll() for run in runs] == [None, None], "nothing was graded at the same time"
    for run in runs:
        finish(run)

    for home, out in zip(homes, outs, strict=False):
        home.graded(home.home / "alone", "--jobs", "6")  # its notebooks only wait
        alone, together = gradebook_of(home.home / "alone"), gradebook_of(out)
        # The engine's own marks are those of an undisturbed run, whatever a person decided.
        for name in ("grades", "submissions", "students", "evidence"):
            assert together[name] == alone[name]
    with Gradebook.open(outs[0]) as book:
        given = [(one.student, one.points, one.reason) for one in book.overrides()]
        filed = Counter(line.what for line in book.audit())
    assert sorted(given) == sorted((student, 0.5, COMMENT) for student in decided)
    assert filed["answer graded"] == len(decided)
    assert rows(outs[1], "SELECT count(*) FROM overrides") == [(0,)]
    for student in decided:
        grade = json.loads((outs[0] / "grades" / f"{student}.json").read_text())
        assert COMMENT in grade["marks"][0]["feedback"]
    with Gradebook.open(outs[2]) as book:
        assert {one.max_score for one in book.grades()} == {5}


def give_share_points(bank: Path, points: int) -> None:
    """Changes how many points the first part of the quiz has."""
    spec = bank / "problems" / "memory-math" / "sample.yaml"
    spec.write_text(re.sub(r"points: \d", f"points: {points}", spec.read_text(), count=1))


def test_no_transaction_is_open_while_notebooks_run(tmp_path: Path, postgres: Server) -> None:
    home = a_class(tmp_path, 4, extra="import time; time.sleep(4)")
    out = tmp_path / "out"
    run = start(home, out, "--gradebook", display_address(postgres.address()))
    engine = create_engine(postgres.address().difference_update_query(["schema"]))
    ages = []
    with engine.connect() as connection:
        while run.poll() is None:
            found = connection.exec_driver_sql(
                "SELECT extract(epoch FROM clock_timestamp() - xact_start) FROM pg_stat_activity "
                "WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid() "
                "AND backend_type = 'client backend'"
            )
            ages.append(max((float(row[0]) for row in found), default=0.0))
            connection.rollback()
            time.sleep(0.05)
    engine.dispose()
    finish(run)
    assert max(ages) > 0, "the run never wrote anything"
    # Each notebook sleeps for four seconds; a transaction around one would last longer.
    assert max(ages) < 3


@pytest.mark.slow
def test_a_backup_made_while_grading_is_restored_and_goes_on(
    tmp_path: Path, gradebook: tuple[str, ...], postgres: Server
) -> None:
    home = a_class(tmp_path, 12, extra="import time; time.sleep(3)")
    out, backup = tmp_path / "out", tmp_path / "backup"
    run = start(home, out, *gradebook)
    wait_for(lambda: len(grades_in(out)) >= 2)
    ok("gradebook", "backup", out, backup)
    in_backup = grades_in(backup)
    assert run.poll() is None, "the run ended before the backup"
    finish(run)
    assert 2 <= len(in_backup) < len(grades_in(out))
    # Every grade of a file that was executed has its evidence in the backup.
    with Gradebook.open(backup) as book:
        executed = [one.sha256 for one in book.submissions() if one.refusal is None]
    graded = [sha256 for sha256 in in_backup.values() if sha256 in executed]
    assert {*graded} <= evidence_of(backup).keys()

    to = tmp_path / "restored"
    more = ("--gradebook", display_address(postgres.address())) if gradebook else ()
    ok("gradebook", "restore", backup, to, *more)
    assert (to / "gradebook.sqlite").exists() == (not gradebook)
    assert grades_in(to) == in_backup
    again = home.graded(to)
    assert 0 < again["executed"] < len(home.students) - 1
    assert gradebook_of(to) == gradebook_of(out)


def test_a_restored_backup_never_replaces_a_gradebook(tmp_path: Path) -> None:
    for name in ("out", "backup"):
        with Gradebook.open(tmp_path / name, create=True) as book:
            book.add_students([Student(id=name)])
    before = (tmp_path / "out" / "gradebook.sqlite").read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "grader", "gradebook", "restore", "backup", "out"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "there is a gradebook already" in done.stderr
    assert (tmp_path / "out" / "gradebook.sqlite").read_bytes() == before
