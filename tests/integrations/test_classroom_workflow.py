"""The workflows that are written for a class, step by step in a shell, as a runner would."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from grader.cli import main
from grader.integrations.install import chosen_source, source_of
from tests.helpers.classroom import ROOT, Remote, git, parsed, run_step, runner

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="its runners are Linux")
KNOWN = ("checkout", "setup-python", "upload-artifact", "download-artifact")
SECRET = "the-classroom-token-that-nobody-sees"


def command(*arguments: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    assert stop.value.code == 0, arguments


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class of two, with the folders of `classroom init`."""
    folder = tmp_path_factory.mktemp("course")
    roster = folder / "roster.csv"
    roster.write_text("id,name\nada,Ada\nbo,Bo\n")
    release = str(folder / "release")
    command("render", "midterm", "--roster", str(roster), "--out", release, "--private-key", "t")
    url = (folder / "server").as_uri() + "/{id}.git"
    command(
        *("classroom", "init", str(folder / "made"), "--release", release, "--url", url),
        *("--deadline", "2999-01-01T00:00:00Z", "--schedule", "5 23 * * *"),
    )
    return folder


def run_job(
    workflow: Mapping[str, Any],
    name: str,
    workspace: Path,
    environment: Mapping[str, str],
    skipped: tuple[str, ...] = (),
) -> dict[str, subprocess.CompletedProcess[str]]:
    """Runs the job's steps in order; each step that fails stops it, as on a runner."""
    done = {}
    own = {k: str(v) for k, v in workflow.get("env", {}).items()}
    for step in workflow["jobs"][name]["steps"]:
        if "uses" in step:
            assert step["uses"].partition("@")[0].split("/")[1] in KNOWN
            continue
        if step["name"] in skipped:
            continue
        one = run_step(step, workspace, {**environment, **own})
        done[step["name"]] = one
        if one.returncode:
            break
    return done


def student_check(course: Path, folder: Path, student: str = "ada", **more: str) -> Any:
    workspace = folder / "repository"
    shutil.copytree(course / "made" / "students" / student, workspace)
    environment = runner(folder, workspace, **more)
    workflow = parsed((workspace / ".github/workflows/check.yml").read_text())
    return workspace, environment, workflow


@pytest.mark.thorough
def test_the_check_of_an_untouched_notebook(course: Path, tmp_path: Path) -> None:
    workspace, environment, workflow = student_check(course, tmp_path)
    done = run_job(workflow, "check", workspace, environment, skipped=("Install",))["Check"]
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    stops = [n for n, line in enumerate(lines) if line.startswith("::stop-commands::")]
    token = lines[stops[0]].removeprefix("::stop-commands::")
    assert len(token) >= 32
    assert f"::{token}::" in lines
    warned = [line for line in lines if line.startswith("::warning file=midterm.ipynb,line=")]
    assert warned
    # Each points at the very line of the notebook's file in which the answer stands.
    source = (workspace / "midterm.ipynb").read_text().splitlines()
    first = warned[0].split("line=")[1].split(",")[0]
    assert "q1_per_gpu = ..." in source[int(first) - 1]
    summary = Path(environment["GITHUB_STEP_SUMMARY"]).read_text()
    assert "public checks only" in summary
    for name in ("OUTPUT", "ENV", "PATH", "STATE"):
        assert Path(environment[f"GITHUB_{name}"]).read_text() == ""


def test_the_check_of_a_filled_notebook_passes(course: Path, tmp_path: Path) -> None:
    workspace, environment, workflow = student_check(course, tmp_path)
    target = str(workspace / "midterm.ipynb")
    command("solve", str(course / "release"), "--student", "ada", "--out", target)
    done = run_job(workflow, "check", workspace, environment, skipped=("Install",))["Check"]
    assert done.returncode == 0, done.stdout + done.stderr
    assert "::warning" not in done.stdout


@pytest.mark.slow
def test_the_whole_check_with_its_installation_takes_under_a_minute(
    course: Path, tmp_path: Path
) -> None:
    """From this checkout in place of a release, into a new environment, without torch.

    Counted in CPU seconds, since others may be at work on this machine; one of GitHub's has four
    of its own for the job.
    """
    ignored = shutil.ignore_patterns(".venv", ".git", ".bench", "*.pyc", ".hypothesis", "demo")
    shutil.copytree(ROOT, tmp_path / "source", ignore=ignored, symlinks=True)
    wheels = str(tmp_path / "wheels")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    source = str(tmp_path / "source")
    subprocess.run([*pip, "wheel", "--no-deps", f"--wheel-dir={wheels}", source], check=True)
    (wheel,) = (str(path) for path in Path(wheels).glob("*.whl"))
    install = source_of(wheel).requirement()
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    kept = {k: v for k, v in os.environ.items() if k.startswith("PIP_")}
    workspace, environment, workflow = student_check(course, tmp_path, **kept)
    path = f"{tmp_path / 'venv' / 'bin'}:{os.defpath}"
    environment |= {"PATH": path}
    wanted = workspace / "requirements.txt"
    wanted.write_text(wanted.read_text().replace(chosen_source("").requirement(), install))
    assert install in wanted.read_text()
    before, start = _cpu_seconds(), time.monotonic()
    done = run_job(workflow, "check", workspace, environment)
    cpu, wall = _cpu_seconds() - before, time.monotonic() - start
    assert done["Install"].returncode == 0, done["Install"].stderr
    assert done["Check"].returncode == 1
    assert "q1_per_gpu" in done["Check"].stdout
    names = {p.name for p in (tmp_path / "venv").rglob("site-packages/*")}
    assert "click" in names
    assert "torch" not in names
    assert min(cpu, wall) < 60, f"{cpu:.0f} CPU seconds, {wall:.0f} s"


def _cpu_seconds() -> float:
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def published(course: Path, folder: Path) -> tuple[Path, dict[str, Remote]]:
    """The instructor's repository with its server, and the students' repositories."""
    for name in ("server", "work"):
        shutil.rmtree(course / name, ignore_errors=True)
    remotes = {name: Remote(course, name) for name in ("ada", "bo")}
    own = Remote(folder, "instructor")
    shutil.copytree(course / "made" / "instructor", own.work, dirs_exist_ok=True)
    own.push()
    git("remote", "add", "origin", own.url, cwd=own.work)
    return own.work, remotes


def sandbox_here() -> bool:
    from grader.runtime.sandbox import choose_sandbox

    try:
        choose_sandbox("required")
    except Exception:
        return False
    return True


@pytest.mark.slow
def test_the_instructors_workflows_from_handing_out_to_feedback(
    course: Path, tmp_path: Path
) -> None:
    if not sandbox_here():
        pytest.skip("the sandbox needs more than this machine offers")
    workspace, remotes = published(course, tmp_path)
    environment = runner(tmp_path, workspace, secrets_CLASSROOM_TOKEN=SECRET)
    environment["GITHUB_SERVER_URL"] = "https://github.com"
    workflows = workspace / ".github" / "workflows"
    handout = parsed((workflows / "handout.yml").read_text())
    steps = run_job(handout, "handout", workspace, environment, skipped=("Install",))
    assert all(one.returncode == 0 for one in steps.values()), steps
    ada, bo = remotes["ada"], remotes["bo"]
    assert "midterm.ipynb" in git("ls-tree", "--name-only", "main", cwd=bo.bare)

    git("pull", "--quiet", ada.url, "main", cwd=ada.work)
    target = str(ada.work / "midterm.ipynb")
    command("solve", str(course / "release"), "--student", "ada", "--out", target)
    hostile = json.loads(Path(target).read_text())
    code = next(c for c in hostile["cells"] if c["cell_type"] == "code")
    code["source"] = [*code["source"], "\nimport os, sys\nprint('::set-output name=x::1')\n"]
    Path(target).write_text(json.dumps(hostile))
    ada.push()

    grade = parsed((workflows / "grade.yml").read_text())
    seen = {}
    for job in ("collect", "grade", "keep"):
        done = run_job(grade, job, workspace, environment, skipped=("Install",))
        for name, one in done.items():
            assert one.returncode == 0, f"{job}/{name}: {one.stdout}{one.stderr}"
            assert SECRET not in one.stdout + one.stderr
        seen.update({f"{job}/{name}": one for name, one in done.items()})
        if job != "keep":  # what comes next is another machine, which has the packed folder alone
            shutil.rmtree(workspace / "store")
    assert "There are no results yet" in seen["collect/Get earlier results"].stdout
    files = git("ls-tree", "-r", "--name-only", "origin/results", cwd=_fetched(workspace)).split()
    assert {"results/grades/ada.json", "results/gradebook.sqlite", "submissions/ada.ipynb"} <= set(
        files
    )
    marks = json.loads(git("show", "origin/results:results/grades/ada.json", cwd=workspace))
    assert marks["score"] == marks["max_score"] > 0
    assert git("ls-tree", "--name-only", "feedback", cwd=ada.bare).split() == [
        "README.md",
        "feedback.html",
    ]
    _again(workspace, grade, environment)


@pytest.mark.thorough
def test_the_branch_of_init_is_handed_out_to_and_collected(course: Path, tmp_path: Path) -> None:
    ada = Remote(tmp_path, "ada")
    ada.push({"README.md": "The default branch has no notebook."})
    made, url = tmp_path / "made", ada.url.replace("/ada.git", "/{id}.git")
    Remote(tmp_path, "bo")
    command(
        *("classroom", "init", str(made), "--release", str(course / "release")),
        *("--url", url, "--branch", "work"),
    )
    workspace = made / "instructor"
    readme = (workspace / "README.md").read_text(encoding="utf-8")
    assert f"--url '{url}' --branch work" in readme
    environment = runner(tmp_path, workspace, secrets_CLASSROOM_TOKEN=SECRET)
    jobs: dict[str, subprocess.CompletedProcess[str]] = {}
    for name, job in (("handout", "handout"), ("grade", "collect")):
        workflow = parsed((workspace / f".github/workflows/{name}.yml").read_text())
        skipped = ("Install", "Search them for secrets", "Get earlier results")
        jobs |= run_job(workflow, job, workspace, environment, skipped=skipped)
    assert all(one.returncode == 0 for one in jobs.values()), jobs
    assert "midterm.ipynb" in git("ls-tree", "--name-only", "work", cwd=ada.bare).split()
    assert git("ls-tree", "--name-only", "main", cwd=ada.bare) == "README.md"
    assert (workspace / "store" / "submissions" / "ada.ipynb").exists()


def _fetched(workspace: Path) -> Path:
    git("fetch", "--quiet", "origin", cwd=workspace)
    return workspace


def _again(workspace: Path, grade: Mapping[str, Any], environment: Mapping[str, str]) -> None:
    """The next run finds what the last one kept, and executes nothing twice."""
    shutil.rmtree(workspace / "store")
    done = {}
    for job in ("collect", "grade", "keep"):
        done = run_job(grade, job, workspace, environment, skipped=("Install",))
        assert all(one.returncode == 0 for one in done.values()), done
    results = workspace / "store" / "results"
    assert (results / "gradebook.sqlite").exists()
    assert git("rev-list", "--count", "origin/results", cwd=_fetched(workspace)) == "2"
    assert "nothing new" in done["Publish"].stdout


def one_tier(course: Path, folder: Path, **changes: str) -> tuple[Path, dict[str, str]]:
    """A student's repository with the sealed pack in it, and the reusable workflow's inputs."""
    workspace = folder / "repository"
    workspace.mkdir()
    key, pack = folder / "key", workspace / "exam.pack"
    command(
        "classroom", "seal", str(course / "release"), "--out", str(pack), "--key-file", str(key)
    )
    target = workspace / "midterm.ipynb"
    command("solve", str(course / "release"), "--student", "ada", "--out", str(target))
    inputs = {"notebook": "midterm.ipynb", "student": "ada", "pack": "exam.pack", **changes}
    more = {f"inputs_{name}": value for name, value in inputs.items()}
    more["secrets_GRADER_PACK_KEY"] = key.read_text().strip()
    return workspace, runner(folder, workspace, **more)


def reusable(workspace: Path, environment: Mapping[str, str]) -> Any:
    workflow = parsed((ROOT / ".github/workflows/grade.yml").read_text(encoding="utf-8"))
    return run_job(workflow, "grade", workspace, environment, skipped=("Install",))


@pytest.mark.thorough
def test_the_reusable_workflow_grades_by_a_sealed_pack(course: Path, tmp_path: Path) -> None:
    if not sandbox_here():
        pytest.skip("the sandbox needs more than this machine offers")
    workspace, environment = one_tier(course, tmp_path)
    (workspace / "secrets.py").write_text("raise SystemExit('ran')")  # not a module of ours
    done = reusable(workspace, environment)
    assert all(one.returncode == 0 for one in done.values()), done
    summary = Path(environment["GITHUB_STEP_SUMMARY"]).read_text()
    assert "48 of 48 points" in summary
    key = environment["secrets_GRADER_PACK_KEY"]
    told = "".join(one.stdout + one.stderr for one in done.values())
    assert key not in told + summary
    lines = done["Grade"].stdout.splitlines()
    assert lines[0].startswith("::stop-commands::")
    assert lines[-1] == f"::{lines[0].removeprefix('::stop-commands::')}::"
    left = [p for p in (tmp_path / "runner").rglob("*") if p.is_file()]
    assert not any(key.encode() in path.read_bytes() for path in left)


@pytest.mark.parametrize("student", ["../x", "-rf", "", ".hidden"])
def test_the_reusable_workflow_takes_no_odd_student(
    course: Path, tmp_path: Path, student: str
) -> None:
    workspace, environment = one_tier(course, tmp_path, student=student)
    assert reusable(workspace, environment)["Grade"].returncode == 2


def test_the_reusable_workflow_follows_no_link(course: Path, tmp_path: Path) -> None:
    workspace, environment = one_tier(course, tmp_path)
    (workspace / "midterm.ipynb").unlink()
    (workspace / "midterm.ipynb").symlink_to("/proc/self/environ")
    done = reusable(workspace, environment)["Grade"]
    assert done.returncode == 1
    assert "is not there, or is a link" in done.stdout


def test_nor_one_to_the_folder_of_the_notebook(course: Path, tmp_path: Path) -> None:
    workspace, environment = one_tier(course, tmp_path, notebook="work/midterm.ipynb")
    (tmp_path / "other").mkdir()
    (workspace / "midterm.ipynb").rename(tmp_path / "other" / "midterm.ipynb")
    (workspace / "work").symlink_to(tmp_path / "other")
    done = reusable(workspace, environment)["Grade"]
    assert done.returncode == 1
    assert "is not there, or is a link" in done.stdout


def test_problems_that_students_can_look_up_are_counted(course: Path, tmp_path: Path) -> None:
    """Whoever installs the package has its bank, solutions and all."""
    from dataclasses import replace

    from grader.bank.folders import Bank
    from grader.integrations.github.class_folders import init_classroom, own_bank_notes
    from grader.integrations.github.options import ClassroomOptions
    from grader.release.file import load_release

    release = load_release(course / "release")
    made = init_classroom(
        course / "release", tmp_path / "a", ClassroomOptions(owner="o"), Bank.open()
    )
    count = len(release.digests)
    assert any(note.startswith(f"{count} of {count} problems come") for note in made)
    others = replace(release, digests=dict.fromkeys(release.digests, "0" * 64))
    assert not [*own_bank_notes(others)]


def test_nothing_secret_is_in_what_students_get(course: Path) -> None:
    release = json.loads((course / "release" / "release.json").read_text())
    key = release["private_key"]
    for folder in ("student-template", "students"):
        for path in (course / "made" / folder).rglob("*"):
            if path.is_file():
                text = path.read_text(encoding="utf-8")
                assert key not in text
                assert "solutions" not in text
    names = {p.name for p in (course / "made" / "students").rglob("*")}
    assert not names & {"release.json", "roster.csv", "exam.pack"}
    private = course / "made" / "instructor" / "release" / "release.json"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600


@pytest.mark.thorough
@pytest.mark.parametrize(("exam", "needed"), [("midterm", False), ("lab", True)])
def test_torch_is_installed_where_code_of_a_part_imports_it(
    tmp_path: Path, exam: str, needed: bool
) -> None:
    release, made = str(tmp_path / "release"), tmp_path / "made"
    command("render", exam, "--student", "ada", "--out", release)
    command("classroom", "init", str(made), "--release", release)
    wanted = (made / "student-template" / "requirements.txt").read_text().splitlines()
    assert ("torch" in wanted) is needed


def test_init_again_changes_nothing_and_a_git_repository_is_refused(
    course: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = tmp_path / "made"
    arguments = ["classroom", "init", str(made), "--release", str(course / "release")]
    command(*arguments)
    before = {p: p.stat().st_mtime_ns for p in (made / "students").rglob("*") if p.is_file()}
    roster = made / "instructor" / "roster.csv"
    roster.write_text("id,deadline\nada,2999-01-02T00:00:00Z\n")
    command(*arguments)
    assert "2999-01-02" in roster.read_text()
    assert {p: p.stat().st_mtime_ns for p in before} == before
    (made / ".git").mkdir()
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "git repository" in capsys.readouterr().err


def test_a_folder_in_a_git_repository_is_said_to_hold_the_release(
    course: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".git").mkdir()
    made = tmp_path / "week" / "made"
    command("classroom", "init", str(made), "--release", str(course / "release"))
    said = " ".join(capsys.readouterr().err.split())
    assert f"{made} is inside the git repository {tmp_path}: don't commit instructor/" in said


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--notebook", "a b.ipynb"),
        ("--notebook", "x;curl"),
        ("--url", "https://x/{id}$(id)"),
        ("--url", "https://x/midterm.git"),
        ("--schedule", "every day"),
        ("--gpu-label", "a]"),
        ("--branch", "${{ github.token }}"),
        ("--deadline", "tomorrow"),
    ],
)
def test_values_that_would_become_commands_are_refused(
    course: Path, tmp_path: Path, option: str, value: str
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(
            [
                *("classroom", "init", str(tmp_path / "x")),
                *("--release", str(course / "release"), option, value),
            ]
        )
    assert stop.value.code == 2
    assert not (tmp_path / "x").exists()
