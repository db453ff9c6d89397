"""A class that is graded by real processes, and what two results folders have in common."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy.exc import DBAPIError

from grader.gradebook import Gradebook
from grader.gradebook.address import find_address
from grader.gradebook.engines import open_engine
from grader.gradebook.evidence_files import EvidenceFiles
from grader.gradebook.evidence_places import find_place
from grader.gradebook.opening import gradebook_exists
from grader.notebook import Cell, read, write
from tests.helpers.banks import a_bank, a_roster
from tests.helpers.commands import ok


@dataclass(frozen=True)
class Class:
    """Submissions of a class, and all that `grader grade` needs to grade them."""

    home: Path
    students: tuple[str, ...]

    @property
    def submissions(self) -> Path:
        return self.home / "submissions"

    def command(self, out: Path, *more: str) -> list[str]:
        return [
            sys.executable, "-m", "grader", "grade", str(self.submissions),
            "--release", str(self.home / "release"), "--out", str(out),
            "--bank", str(self.home / "bank"), "--jobs", "2", "--json", *more,
        ]  # fmt: skip

    def graded(self, out: Path, *more: str, code: int = 0, **options: Any) -> dict[str, Any]:
        """What one run to the end printed."""
        found = subprocess.run(
            self.command(out, *more), capture_output=True, timeout=300, **options
        )
        assert found.returncode == code, found.stderr.decode()
        return json.loads(found.stdout) if found.stdout else {"said": found.stderr.decode()}


def a_class(home: Path, students: int, extra: str = "") -> Class:
    """A class in *home*: most are right, some wrong, some broken; *extra* runs in each notebook.

    In *extra*, STUDENT stands for the student's id.
    """
    ids = tuple(f"s{n:02d}" for n in range(students))
    bank = a_bank(home / "bank")
    roster = a_roster(home, "id\n" + "".join(f"{name}\n" for name in ids))
    ok("render", "quiz", "--roster", roster, "--out", home / "release", "--bank", bank)
    for number, name in enumerate(ids):
        path = home / "submissions" / f"{name}.ipynb"
        ok("solve", home / "release", "--student", name, "--out", path, "--bank", bank)
        solved = read(path.read_bytes())
        cells = [Cell(type="code", id="own", source=OWN[number % len(OWN)]), *solved.cells]
        if extra:
            mine = extra.replace("STUDENT", name)
            cells.insert(0, Cell(type="code", id="extra", source=mine))
        path.write_bytes(write(cells, solved.metadata))
    if students > 6:
        (home / "submissions" / f"{ids[5]}.ipynb").write_bytes(b"this is no notebook")
        (home / "submissions" / f"{ids[6]}.ipynb").unlink()
    return Class(home, ids)


OWN = ("x = 1", "print('hello' * 100)", "1 / 0", "import time; time.sleep(0.2)")


def gradebook_of(out: Path) -> dict[str, Any]:
    """What a results folder says, but for times and for the machine it was made on."""
    with Gradebook.open(out) as book:
        grades = [
            (g.student, g.exam, g.submission_sha256, g.marks, g.engine, g.release)
            for g in book.grades()
        ]
        students = book.students()
        submissions = [(s.student, s.sha256, s.refusal) for s in book.submissions()]
    return {
        "grades": grades,
        "students": students,
        "submissions": sorted(submissions),
        "evidence": evidence_of(out),
        "grades.csv": (out / "grades.csv").read_text(),
        "files": files_of(out),
    }


def evidence_of(out: Path) -> dict[str, Any]:
    """What is stored of each file's execution, by its SHA-256; fails when it is there twice."""
    found: dict[str, Any] = {}
    place = EvidenceFiles(find_place(out))
    query = "SELECT submission_sha256, digest, size FROM evidence"
    for sha256, digest, size in rows(out, query):
        assert sha256 not in found, "executed once more although it was stored"
        one = place.read(digest, int(size))
        cells = [(c.index, c.outcome, c.error, c.line, c.output) for c in one.cells]
        found[sha256] = (one.outcome, one.answers, cells, one.note)
    return found


def files_of(out: Path) -> dict[str, Any]:
    """Names of all files but evidence; and what students' JSON says without the machine."""
    found: dict[str, Any] = {}
    for path in sorted(out.rglob("*")):
        name = str(path.relative_to(out))
        if path.is_dir() or name.startswith(("evidence", "gradebook.", ".gitignore")):
            continue
        found[name] = None
        if path.parent.name == "grades":
            found[name] = json.loads(path.read_bytes()) | {"environment": None}
    return found


def rows(out: Path, query: str) -> list[tuple[str, ...]]:
    """What a query of the gradebook gives; none while there is no gradebook."""
    url = find_address(out)
    if not gradebook_exists(url):
        return []
    engine = open_engine(url)
    try:
        with engine.connect() as connection:
            return [tuple(row) for row in connection.exec_driver_sql(query)]
    except DBAPIError as error:
        assert "no such table" in str(error)
        return []
    finally:
        engine.dispose()


def assert_sound(out: Path) -> None:
    """Nothing half written lies about, and SQLite finds nothing wrong with its file."""
    assert rows(out, "PRAGMA integrity_check") == [("ok",)]
    assert rows(out, "PRAGMA foreign_key_check") == []
    assert [p for p in out.rglob("*") if ".tmp" in p.name] == []
    # A kill between the two leaves a file that no row names: harmless, and executed once more.
    digests = {digest for (digest,) in rows(out, "SELECT digest FROM evidence")}
    told = rows(out, "SELECT detail FROM audit WHERE what = 'submission executed'")
    executed = [json.loads(detail)["submission_sha256"] for (detail,) in told]
    assert sorted(executed) == sorted(set(executed)), "executed twice"
    assert len(executed) == len(digests)
    assert digests <= {p.name.partition(".")[0] for p in (out / "evidence").glob("*.json.gz")}


def descendants(root: int) -> dict[int, str]:
    """Every living process under *root*, with its command line."""
    parents: dict[int, int] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            try:
                stat = Path(entry.path, "stat").read_text()
            except OSError:
                continue
            state, parent = stat.rpartition(")")[2].split()[:2]
            if state not in "ZX":
                parents[int(entry.name)] = int(parent)
    found: dict[int, str] = {}
    for pid in parents:
        at = pid
        while at in parents and at != root:
            at = parents[at]
        if at == root and pid != root:
            found[pid] = _command(pid)
    return found


def _command(pid: int) -> str:
    try:
        return (
            Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        )
    except OSError:
        return "gone"


def same(one: Mapping[str, Any], other: Mapping[str, Any], but: Iterable[str] = ()) -> None:
    """Fails where two gradebooks differ, showing the first place only."""
    for name in one.keys() - {*but}:
        assert one[name] == other[name], name
