"""`grader doctor --attack`: it sees what gets through, says why, and says it in its exit code."""

from __future__ import annotations

import ctypes
import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from grader.cli import grader, main
from grader.security.redteam import (
    AttackResult,
    AttackSettings,
    Report,
    attacks_folder,
    report_data,
    run_attacks,
)
from grader.security.redteam.watch import (
    SEGMENT_BYTES,
    DecoySockets,
    OrphanReaper,
    remove_shared_memory,
    shared_memory_ids,
)
from tests.helpers.kernels import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the attacks are for Linux")

# Attacks that succeed where nothing stands in their way: what a judge that sleeps would miss.
SUCCESSFUL = {
    "escape/file": """\
\"""Plants a file, and says that it has done so.

earns: nothing
stopped by: files
\"""

# %%
open("/tmp/" + TOKEN, "w").close()
print("BROKE: planted a file")
""",
    "escape/course": """\
\"""Writes into the instructor's folder.

earns: nothing
\"""

# %%
from pathlib import Path
course = next(p / "course" for p in Path.cwd().parents if (p / "course").is_dir())
(course / "new.txt").write_text("x")
""",
    "escape/secret": """\
\"""Prints a secret of the instructor's.

earns: nothing
\"""

# %%
from pathlib import Path
course = next(p / "course" for p in Path.cwd().parents if (p / "course").is_dir())
print((course / "notes.txt").read_text())
""",
    "escape/speaker": """\
\"""Reaches a socket outside.

earns: nothing
stopped by: network
\"""

# %%
import socket
socket.create_connection(("127.0.0.1", PORT)).sendall(TOKEN.encode())
""",
    "forge/less": """\
\"""Costs itself the marks that it has earned.

earns: honest
\"""

# %%
del q1_fits
""",
    "forge/harmless": """\
\"""Does nothing at all.

earns: honest
\"""

# %%
pass
""",
    "forge/broken": """\
\"""Does not know its own names.

earns: honest
stopped by: files
\"""

# %%
undefined
""",
    "forge/dangerous": """\
\"""Would do harm if it were tried.

earns: nothing
unsafe without: processes
\"""

# %%
print("BROKE: was tried")
""",
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """What comes of attacks that succeed, with no sandbox at all."""
    home = tmp_path_factory.mktemp("attacks")
    for name, text in SUCCESSFUL.items():
        path = home / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (home / "honest.py").write_text((attacks_folder() / "honest.py").read_text("utf-8"), "utf-8")
    return run_attacks(AttackSettings(sandbox="off", cell_seconds=5, notebook_seconds=30), home)


@pytest.fixture(scope="module")
def rows(report: Report) -> dict[str, AttackResult]:
    assert not report.holds
    return {row.name: row for row in report.rows}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name, seen",
    [
        ("escape/speaker", "without the layer network: reached a socket outside"),
        ("escape/file", "without the layer files: planted a file"),
        ("escape/secret", "read a secret: file"),
        ("forge/less", "earned 9 of 10 points instead of all"),
        ("forge/broken", "the attack itself is broken: NameError"),
        ("forge/dangerous", "not tried, because it would do harm without the layer processes"),
        ("batch/course", "new.txt has changed"),
    ],
)
def test_what_gets_through_is_seen(rows: dict[str, AttackResult], name: str, seen: str) -> None:
    assert rows[name].has_held is False
    assert seen in rows[name].observation


@pytest.mark.thorough
def test_what_holds_is_said_to_hold(rows: dict[str, AttackResult]) -> None:
    held = {name for name, row in rows.items() if row.has_held}
    assert held == {
        "forge/harmless", "escape/course", "batch/ends", "batch/honest-grades", "batch/gradebook",
        "batch/memory", "batch/left-behind",
    }  # fmt: skip


@pytest.mark.thorough
def test_planted_files_are_removed_when_they_have_been_seen(rows: dict[str, AttackResult]) -> None:
    assert "was written" in rows["escape/file"].observation
    planted = rows["escape/file"].observation.split("/tmp/")[1].split()[0]
    assert not Path("/tmp", planted).exists()


def test_a_process_that_has_lost_its_parent_is_found_named_and_ended() -> None:
    token = "hx012345n678"
    source = f"""
import os, sys
if os.fork() == 0:
    os.setsid()
    os.execve(sys.executable, ["-", "-c", "'{token}'; import time; time.sleep(60)"], {{}})
"""
    with OrphanReaper() as orphans:
        subprocess.run([sys.executable, "-c", source], check=True)
        (left,) = orphans.wait_for_remaining(seconds=0.3)
        assert left.token == token
        assert token in left.what
        orphans.kill_all()
        assert orphans.wait_for_remaining(seconds=0) == ()


def test_a_folder_with_a_long_path_is_no_obstacle_to_sockets(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 40) / "attacks"
    folder.mkdir(parents=True)
    with DecoySockets(folder) as outside:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(outside.words["SOCKET"]))
            client.sendall(b"hello")
        assert until(lambda: "hello" in outside.heard)
    assert not Path(str(outside.words["SOCKET"])).parent.exists()


def test_shared_memory_that_stays_is_found() -> None:
    before = shared_memory_ids()
    number = ctypes.CDLL(None).shmget(0, SEGMENT_BYTES, 0o1600)
    try:
        assert shared_memory_ids() - before == {str(number)}
    finally:
        remove_shared_memory(str(number))
    assert shared_memory_ids() == before


def run(*arguments: str) -> Result:
    return CliRunner().invoke(grader, ["doctor", *arguments], standalone_mode=False)


@pytest.mark.thorough
def test_the_command_prints_what_held_and_exits_1_when_something_did_not() -> None:
    result = run("--attack", "--sandbox", "off", "--class", "escape/reach-the-network")
    assert result.return_value == 1
    assert "FAIL escape/reach-the-network" in result.stdout
    assert "without the layer network: " in result.stdout
    assert "ok   batch/honest-grades" in result.stdout
    assert "not available: " in result.stdout


@pytest.mark.thorough
def test_as_data_it_is_a_list_of_attacks(report: Report) -> None:
    data: Any = report_data(report)
    assert data["holds"] is False
    assert "scratch" in data["layers"]
    assert "network" in data["missing"]
    row = next(r for r in data["attacks"] if r["attack"] == "escape/file")
    assert (row["class"], row["held"], row["missing"]) == ("escape", False, ["files"])
    assert json.loads(json.dumps(data)) == data


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--attack", "--class", "escap"], "did you mean 'escape'?"),
        (["--quick"], "--class and --quick need --attack"),
    ],
)
def test_wrong_use_is_met_with_what_to_do(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["doctor", *arguments])
    assert stop.value.code == 2
    assert said in capsys.readouterr().err
