"""Whatever of a cluster is killed, and whenever: in the end, the gradebook is as if nothing was."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.gradebook.address import display_address
from tests.helpers.batch import Class, a_class, gradebook_of
from tests.helpers.postgres import Server, a_server

pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="kills processes"),
]

KILLS = 50
WORKERS = 2
# A worker that is killed by us is not the fault of its notebook.
PATIENT = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1000"}


class Parts:
    """A scheduler, its workers, a database, and the command that grades, which can all be killed
    and started again."""

    def __init__(self, folder: Path, home: Class, server: Server):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder, self.home, self.server = folder, home, server
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.out, self.at = folder / "out", ""

    def start(self) -> None:
        """Starts what is not running, except for the command that grades."""
        if not self.is_running("scheduler"):
            self._launch("scheduler", "dask", "scheduler", "--host", "127.0.0.1", "--port",
                         str(self.port), "--no-dashboard")  # fmt: skip
        for number in range(WORKERS):
            if not self.is_running(f"worker-{number}"):
                self._launch(f"worker-{number}", "dask", "worker", self.address, "--nthreads", "1",
                             "--no-dashboard", "--death-timeout", "30")  # fmt: skip

    def grade(self) -> None:
        command = self.home.command(
            self.out, "--executor", f"dask:{self.address}", "--gradebook", self.at
        )
        self._launch("coordinator", *command[2:])

    def is_running(self, name: str) -> bool:
        return name in self.running and self.running[name].poll() is None

    def kill(self, name: str) -> None:
        if name == "database":
            self.server.stop()
            time.sleep(0.5)
            self.server.start()
        elif self.is_running(name):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.running[name].pid, signal.SIGKILL)
            self.running[name].wait()

    def _launch(self, name: str, module: str, *arguments: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=os.environ | PATIENT,
                start_new_session=True,
            )


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    home = a_class(tmp_path / "class", 12, extra="import time; time.sleep(0.3)")
    with a_server() as server:
        found = Parts(tmp_path, home, server)
        try:
            yield found
        finally:
            for name in list(found.running):
                found.kill(name)


def test_fifty_kills_end_with_the_gradebook_of_an_undisturbed_run(
    parts: Parts, tmp_path: Path
) -> None:
    parts.home.graded(tmp_path / "undisturbed")
    wanted = gradebook_of(tmp_path / "undisturbed")
    dice = random.Random(16)
    victims = ["worker-0", "worker-1", "coordinator", "scheduler", "database"]
    killed: list[str] = []
    for run in itertools.count():
        if len(killed) >= KILLS:
            break
        parts.out = tmp_path / f"out{run}"  # a run may end before anything is killed
        parts.at = display_address(parts.server.address())
        runs = 0
        parts.start()
        parts.grade()
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                parts.running["coordinator"].wait(dice.uniform(0.3, 6.0))
            if parts.running["coordinator"].poll() == 0:
                break
            runs += 1
            assert runs < 100, (tmp_path / "coordinator.log").read_text()[-2000:]
            if parts.is_running("coordinator") and len(killed) < KILLS:
                killed.append(dice.choice(victims))
                parts.kill(killed[-1])
            parts.start()
            if not parts.is_running("coordinator"):
                parts.grade()
        assert gradebook_of(parts.out) == wanted, killed
    assert set(killed) == set(victims)
    assert "Traceback" not in (tmp_path / "coordinator.log").read_text()
