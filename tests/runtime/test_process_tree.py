"""The end of a submission where no namespace ends it: real processes that want to live on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("guards are for Linux", allow_module_level=True)

from tests.helpers.kernels import Mark

ROOT = Path(__file__).parents[2]
NOBODY_HERE = 0x6FFF_FF00

GUARD = """\
import os, sys, time
from grader.runtime.worker import process_tree, syscalls
os.setsid()
syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
here, there = os.pipe()
if os.fork() == 0:
{child}
    os.write(there, b"+")
{life}
    os._exit(0)
os.read(here, 1)
time.sleep(0.3)
began = time.monotonic()
process_tree.end_processes(False{uid})
print(time.monotonic() - began)
"""
RABBITS = """\
    end = time.monotonic() + 60
    for _ in range({chains}):
        if os.fork() == 0:
            while time.monotonic() < end:
                os.setsid()
                if os.fork():
                    os._exit(0)
            os._exit(0)
    time.sleep(60)
"""
DEEP = """\
    for _ in range(40):
        if os.fork():
            time.sleep(60)
            os._exit(0)
        os.setsid()
    time.sleep(60)
"""


def ended(life: str, mark: Mark, uid: int | None = None) -> float:
    """Seconds that it took a guard to end all that lives *life*."""
    child = mark.on_this_process
    if uid is not None:
        child += f"; os.setgroups([]); os.setresgid(*[{uid}] * 3); os.setresuid(*[{uid}] * 3)"
    source = GUARD.format(child="    " + child, life=life, uid="" if uid is None else f", {uid}")
    done = subprocess.run(
        [sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, timeout=90
    )
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


@pytest.mark.parametrize("life", [RABBITS.format(chains=6), DEEP], ids=["a chain", "a tree"])
def test_processes_end_that_start_others_and_are_gone(life: str) -> None:
    mark = Mark()
    assert ended(life, mark) < 15  # and they would go on for a minute
    assert mark.processes() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_user_of_their_own_ends_at_once_and_nobody_else_does() -> None:
    mark, other = Mark(), Mark()
    bystander = subprocess.Popen(
        ["sleep", other.argument], user=NOBODY_HERE + 1, group=NOBODY_HERE + 1
    )
    try:
        assert ended(RABBITS.format(chains=60), mark, uid=NOBODY_HERE) < 15
        assert mark.processes() == []
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()
