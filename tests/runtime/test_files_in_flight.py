"""Open files that a notebook keeps on their way between processes stop nobody else's kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("elsewhere nothing is sent", allow_module_level=True)

from tests.helpers.isolation import NAMESPACES, ORDINARY

ROOT = Path(__file__).parents[2]

# Linux counts them by user, and holds the limit of whoever sends one more against all of them.
HOLDS = """\
import os, socket, time
file, ends, sent = os.open("/dev/null", os.O_RDONLY), [], 0
try:
    while True:
        ends.append(socket.socketpair())
        socket.send_fds(ends[-1][0], [b"x"], [file] * 250)
        sent += 250
except OSError as error:
    print(sent, error.errno, flush=True)
time.sleep(60)
"""
BESIDE = f"""\
import json, resource, sys, threading, time
from grader.runtime.kernels import session
from grader.runtime.sandbox import linux as walled
from tests.helpers.notebooks import run
from grader.model import Limits

session.START_SECONDS = 8.0
missing = sys.argv[1:]
found = {{**walled._probe_features(), **dict.fromkeys(missing, "not in this test")}}
walled._probe_features = lambda: found
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
limits = Limits(cell_seconds=60, notebook_seconds=60)
over, held = threading.Event(), []
def hold():
    held.append(run({HOLDS!r}, asks="", limits=limits, stop=over.is_set))
holder = threading.Thread(target=hold, daemon=True)
holder.start()
time.sleep(3)  # it takes a moment, and then holds them
seen = [run(f"q1_a = {{n}}", asks="q1_a", limits=limits) for n in range(3)]
alive = holder.is_alive()
over.set()
holder.join(30)
print(json.dumps([alive, [[one.outcome.value, one.note] for one in seen]]))
"""


@pytest.mark.thorough
@pytest.mark.parametrize("missing", [(), NAMESPACES], ids=["all", "landlock"])
def test_files_that_one_notebook_keeps_on_their_way_stop_no_other(
    missing: tuple[str, ...], tmp_path: Path
) -> None:
    """As an ordinary user, whose own all of them are."""
    if os.geteuid() == 0:
        start = [sys.executable, "-c", ORDINARY.replace("sys.argv[1]]", "*sys.argv[1:]]")]
    else:
        start = [sys.executable, "-c"]
    done = subprocess.run(
        [*start, BESIDE, *missing],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=150,
    )
    if "CLONE_NEWUSER" in done.stderr or "unshare:" in done.stderr:
        pytest.skip("no user namespaces: " + done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    alive, seen = json.loads(done.stdout.splitlines()[-1])
    assert alive
    assert seen == [["finished", None]] * 3
