"""Everybody who runs: how each is started on a class, and where its marks are afterwards."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from classes import ASSIGNMENT, BANK, Class
from peers import NBGRADER, OTTER, Peer

WORKERS = Path(__file__).parent / "workers"
_OUT = "out.json"
_TINY = 2e-9

Marks = dict[str, dict[str, float]]


class FailedError(Exception):
    """Why a contender has no figures."""


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One way to grade a class."""

    name: str
    label: str
    command: Callable[[Class, Path], list[str]]
    """What to run in a work folder of its own; what it does before that is not timed."""
    marks: Callable[[Class, Path], Marks]
    """What it gave, read from the work folder."""
    slow: bool = False
    """Takes seconds a notebook: measured on the smallest class alone, unless all are asked for."""
    peer: Peer | None = None
    loop: bool = False
    """Times itself, without its start."""

    def environment(self) -> dict[str, str]:
        """One thread for everybody, as our kernels have; a peer's own commands found first."""
        first = self.peer.bin if self.peer else Path(sys.executable).parent
        others = ("GRADER_", "VIRTUAL_", "PYTHON")  # such as PYTHONDONTWRITEBYTECODE
        kept = {k: v for k, v in os.environ.items() if not k.startswith(others)}
        threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        path = os.pathsep.join((str(first), os.environ.get("PATH", os.defpath)))
        return {**kept, **threads, "PATH": path, "PYTHONHASHSEED": "0"}


def _ours(*options: str, cold: bool = False) -> Callable[[Class, Path], list[str]]:
    def command(made: Class, work: Path) -> list[str]:
        start = (
            [sys.executable, str(WORKERS / "cold.py")] if cold else [sys.executable, "-m", "grader"]
        )
        return [
            *start, "grade", str(made.submissions), "--release", str(made.release),
            "--out", str(work / "results"), "--bank", str(BANK), *options,
        ]  # fmt: skip

    return command


def _ours_marks(made: Class, work: Path) -> Marks:
    marks: Marks = {}
    for student in made.truth():
        grade = json.loads((work / "results" / "grades" / f"{student}.json").read_bytes())
        marks[student] = {m["name"]: m["points"] for m in grade["marks"]}
    return marks


def environment_of(work: Path) -> dict[str, object]:
    """Kernel and sandbox layers of the first grade of ours."""
    for file in sorted((work / "results" / "grades").glob("*.json")):
        found: dict[str, object] = json.loads(file.read_bytes())["environment"]
        return found
    return {}


def _plain(worker: str, *options: str) -> Callable[[Class, Path], list[str]]:
    def command(made: Class, work: Path) -> list[str]:
        given = made.folder / "given.json"
        files = (WORKERS / worker, made.submissions, given, work / _OUT)
        return [sys.executable, *map(str, files), *options]

    return command


def _written_marks(_made: Class, work: Path) -> Marks:
    marks: Marks = json.loads((work / _OUT).read_bytes())["marks"]
    return marks


def _otter(*options: str) -> Callable[[Class, Path], list[str]]:
    def command(made: Class, work: Path) -> list[str]:
        folder = work / "otter"
        shutil.copytree(made.otter, folder)
        _call(
            [str(OTTER.bin / "otter"), "generate", "-t", "tests", "-o", "autograder.zip",
             "--no-environment", "--no-requirements"],
            folder,
        )  # fmt: skip
        return [
            str(OTTER.python),
            str(WORKERS / "otter_all.py"),
            str(folder),
            str(work / _OUT),
            *options,
        ]

    return command


def _nbgrader(made: Class, work: Path) -> list[str]:
    course = work / "course"
    ready = made.folder / "nbgrader-ready"
    if not ready.exists():
        half = made.folder / "nbgrader-half"
        shutil.rmtree(half, ignore_errors=True)
        shutil.copytree(made.nbgrader, half)
        nbgrader = str(NBGRADER.bin / "nbgrader")
        _call([nbgrader, "generate_assignment", ASSIGNMENT, "--create"], half, NBGRADER)
        half.rename(ready)
    shutil.copytree(ready, course)
    return [
        str(NBGRADER.bin / "nbgrader"), "autograde", ASSIGNMENT,
        f"--CourseDirectory.root={course}",
    ]  # fmt: skip


def _theirs_here(made: Class, work: Path) -> list[str]:
    """nbgrader's own assignment, with its test cells, graded by us."""
    return [
        sys.executable, "-m", "grader", "grade", str(made.nbgrader / "submitted"),
        "--format", "nbgrader", "--source", str(made.nbgrader / "source" / ASSIGNMENT),
        "--out", str(work / "results"),
    ]  # fmt: skip


def _theirs_here_marks(made: Class, work: Path) -> Marks:
    return {
        student: {
            name.removeprefix("test-").replace("-", "_"): points for name, points in marks.items()
        }
        for student, marks in _ours_marks(made, work).items()
    }


def _nbgrader_marks(_made: Class, work: Path) -> Marks:
    worker, book = str(WORKERS / "nbgrader_marks.py"), str(work / "course" / "gradebook.db")
    _call([str(NBGRADER.python), worker, book, str(work / _OUT)], work, NBGRADER)
    return _written_marks(_made, work)


def _call(command: list[str], folder: Path, peer: Peer = OTTER) -> None:
    path = os.pathsep.join((str(peer.bin), os.environ.get("PATH", os.defpath)))
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": path},
    )  # fmt: skip
    if done.returncode:
        raise FailedError(f"{Path(command[0]).name}: {last_line(done.stderr)}")


def last_line(text: str) -> str:
    """The last thing that was said."""
    return (text.strip().splitlines() or ["no message"])[-1].strip()[:200]


def differences(marks: Mapping[str, Mapping[str, float | None]], made: Class) -> list[str]:
    """The marks that are not what they must be."""
    wrong = []
    for student, answers in made.truth().items():
        for name, points in answers.items():
            got = marks.get(student, {}).get(name)
            if got is None or abs(got - points) > _TINY:
                wrong.append(f"{name} of {student} is {got}, not {points}")
    return wrong


CONTENDERS: tuple[Contender, ...] = (
    Contender(
        name="ours",
        label="grader grade",
        command=_ours(),
        marks=_ours_marks,
    ),
    Contender(
        name="ours-off",
        label="grader grade --sandbox off",
        command=_ours("--sandbox", "off"),
        marks=_ours_marks,
    ),
    Contender(
        name="ours-one",
        label="grader grade --jobs 1",
        command=_ours("--jobs", "1"),
        marks=_ours_marks,
    ),
    Contender(
        name="ours-cold",
        label="grader grade, cold kernels",
        command=_ours(cold=True),
        marks=_ours_marks,
        slow=True,
    ),
    Contender(
        name="ours-nbgrader",
        label="grader grade --format nbgrader",
        command=_theirs_here,
        marks=_theirs_here_marks,
    ),
    Contender(
        name="nbgrader",
        label="nbgrader autograde",
        command=_nbgrader,
        marks=_nbgrader_marks,
        slow=True,
        peer=NBGRADER,
    ),
    Contender(
        name="otter",
        label="Otter-Grader, one process",
        command=_otter(),
        marks=_written_marks,
        slow=True,
        peer=OTTER,
    ),
    Contender(
        name="otter-two",
        label="Otter-Grader, two processes",
        command=_otter("2"),
        marks=_written_marks,
        slow=True,
        peer=OTTER,
    ),
    Contender(
        name="nbclient",
        label="nbclient, one process",
        command=_plain("plain_nbclient.py"),
        marks=_written_marks,
        slow=True,
    ),
    Contender(
        name="nbclient-two",
        label="nbclient, two processes",
        command=_plain("plain_nbclient.py", "2"),
        marks=_written_marks,
        slow=True,
    ),
    Contender(
        name="floor",
        label="bare cells, one warm process",
        command=_plain("bare_cells.py"),
        marks=_written_marks,
        loop=True,
    ),
    Contender(
        name="floor-apart",
        label="bare cells, a fork for each notebook",
        command=_plain("bare_cells.py", "--apart"),
        marks=_written_marks,
        loop=True,
    ),
)
BY_NAME = {contender.name: contender for contender in CONTENDERS}
