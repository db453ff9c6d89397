"""Gradescope's autograder on an image with nothing on it, as the harness there runs it.

The image is Debian's, made here by debootstrap; GRADER_IMAGE="SUITE MIRROR" names another, such as
"noble MIRROR" with the address of an archive of Ubuntu.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from grader.notebook import Cell, read, write
from tests.helpers.gradescope import CONTAINER, ROSTER, checked, command, metadata

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MB = 768
NAMESPACES = ("unshare", "--mount", "--pid", "--fork", "--kill-child")
SYSTEM = """\
mount --make-rprivate / && mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/dev" || exit 9
for name in null zero full random urandom; do
  touch "$0/dev/$name" && mount --bind "/dev/$name" "$0/dev/$name" || exit 9
done
mkdir "$0/dev/shm" && chmod 1777 "$0/dev/shm" && ln -s /proc/self/fd "$0/dev/fd" && exec "$@"
"""
WATCH = """\
/autograder/run_autograder || echo "exit $?"
for process in /proc/[0-9]*; do
  case "$(tr '\\0' ' ' <"$process/cmdline")" in *LEFT"-BEHIND"*) echo "left: $process" ;; esac
done
"""


@dataclass(frozen=True)
class Image:
    """A root that a harness could have made."""

    root: Path

    @property
    def autograder(self) -> Path:
        return self.root / "autograder"

    def inside(
        self, script: str, *, net: bool = True, container: bool = False, group: Group | None = None
    ) -> subprocess.CompletedProcess[str]:
        """What bash makes of *script* in there, with no more than the harness gives it."""
        wall = [sys.executable, "-c", CONTAINER] if container else []
        bare = ["env", "-i", f"PATH={PATH}", "SECRET_OF_OURS=1"]
        apart = [*NAMESPACES, *([] if net else ["--net"])]
        start = ["bash", "-c", SYSTEM, str(self.root), *wall, "chroot", str(self.root), *bare]
        return subprocess.run(
            [*apart, *start, "bash", "-c", f"cd /autograder && {script}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=280,
            preexec_fn=group.enter if group else None,
        )

    def run(
        self, notebook: Path | bytes, group: Group | None = None
    ) -> tuple[dict[str, Any], subprocess.CompletedProcess[str]]:
        """`results.json` after the autograder has run, and how it ran."""
        handed = self.autograder / "submission" / "midterm.ipynb"
        handed.write_bytes(notebook if isinstance(notebook, bytes) else notebook.read_bytes())
        metadata(self.autograder)
        results = self.autograder / "results" / "results.json"
        results.unlink(missing_ok=True)
        done = self.inside(WATCH, container=True, group=group)
        return json.loads(results.read_bytes()), done


class Group:
    """A control group that may use so much memory, of either version; None can be made without."""

    def __init__(self, folder: Path, limit: str, events: str):
        self.folder, self._limit, self._events = folder, limit, events
        folder.mkdir()
        (folder / limit).write_text(str(MB << 20))

    def enter(self) -> None:
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def killed(self) -> int:
        lines = (self.folder / self._events).read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))


@contextlib.contextmanager
def limited() -> Iterator[Group | None]:
    """A group of 768 MB; None where there can be none."""
    top = Path("/sys/fs/cgroup")
    ways = (
        (top / "memory", "memory.limit_in_bytes", "memory.oom_control"),
        (top, "memory.max", "memory.events"),
    )
    for folder, limit, events in ways:
        name = folder / f"grader-test-{os.getpid()}"
        try:
            group = Group(name, limit, events)
        except OSError:
            with contextlib.suppress(OSError):
                name.rmdir()
            continue
        try:
            yield group
        finally:
            name.rmdir()
        return
    yield None


@pytest.fixture(scope="module")
def bare() -> Iterator[Path]:
    """The root of an image that has Python, but neither pip nor venv."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root on Linux can make an image")
    for needed in ("debootstrap", "unshare", "setpriv", "chroot"):
        if not shutil.which(needed):
            pytest.skip(f"{needed} is not installed")
    if subprocess.run([*NAMESPACES, "mount", "--make-rprivate", "/"]).returncode:
        pytest.skip("no namespaces can be made here")
    suite, *mirror = os.environ.get("GRADER_IMAGE", "bookworm").split()
    with tempfile.TemporaryDirectory(prefix="image-") as made:
        Path(made).chmod(0o755)
        root = Path(made) / "root"
        packages = "--include=ca-certificates,python3"
        words = ["debootstrap", "--variant=minbase", packages, suite, str(root), *mirror]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"no image could be made: {(done.stdout + done.stderr)[-200:]}")
        (root / "etc" / "resolv.conf").write_text(Path("/etc/resolv.conf").read_text())
        yield root


@pytest.fixture(scope="module")
def course() -> Iterator[Path]:
    """A release, the notebook that answers it, and the wheel of this package."""
    with tempfile.TemporaryDirectory(prefix="course-") as made:
        folder = Path(made)
        (folder / "roster.csv").write_text(ROSTER)
        release = str(folder / "release")
        render = ("render", "midterm", "--roster", str(folder / "roster.csv"), "--out", release)
        command(*render, "--private-key", "t")
        command("solve", release, "--student", "ada", "--out", str(folder / "right.ipynb"))
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
        done = subprocess.run(
            [*pip, "--wheel-dir", str(folder / "dist"), str(ROOT)], capture_output=True, text=True
        )
        if done.returncode:
            pytest.skip(f"the wheel could not be built: {done.stderr[-300:]}")
        yield folder


def tree(bare: Path, course: Path, where: Path) -> Image:
    """The image as the harness lays it out of a zip, before setup.sh."""
    image = Image(where / "root")
    subprocess.run(["cp", "-a", str(bare), str(image.root)], check=True)
    out = where / "autograder.zip"
    (wheel,) = (course / "dist").glob("*.whl")
    release = str(course / "release")
    command("classroom", "gradescope", release, "--out", str(out), "--grader-source", str(wheel))
    for name in ("source", "submission", "results"):
        (image.autograder / name).mkdir(parents=True)
    with zipfile.ZipFile(out) as archive:
        for entry in archive.infolist():
            made = Path(archive.extract(entry, image.autograder / "source"))
            made.chmod(entry.external_attr >> 16 & 0o777)
    shutil.copy2(image.autograder / "source" / "run_autograder", image.autograder)
    return image


def _reach_packages(root: Path) -> None:
    """Lets pip in there go where pip goes here."""
    for name in ("etc/ssl/certs/ca-certificates.crt", "etc/pip.conf"):
        if Path("/", name).exists():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(Path("/", name).read_bytes())


@pytest.fixture(scope="module")
def image(bare: Path, course: Path) -> Iterator[Image]:
    """The image after setup.sh."""
    with tempfile.TemporaryDirectory(prefix="image-") as made:
        Path(made).chmod(0o755)
        image = tree(bare, course, Path(made))
        _reach_packages(image.root)
        done = image.inside("bash source/setup.sh")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "setup: done" in done.stdout
        yield image


def with_cell(notebook: Path, source: str) -> bytes:
    found = read(notebook.read_bytes())
    return write((*found.cells, Cell(type="code", id="more", source=source)), found.metadata)


def test_an_exam_without_torch_is_graded_in_768_mb(image: Image, course: Path) -> None:
    with limited() as group:
        document, done = image.run(course / "right.ipynb", group)
        assert (document["score"], done.stdout) == (48, "ada: 48 of 48 points\n"), done.stderr
        checked((image.autograder / "results" / "results.json").read_bytes())
        blank = course / "release" / "notebooks" / "ada.ipynb"
        document, done = image.run(blank, group)
        assert (document["score"], done.stdout) == (0, "ada: 0 of 48 points\n"), done.stderr
        assert group is None or group.killed() == 0


HOG = """\
import os
for _ in range({forks}):
    if os.fork() == 0:
        break
kept = [bytearray(b"1" * 10_000_000) for _ in range(200)]
"""


@pytest.mark.parametrize("forks", [0, 3], ids=["one process", "several"])
def test_who_takes_all_memory_keeps_what_was_earned(forks: int, image: Image, course: Path) -> None:
    with limited() as group:
        if group is None:
            pytest.skip("no control group can be made here")
        document, done = image.run(
            with_cell(course / "right.ipynb", HOG.format(forks=forks)), group
        )
        assert (document["score"], done.stdout) == (48, "ada: 48 of 48 points\n"), done.stderr
        # One process is refused more; several together are ended.
        said = "used more memory than allowed" if forks else "MemoryError (limit: "
        assert said in document["output"]
        assert group.killed() == 0


HOSTILE = """\
import os, pathlib, socket, subprocess, sys, sysconfig
got = []
root = pathlib.Path("/autograder")
for path in (*(root / "source" / n for n in ("release.json", "settings.json", "interpreter")),
             root / "results/results.json", root / "submission_metadata.json", "/etc/shadow",
             "/proc/1/environ", f"/proc/{os.getppid()}/environ", f"/proc/{os.getppid()}/mem"):
    try:
        with open(path, "rb") as file:
            got.append(f"read {path}: {file.read(20)!r}")
    except OSError:
        pass
for path in (root / "results/results.json", root / "results/stdout", root / "run_autograder",
             root / "submission/new.ipynb", root / "new", "/opt/grader/new"):
    try:
        pathlib.Path(path).write_text('{"score": 1000}')
        got.append(f"wrote {path}")
    except OSError:
        pass
for folder in (root / "source", "/root"):
    try:
        got.append(f"listed {os.listdir(folder)}")
    except OSError:
        pass
try:
    os.setuid(0)
    got.append("root")
except OSError:
    pass
if os.getuid() == 0 or "SECRET_OF_OURS" in os.environ:
    got.append("root's")
try:
    socket.create_connection(("192.0.2.1", 80), timeout=1)
    got.append("network")
except PermissionError:
    pass
except OSError as error:
    got.append(f"network: {error}")
bank = pathlib.Path(sysconfig.get_path("purelib"), "grader")
got += [] if (bank / "_bank" / "templates").is_dir() else ["no package there"]
secret = ("_bank/solutions", "_bank/problems", "_attacks")
got += [name for name in secret if (bank / name).exists()]
wait = "import os, time; os.setsid(); os.fork() and os._exit(0); time.sleep(100)"
subprocess.Popen([sys.executable, "-c", wait, "LEFT-BEHIND"])
print('{"score": 1000}')
raise RuntimeError("GOT " + ("; ".join(got) or "nothing"))
"""


def test_hostile_code_gets_nothing_and_leaves_nothing(image: Image, course: Path) -> None:
    document, done = image.run(with_cell(course / "right.ipynb", HOSTILE))
    assert "GOT nothing" in document["output"], document["output"]
    assert (document["score"], done.stdout) == (48, "ada: 48 of 48 points\n"), done.stderr


def test_who_may_read_what_there(image: Image) -> None:
    source = image.autograder / "source"
    assert {p.stat().st_mode & 0o077 for p in (source, *source.rglob("*"))} == {0}
    assert (image.autograder / "results").stat().st_mode & 0o007 == 0
    line = next(x for x in (image.root / "etc/passwd").read_text().splitlines() if "student" in x)
    assert line.endswith("nologin")
