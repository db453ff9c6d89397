"""A real JupyterHub with the desk as its service, if one is installed."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.desk import Reader

_WAIT = 90
_CONFIG = """\
import json
given = json.loads({given!r})
c = get_config()
c.JupyterHub.bind_url = f"http://127.0.0.1:{{given['ports'][0]}}"
c.JupyterHub.hub_bind_url = f"http://127.0.0.1:{{given['ports'][1]}}"
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{{given['ports'][2]}}"
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = "hub password"
c.Authenticator.allow_all = True
c.JupyterHub.services = [
    {{
        "name": "desk",
        "url": f"http://127.0.0.1:{{given['ports'][3]}}",
        "command": given["command"],
        "environment": given["environment"],
        "oauth_no_confirm": True,
    }}
]
c.JupyterHub.load_roles = [
    {{"name": "user", "scopes": ["self", "access:services!service=desk"]}},
]
"""


@dataclass(frozen=True, slots=True)
class RunningHub:
    """A JupyterHub with a desk, at an address."""

    address: str
    log: Path

    def log_in(self, name: str) -> Reader:
        """A browser of somebody who has logged in to the Hub."""
        reader = Reader(self.address)
        xsrf = _xsrf_of(reader.get("/hub/login")[1])
        fields = {"username": name, "password": "hub password", "_xsrf": xsrf}
        # There is no server to spawn, so that the page behind the login may be anything.
        reader.post("/hub/login?next=%2Fhub%2Ftoken", fields)
        return reader

    def tell(self, reader: Reader, method: str, path: str) -> dict[str, Any]:
        """What the Hub's API answers to a user who is logged in."""
        xsrf = next(one.value for one in reader._jar if one.name == "_xsrf")
        address = f"{self.address}/hub/api/{path}"
        headers = {"X-XSRFToken": str(xsrf), "Referer": f"{self.address}/hub/token"}
        request = urllib.request.Request(address, method=method, headers=headers)
        with reader._opener.open(request, timeout=60) as answer:
            return json.loads(answer.read() or b"{}")


def _xsrf_of(page: str) -> str:
    found = re.search(r'name="_xsrf"\s+value="([^"]*)"', page)
    assert found, page
    return found[1]


@contextmanager
def a_hub(home: Path, arguments: list[str]) -> Iterator[RunningHub]:
    """Runs a JupyterHub that starts `grader desk` with *arguments*; skips the test without one."""
    for program in ("jupyterhub", "configurable-http-proxy"):
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program} here")
    ports = _free_ports(4)
    given = {
        "ports": ports,
        "command": [sys.executable, "-m", "grader", "desk", *arguments],
        "environment": {"PYTHONPATH": str(Path.cwd())},
    }
    home.mkdir()
    (home / "jupyterhub_config.py").write_text(_CONFIG.format(given=json.dumps(given)))
    log = home / "log.txt"
    address = f"http://127.0.0.1:{ports[0]}"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [str(shutil.which("jupyterhub"))], cwd=home, stdout=file, stderr=subprocess.STDOUT
        )
        try:
            end = time.monotonic() + _WAIT
            while not _answers(address):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < end, log.read_text()
                time.sleep(0.2)
            yield RunningHub(address, log)
        finally:
            process.terminate()
            process.wait(30)


def _answers(address: str) -> bool:
    try:
        return Reader(address).get("/services/desk/static/desk.css")[0] == 200
    except OSError:
        return False


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
