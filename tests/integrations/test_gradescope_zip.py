"""Gradescope's autograder, step by step in a real shell, in a folder in place of /autograder."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.cli import main
from grader.integrations.gradescope.autograder import (
    RunSettings,
    autograder_zip,
    network_problems,
)
from grader.integrations.gradescope.grading import autograde, find_submitters, leave_open
from grader.integrations.install import Source, source_of
from grader.model import Student, Verdict
from grader.model.exported import Result
from grader.model.result import Feedback, ShownPart, ShownProblem, Standing
from grader.notebook import Cell, read, write
from grader.release.file import load_release
from grader.runtime.sandbox import choose_sandbox as sandbox_of
from tests.helpers.classroom import SOURCE
from tests.helpers.gradescope import CONTAINER, ROSTER, checked, command, metadata

linux = pytest.mark.skipif(sys.platform != "linux", reason="Gradescope's images are Linux")
ROOT = Path(__file__).parents[2]
NOBODY = "nobody"  # whom this machine has already, in place of the user that setup.sh adds


@pytest.fixture(scope="module")
def course() -> Iterator[Path]:
    """A release of three students, and the zip of its autograder."""
    with tempfile.TemporaryDirectory(prefix="gradescope-") as made:
        folder = Path(made)
        folder.chmod(0o755)  # so that what keeps student code out is the autograder's own doing
        roster = folder / "roster.csv"
        roster.write_text(ROSTER)
        release = str(folder / "release")
        out = ("--out", release, "--private-key", "t")
        command("render", "midterm", "--roster", str(roster), *out)
        (folder / "release").chmod(0o700)
        layers = {one.name for one in sandbox_of("auto").sandbox.layers() if one.present}
        sandbox = "required:user" if "user" in layers else "auto"
        arguments = ("--out", str(folder / "autograder.zip"), "--rate", "2/60")
        command("classroom", "gradescope", release, *arguments, "--sandbox", sandbox)
        yield folder


@pytest.fixture
def tree(course: Path) -> Iterator[Path]:
    """A tree as /autograder is when the image is built, after setup.sh."""
    root = course / f"root-{time.monotonic_ns()}"
    for name in ("source", "submission", "results"):
        (root / name).mkdir(parents=True)
    subprocess.run(
        [sys.executable, "-c", _UNZIP, str(course / "autograder.zip"), str(root / "source")],
        check=True,
    )
    shutil.copy2(root / "source" / "run_autograder", root / "run_autograder")
    done = shell(root, str(root / "source" / "setup.sh"))
    assert done.returncode == 0, done.stderr
    metadata(root)
    yield root
    shutil.rmtree(root)


_UNZIP = """\
import pathlib, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as archive:
    for entry in archive.infolist():
        path = pathlib.Path(archive.extract(entry, sys.argv[2]))
        path.chmod(entry.external_attr >> 16 & 0o777)
"""


def for_all() -> bool:
    """Whether others than root may run this Python, as student code in a container is one."""
    folders = (Path(sys.base_prefix), *Path(sys.base_prefix).parents)
    return all(folder.stat().st_mode & 0o001 for folder in folders)


def shell(root: Path, *words: str, container: bool = False) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": f"{os.defpath}:/usr/sbin:/sbin",
        "AUTOGRADER_ROOT": str(root),
        "GRADER_PYTHON": sys.executable,
        "GRADER_STUDENT": NOBODY,
        "GRADER_GUESS": "a variable that student code has no business with",
    }
    inside = [sys.executable, "-c", CONTAINER] if container else []
    return subprocess.run(
        [*inside, *words], cwd="/", env=environment, capture_output=True, text=True, timeout=120
    )


def run(root: Path, *, container: bool = False) -> tuple[dict[str, Any], str]:
    """What is in results.json after the autograder has run, and what it printed."""
    done = shell(root, str(root / "run_autograder"), container=container)
    assert done.returncode == 0, done.stderr
    return json.loads((root / "results" / "results.json").read_text()), done.stdout + done.stderr


def run_here(root: Path) -> tuple[dict[str, Any], str]:
    """The same without the shell around it, in this process."""
    done = autograde(root)
    assert (root / "results" / "results.json").read_bytes() == done.data
    return json.loads(done.data), done.sentence + "\n"


def ungraded(document: dict[str, Any]) -> str:
    """The text of a result that has no score anywhere, so that it is no zero."""
    assert "score" not in document
    assert all("score" not in test for test in document["tests"])
    assert document["visibility"] == "visible"
    return str(document["output"])


def hand_in(root: Path, course: Path, student: str, name: str = "midterm.ipynb") -> Path:
    target = root / "submission" / name
    target.parent.mkdir(exist_ok=True)
    shutil.copyfile(course / "release" / "notebooks" / f"{student}.ipynb", target)
    return target


def solve(root: Path, course: Path, student: str, name: str = "midterm.ipynb") -> None:
    target = str(root / "submission" / name)
    command("solve", str(course / "release"), "--student", student, "--out", target)


# The zip


def test_the_zip_has_its_scripts_at_the_root_with_unix_line_ends(course: Path) -> None:
    data = (course / "autograder.zip").read_bytes()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
        for name in ("setup.sh", "run_autograder"):
            text = archive.read(name)
            assert text.startswith(b"#!/usr/bin/env bash\n")
            assert b"\r" not in text
            assert entries[name].external_attr >> 16 == 0o100755
        assert entries["release.json"].external_attr >> 16 == 0o100600
        assert {entry.create_system for entry in entries.values()} == {3}
        release = archive.read("release.json")
    assert release == (course / "release" / "release.json").read_bytes()
    if os.name == "posix":
        assert (course / "autograder.zip").stat().st_mode & 0o077 == 0


def files_of(source: Source = SOURCE, **changes: Any) -> dict[str, bytes]:
    arguments = (RunSettings(**changes), b"{}", "Midterm", source, (ROOT / "templates",))
    data = autograder_zip(*arguments)
    assert data == autograder_zip(*arguments)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def a_wheel(folder: Path) -> Source:
    path = folder / "systems_grader-0.1.0-py3-none-any.whl"
    path.write_bytes(b"x")
    return source_of(str(path))


def test_a_wheel_on_this_machine_goes_into_the_zip(tmp_path: Path) -> None:
    usual = files_of(a_wheel(tmp_path))
    assert usual["wheels/systems_grader-0.1.0-py3-none-any.whl"] == b"x"
    assert usual["requirements.txt"] == b"./wheels/systems_grader-0.1.0-py3-none-any.whl\n"
    assert files_of()["requirements.txt"] == f"systems-grader @ {SOURCE.url}\n".encode()
    # torch is installed separately, so that its index serves no other package.
    torch = files_of(a_wheel(tmp_path), torch=True)
    assert torch["requirements.txt"] == usual["requirements.txt"]
    line = next(x for x in torch["setup.sh"].splitlines() if b"download.pytorch.org" in x)
    assert line.strip().startswith(b"fetch --extra-index-url")
    assert line.split()[-2:] == [b"torch", b"||"]
    assert b"torch" not in usual["setup.sh"].replace(b"without torch", b"").replace(
        b"torch itself", b""
    )


def test_the_memory_is_that_of_the_smallest_container_that_will_do() -> None:
    found = [
        RunSettings(**json.loads(files_of(**changes)["settings.json"]))
        for changes in ({}, {"torch": True}, {"torch": True, "memory_mb": 3072})
    ]
    assert [one.container_mb for one in found] == [768, 1536, 3072]
    assert [one.torch for one in found] == [False, True, True]


@linux
@pytest.mark.parametrize("torch", [False, True])
def test_bash_can_read_the_scripts(torch: bool, tmp_path: Path) -> None:
    files = files_of(torch=torch)
    for name in ("setup.sh", "run_autograder"):
        (tmp_path / name).write_bytes(files[name])
        subprocess.run(["bash", "-n", str(tmp_path / name)], check=True)
        if checker := shutil.which("shellcheck"):
            subprocess.run([checker, str(tmp_path / name)], check=True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--rate", "often"),
        ("--rate", "0/60"),
        ("--rate", "3"),
        ("--grader-source", "systems-grader"),
    ],
)
def test_what_can_not_be_understood_is_refused(
    arguments: tuple[str, str], course: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "a.zip"
    with pytest.raises(SystemExit) as stop:
        main(["classroom", "gradescope", str(course / "release"), "--out", str(out), *arguments])
    assert stop.value.code == 2
    assert "fix:" in capsys.readouterr().err
    assert not out.exists()


STUBS = {
    # As on Ubuntu 22.04: a Python that is too old, and whose pip can fetch uv.
    "python3": """\
case "$*" in
  *"-m pip install"*"--target"*)
    test -z "$NO_PYPI" || exit 1
    while [ "$1" != --target ]; do shift; done
    mkdir -p "$2/bin" && cp "$STUBS/uv" "$2/bin/uv" ;;
  *"-m pip"*) ;;
  *) exit 1 ;;
esac
""",
    "uv": """\
test -z "$NO_GITHUB" || exit 1
case "$*" in
  "python install 3.12") ;;
  "python find 3.12") echo "$STUBS/new" ;;
  *) exit 1 ;;
esac
""",
    "apt-get": """\
test -z "$NO_ARCHIVE" || exit 1
case "$*" in
  update*) : >"$STUBS/updated" ;;
  *" python3.1"[12]" "*)
    test -e "$STUBS/updated" || exit 1
    for name in "$@"; do
      case $name in python3.1[12]) cp "$STUBS/new" "$STUBS/$name" ;; esac
    done
    ;;
  *) exit 1 ;;
esac
""",
    # The lists of 22.04 have a candidate of 3.11; those of 24.04, 3.12.
    "apt-cache": """\
case "$*" in
  *python3.11-venv) echo "python3.11-venv | 3.11.0~rc1-1~22.04.1 | jammy-updates" ;;
  *python3.12-venv) test -z "$NEWER" || echo "python3.12-venv | 3.12.3-1 | noble" ;;
esac
""",
    # A Python that is new enough, and what a venv makes of it.
    "new": """\
case "$*" in
  *"sys.exit("*"'candidate'"*) ;;
  *"sys.exit("*) test "${0##*/}" != python3.11 ;;
  *"-m venv"*) mkdir -p "${!#}/bin" && cp "$0" "${!#}/bin/python" ;;
  *"print(pathlib"*) echo "$PACKAGE" ;;
  *"-m pip install"*) echo "pip $*" >>"$STUBS/said" ;;
  *) ;;
esac
""",
}


def a_machine(folder: Path) -> Path:
    """A folder of commands: the few real ones that the script needs, and stubs of the others."""
    made = folder / "bin"
    made.mkdir()
    for name in ("bash", "mktemp", "rm", "cp", "mkdir", "chmod", "id", "cat"):
        (made / name).symlink_to(str(shutil.which(name)))
    for name, text in STUBS.items():
        (made / name).write_text(f"#!{shutil.which('bash')}\n{text}")
        (made / name).chmod(0o755)
    return made


@linux
@pytest.mark.parametrize(
    ("missing", "found"),
    [
        ((), "new"),
        (("NEWER",), "python3.12"),
        (("NO_PYPI",), "python3.11"),
        (("NO_GITHUB",), "python3.11"),
        (("NO_GITHUB", "NO_ARCHIVE"), None),
        (("NO_GITHUB", "TORCH"), None),
        (("NEWER", "NO_GITHUB", "TORCH"), "python3.12"),
    ],
)
def test_setup_finds_a_python_on_an_old_image(
    missing: tuple[str, ...], found: str | None, tmp_path: Path
) -> None:
    stubs = a_machine(tmp_path)
    root, package = tmp_path / "root", tmp_path / "package"
    for part in ("_bank/problems", "_bank/solutions", "_bank/templates", "_attacks"):
        (package / part).mkdir(parents=True)
    (root / "source" / "wheels").mkdir(parents=True)
    torch = "TORCH" in missing
    for name, data in files_of(a_wheel(tmp_path), torch=torch).items():
        (root / "source" / name).write_bytes(data)
    environment = {
        "PATH": str(stubs),
        "STUBS": str(stubs),
        "PACKAGE": str(package),
        "AUTOGRADER_ROOT": str(root),
        "GRADER_VENV": str(tmp_path / "venv"),
        "GRADER_STUDENT": NOBODY,
        **dict.fromkeys(missing, "1"),
    }
    script = [str(shutil.which("bash")), str(root / "source" / "setup.sh")]
    done = subprocess.run(script, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode == 0) is (found is not None), done.stderr
    if found is None:
        assert "choose a base image that has Python 3.11 or newer" in done.stderr
        return
    assert f", {stubs}/{found}\n" in done.stdout
    # The candidate is not even installed while anything else will do.
    assert (stubs / "python3.11").exists() is (found == "python3.11")
    assert (root / "source" / "interpreter").read_text() == f"{tmp_path}/venv/bin/python\n"
    said = (stubs / "said").read_text()
    assert "-r requirements.txt" in said
    # Solutions are no business of a machine on which students' code runs.
    assert [p.name for p in (package / "_bank").iterdir()] == ["templates"]
    assert not (package / "_attacks").exists()


# Who it is


ROLL = {
    s.id: s
    for s in (
        Student(id="ada", email="ada@uni.example"),
        Student(id="bo"),
        Student(id="4711"),
        Student(id="cy@uni.example"),
        Student(id="twin", email="same@uni.example"),
        Student(id="other", email="SAME@uni.example"),
    )
}


@pytest.mark.parametrize(
    ("user", "student"),
    [
        ({"email": "Ada@Uni.example", "id": 1}, "ada"),
        ({"email": "ada@elsewhere.example", "id": 1}, None),
        ({"email": "bo@elsewhere.example", "id": 1}, "bo"),
        ({"email": "x@y.example", "id": 4711}, "4711"),
        ({"email": "cy@uni.example", "id": 1}, "cy@uni.example"),
        ({"email": "same@uni.example", "id": 1}, None),
        ({"email": None, "id": True}, None),
        ({"email": ["ada"], "id": {}}, None),
        ({}, None),
    ],
)
def test_people_are_found_by_what_gradescope_knows(
    user: dict[str, Any], student: str | None
) -> None:
    found = find_submitters(ROLL, {"users": [user]})
    assert found == ([student] if student else [])


@pytest.mark.parametrize("users", [None, 3, "ada", [None, 4], {}])
def test_nonsense_for_users_is_nobody(users: object) -> None:
    assert find_submitters(ROLL, {"users": users}) == []


# A run


@pytest.mark.thorough
@linux
def test_the_solved_notebook_earns_everything(tree: Path, course: Path) -> None:
    solve(tree, course, "ada")
    document, printed = run(tree)
    checked((tree / "results" / "results.json").read_bytes())
    assert document["score"] == sum(test["max_score"] for test in document["tests"]) == 48
    assert {test["status"] for test in document["tests"]} == {"passed"}
    assert document["extra_data"]["counted"] == ["2026-11-02T10:00:00.000000-08:00"]
    assert printed == "ada: 48 of 48 points\n"
    # The answers that are accepted stay in the release.
    assert all("solution" not in test["name"] for test in document["tests"])


@linux
def test_the_untouched_notebook_earns_nothing(tree: Path, course: Path) -> None:
    hand_in(tree, course, "bo")
    metadata(tree, {"email": "bo@anywhere.example", "id": 5})
    document, _ = run_here(tree)
    checked((tree / "results" / "results.json").read_bytes())
    assert document["score"] == 0
    assert {test["status"] for test in document["tests"]} == {"failed"}


@linux
def test_setup_closes_what_students_must_not_read(tree: Path) -> None:
    modes = {p.name: p.stat().st_mode & 0o077 for p in (tree / "source").iterdir()}
    assert set(modes.values()) == {0}
    assert (tree / "source").stat().st_mode & 0o077 == 0
    assert (tree / "results").stat().st_mode & 0o007 == 0


HOSTILE = """\
import os, pathlib, signal
got = []
root = pathlib.Path({root!r})
for path in (root / "source" / "release.json", root / "source" / "settings.json",
             root / "results" / "results.json", root / "submission_metadata.json",
             pathlib.Path("/proc/1/environ"), pathlib.Path(f"/proc/{{os.getppid()}}/environ")):
    try:
        got.append(f"read {{path}}: {{path.read_bytes()[:20]!r}}")
    except OSError:
        pass
for path in (root / "results" / "results.json", root / "results" / "stdout",
             root / "run_autograder", root / "source" / "settings.json",
             root / "submission" / "new.ipynb"):
    try:
        path.write_text('{{"score": 1000}}')
        got.append(f"wrote {{path}}")
    except OSError:
        pass
try:
    got.append(f"listed {{os.listdir(root / 'source')}}")
except OSError:
    pass
if os.getuid() == 0:
    got.append("root")
if "GRADER_GUESS" in os.environ:
    got.append("environment")
print('{{"score": 1000}}')
raise RuntimeError("GOT " + ("; ".join(got) or "nothing"))
"""


@pytest.mark.thorough
@linux
@pytest.mark.parametrize("container", [False, True], ids=["walled", "container"])
def test_hostile_code_gets_nothing_and_hostile_text_stays_text(
    tree: Path, course: Path, container: bool
) -> None:
    if os.geteuid() != 0 or (container and not shutil.which("setpriv")):
        pytest.skip("only root can stand for Gradescope's root")
    if container and not for_all():
        pytest.skip("this Python lies in a folder that only root may enter")
    path = hand_in(tree, course, "ada")
    cells = [*read(path.read_bytes()).cells]
    cells.append(Cell(type="code", id="evil", source=HOSTILE.format(root=str(tree))))
    odd = "<script>alert(1)</script> ::set-output:: ![x](http://e.example/p.png) \x1b[31m"
    cells.append(
        Cell(type="code", id="odd", source=f"q1_per_gpu = {odd!r}\nraise ValueError({odd!r})")
    )
    path.write_bytes(write(tuple(cells), read(path.read_bytes()).metadata))
    before = hashlib.sha256((tree / "source" / "release.json").read_bytes()).hexdigest()
    document, printed = run(tree, container=container)
    checked((tree / "results" / "results.json").read_bytes())
    assert "GOT nothing" in document["output"]
    assert document["score"] == 0
    assert document["output_format"] == document["test_output_format"] == "text"
    assert "\x1b" not in json.dumps(document, ensure_ascii=False)
    assert printed == "ada: 0 of 48 points\n"
    after = hashlib.sha256((tree / "source" / "release.json").read_bytes()).hexdigest()
    assert before == after


@linux
def test_a_stranger_reads_what_to_do_and_gets_no_zero(tree: Path, course: Path) -> None:
    hand_in(tree, course, "ada")
    metadata(tree, {"email": "eve@uni.example", "id": 9, "name": "Eve"})
    document, printed = run_here(tree)
    text = ungraded(document)
    assert "eve@uni.example" in text
    assert "roster" in text
    assert "eve@uni.example" in printed


@pytest.mark.thorough
@linux
def test_too_soon_keeps_the_last_score(tree: Path, course: Path) -> None:
    solve(tree, course, "ada")
    earlier = [
        {"submission_time": f"2026-11-02T09:{minute}:00.000000-08:00", "score": score}
        for minute, score in ((30, 3.0), (45, 7.5))
    ]
    metadata(tree, previous_submissions=earlier)
    document, _ = run_here(tree)
    checked((tree / "results" / "results.json").read_bytes())
    assert document["score"] == 7.5
    assert "Submit again after 2026-11-02T10:30:00" in document["output"]
    metadata(tree, previous_submissions=earlier, created_at="2026-11-02T10:30:00.000000-08:00")
    assert run_here(tree)[0]["score"] == 48


@pytest.mark.thorough
@linux
def test_two_notebooks_and_which_was_graded(tree: Path, course: Path) -> None:
    hand_in(tree, course, "bo", "aaa/bo.ipynb")
    solve(tree, course, "ada", "zzz.ipynb")
    document, _ = run_here(tree)
    assert document["score"] == 48
    assert "handed in 2 notebooks" in document["output"]
    assert "not ada/aaa/bo.ipynb" in document["output"]


@pytest.mark.thorough
@linux
def test_no_notebook_and_something_else_in_its_place(tree: Path) -> None:
    (tree / "submission" / "exam.pdf").write_bytes(b"%PDF-1.7")
    document, _ = run_here(tree)
    assert ".ipynb" in ungraded(document)
    (tree / "submission" / "exam.ipynb").write_bytes(b"%PDF-1.7")
    document, _ = run_here(tree)
    assert "PDF" in ungraded(document)


@pytest.mark.thorough
@linux
def test_a_group_is_graded_by_the_numbers_of_the_one_who_worked(tree: Path, course: Path) -> None:
    solve(tree, course, "bo")
    both = ({"email": "ada@uni.example", "id": 1}, {"email": "bo@uni.example", "id": 2})
    metadata(tree, *both)
    document, printed = run_here(tree)
    assert document["score"] == 48
    assert "numbers of bo" in document["output"]
    assert printed.startswith("bo: 48")
    # Colab and others lose what says whose it is: then the numbers themselves do.
    path = tree / "submission" / "midterm.ipynb"
    path.write_bytes(write(read(path.read_bytes()).cells, {}))
    document, printed = run_here(tree)
    assert printed.startswith("bo: 48")


@linux
@pytest.mark.parametrize(
    "harm",
    ["metadata", "nonsense", "settings", "release", "interpreter"],
)
def test_our_own_faults_are_no_zero(tree: Path, course: Path, harm: str) -> None:
    hand_in(tree, course, "ada")
    source = tree / "source"
    if harm == "metadata":
        (tree / "submission_metadata.json").unlink()
    elif harm == "nonsense":
        (tree / "submission_metadata.json").write_text('["created_at"]')
    elif harm == "interpreter":
        (source / "interpreter").write_text("/no/such/python\n")
    else:
        (source / f"{harm}.json").write_text("{}")
    document, printed = run(tree) if harm == "interpreter" else run_here(tree)
    assert "not your fault" in ungraded(document)
    assert "not graded" in printed
    assert "Traceback" not in printed


@pytest.mark.thorough
@linux
def test_what_students_could_read_is_not_used(tree: Path, course: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives up rights")
    hand_in(tree, course, "ada")
    script = (tree / "run_autograder").read_text().replace('chmod o= "$RESULTS" "$SOURCE"', "true")
    (tree / "run_autograder").write_text(script)
    (tree / "source").chmod(0o755)
    (tree / "source" / "release.json").chmod(0o644)
    document, printed = run(tree)
    assert "not your fault" in ungraded(document)
    assert "could read" in printed


@pytest.mark.thorough
@linux
def test_whoever_takes_too_long_is_ended_in_time(tree: Path, course: Path) -> None:
    hand_in(tree, course, "ada")
    script = (tree / "run_autograder").read_text()
    assert "timeout --kill-after=10 570" in script
    (tree / "run_autograder").write_text(script.replace("570", "0.5"))
    document, printed = run(tree)
    ungraded(document)
    assert "took longer" in printed


# How much it takes


def _tree_of(pid: int) -> set[int]:
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            fields = (path / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(path.name))
    found, waiting = {pid}, [pid]
    while waiting:
        for child in parents.get(waiting.pop(), []):
            found.add(child)
            waiting.append(child)
    return found


def _proportional(pid: int) -> int:
    """Bytes in memory, where what several processes share is shared out between them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


@linux
@pytest.mark.slow
def test_a_run_without_torch_fits_into_768_mb(tree: Path, course: Path) -> None:
    solve(tree, course, "ada")
    peaks = []
    for container in (False, True):
        if container and (os.geteuid() or not shutil.which("setpriv") or not for_all()):
            continue
        (tree / "results" / "results.json").unlink(missing_ok=True)
        environment = {
            "PATH": f"{os.defpath}:/usr/sbin:/sbin",
            "AUTOGRADER_ROOT": str(tree),
            "GRADER_STUDENT": NOBODY,
        }
        inside = [sys.executable, "-c", CONTAINER] if container else []
        process = subprocess.Popen(
            [*inside, str(tree / "run_autograder")], env=environment, stdout=subprocess.DEVNULL
        )
        peak = 0
        while process.poll() is None:
            peak = max(peak, sum(map(_proportional, _tree_of(process.pid))))
            time.sleep(0.02)
        assert json.loads((tree / "results" / "results.json").read_text())["score"] == 48
        peaks.append(peak)
    print("peak memory of all processes:", *(f"{peak / 1e6:.0f} MB" for peak in peaks))
    # What a container counts beside it are pages of files, which it can take back.
    assert 50e6 < max(peaks) < 300e6


# What a container can't judge


def _shown(name: str, kind: str, points: float | None, verdict: Verdict) -> ShownPart:
    return ShownPart(
        id=name,
        name=name,
        kind=kind,
        ask="",
        answer="x",
        verdict=verdict,
        why="why",
        look_at="look",
        points=points,
        max_points=6.0,
    )


def test_code_that_could_not_talk_between_processes_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(
        "id: two\ntitle: Two\nproblems: [ring-all-reduce-messages, grid-stride-loop]\n"
    )
    out = ("--out", str(tmp_path / "release"))
    command("render", str(tmp_path / "two.yaml"), "--student", "ada", *out)
    release = load_release(tmp_path / "release" / "release.json")
    assert network_problems(release) == {"ring-all-reduce-messages"}
    parts = (
        _shown("q1_wrong", "code", 1.5, Verdict.PARTIAL),
        _shown("q1_right", "code", 6.0, Verdict.CORRECT),
        _shown("q1_blank", "code", 0.0, Verdict.ABSENT),
        _shown("q1_number", "numeric", 0.0, Verdict.INCORRECT),
    )
    problems = tuple(
        ShownProblem(number=n, id=name, title="", parts=parts)
        for n, name in enumerate(("ring-all-reduce-messages", "grid-stride-loop"), 1)
    )
    before = Result(
        feedback=Feedback(
            student=Student(id="ada"),
            exam="two",
            title="Two",
            release=release.id,
            standing=Standing.GRADED,
            is_published=False,
            score=15.0,
            max_score=48.0,
            complete=True,
            problems=problems,
        )
    )
    found = leave_open(before, release).feedback
    assert [p.points for p in found.problems[0].parts] == [None, 6.0, 0.0, 0.0]
    assert found.problems[1] == problems[1]
    assert (found.score, found.complete, found.unsettled) == (13.5, False, 1)
    assert found.problems[0].parts[0].verdict is Verdict.UNSETTLED
    assert "No points are deducted" in found.problems[0].parts[0].why


@pytest.mark.thorough
@linux
def test_a_filter_without_a_network_of_its_own_leaves_no_loopback() -> None:
    """The same question asked where a plain container runs, and here."""
    ask = "from grader.integrations.gradescope.grading import has_loopback as ask"
    ask += "; print(ask('auto'))"
    layers = {one.name for one in sandbox_of("auto").sandbox.layers() if one.present}
    if os.geteuid() != 0 or not shutil.which("setpriv") or "system-calls" not in layers:
        pytest.skip("only root can stand for Gradescope's root")
    if not subprocess.run(["unshare", "--net", "true"]).returncode:
        here = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True)
        assert here.stdout == "True\n", here.stderr
    inside = [sys.executable, "-c", CONTAINER, sys.executable, "-c", ask]
    there = subprocess.run(inside, capture_output=True, text=True, check=True)
    assert there.stdout == "False\n"
