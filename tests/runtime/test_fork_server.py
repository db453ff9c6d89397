"""The parent of kernels and what its children leave: it serves on, and nothing is kept of them."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

if sys.platform != "linux":
    pytest.skip("elsewhere kernels start cold", allow_module_level=True)

from grader.model import Outcome
from grader.runtime.kernels.pool import KernelPool
from grader.runtime.sandbox import choose_sandbox
from tests.helpers.notebooks import run

BOTH = pytest.mark.parametrize("sandbox", ["auto", "off"])

# A fork server for which there is always one more child that has exited, while the file is there.
WITHOUT_END = """\
import json, os, runpy, sys
waitpid, folder = os.waitpid, json.load(open(sys.argv[1]))["folder"]
def endless(which, options=0):
    if which == -1 and "ipykernel" in sys.modules and os.path.exists(folder + "/endless"):
        return 2**30, 0
    return waitpid(which, options)
os.waitpid = endless
runpy.run_module("grader.runtime.worker.fork_server", run_name="__main__", alter_sys=True)
"""


@pytest.mark.thorough
@pytest.mark.skipif(
    "processes" not in choose_sandbox("auto").describe()["layers"],  # type: ignore[operator]
    reason="a kernel is the parent's own child only in a pid namespace",
)
def test_a_parent_with_children_without_end_serves_its_kernels_at_once(
    own_nursery: KernelPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrapped(_: object, command: list[str], __: object) -> list[str]:
        return [*command[:2], "-c", WITHOUT_END, *command[4:]]

    monkeypatch.setattr(type(choose_sandbox("auto").sandbox), "wrap", wrapped)
    assert run("q1_a = 1", asks="q1_a").outcome is Outcome.FINISHED
    (parent,) = own_nursery.servers
    mark = Path(parent._home.root) / "parent" / "endless"
    mark.touch()
    run("pass", asks="")  # takes the one that was kept ready
    began = time.monotonic()
    assert run("q1_a = 1", asks="q1_a").outcome is Outcome.FINISHED
    dead = run("import os", "os._exit(3)", asks="")
    assert dead.outcome is Outcome.CRASHED
    assert time.monotonic() - began < 30
    assert own_nursery.servers == [parent]
    mark.unlink()
    assert run("q1_a = 1", asks="q1_a").outcome is Outcome.FINISHED
    assert own_nursery.servers == [parent]


@BOTH
def test_who_crashes_leaves_nothing_of_its_memory(sandbox: str) -> None:
    source = """\
import os, pathlib, resource, signal, subprocess, sys
q1_limits = list(resource.getrlimit(resource.RLIMIT_CORE))
crash = [sys.executable, "-c", "import os; os.abort()"]
q2_code = subprocess.run(crash).returncode
pid = os.fork()
if pid == 0:
    os.abort()
q3_status = os.waitpid(pid, 0)[1]
q4_left = [str(path) for path in pathlib.Path.cwd().rglob("*core*")]
"""
    asked = "q1_limits q2_code q3_status q4_left"
    answers = run(source, asks=asked, sandbox=sandbox).answers
    raws: dict[str, Any] = {name: (answers[name].raw or {}).get("v") for name in asked.split()}
    most = machines_own()
    assert [one["v"] for one in raws["q1_limits"]] == [str(most)] * 2
    assert raws["q2_code"] == "-6"
    assert raws["q3_status"] == "6"  # 128 more where the memory was kept
    assert raws["q4_left"] == []


def machines_own() -> int:
    """The limit that is set here: one byte, of which Linux lets no program keep anything."""
    import resource

    return int(resource.getrlimit(resource.RLIMIT_CORE)[1] != 0)
