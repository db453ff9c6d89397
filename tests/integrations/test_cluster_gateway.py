"""A run on the workers of a Dask Gateway, through its proxy, as the how-to describes it."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.batch import a_class, gradebook_of
from tests.helpers.cluster import end
from tests.helpers.kernels import until

pytest.importorskip("dask_gateway")
pytest.importorskip("dask_gateway_server")
pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "grade-with-dask-gateway.md"
CONFIGURATION = """
c.DaskGateway.address = "127.0.0.1:{gateway}"
c.DaskGateway.backend_class = "dask_gateway_server.backends.local.UnsafeLocalBackend"
c.Proxy.address = "127.0.0.1:{proxy}"
c.UnsafeLocalBackend.clusters_directory = "{folder}/clusters"
c.UnsafeLocalBackend.inherited_environment = ["PATH", "HOME", "PYTHONPATH"]
{commands}
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[str]:
    """The address of a gateway whose clusters are processes of this machine."""
    port, proxy = free_port(), free_port()
    # The commands are those that the page gives to administrators.
    commands = "\n".join(re.findall(r"`(c\.ClusterConfig\.[^`]+)`", PAGE.read_text()))
    file = tmp_path / "dask_gateway_config.py"
    file.write_text(
        CONFIGURATION.format(gateway=port, proxy=proxy, folder=tmp_path, commands=commands)
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with (tmp_path / "gateway.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "dask_gateway_server", "-f", str(file)],
            stdout=log,
            stderr=log,
            cwd=tmp_path,
            env=os.environ | {"PATH": path},
            start_new_session=True,
        )
    try:
        assert until(lambda: answers(proxy), 60), (tmp_path / "gateway.log").read_text()
        yield f"http://127.0.0.1:{proxy}"
    finally:
        server.terminate()
        server.wait(60)
        end(server)


def answers(port: int) -> bool:
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", port)) == 0


def test_the_file_of_the_page_grades_like_one_machine(tmp_path: Path, gateway: str) -> None:
    file = tmp_path / "cluster.py"
    given = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert given is not None
    text = re.sub(r"^ {4}", "", given[1], flags=re.MULTILINE)
    text = text.replace("https://gateway.example.edu", gateway).replace("maximum=40", "maximum=2")
    file.write_text(text)

    home = a_class(tmp_path / "class", 8)
    home.graded(tmp_path / "alone")
    home.graded(tmp_path / "through", "--executor", f"dask:{file}")
    assert gradebook_of(tmp_path / "through") == gradebook_of(tmp_path / "alone")
    hosts = {
        json.loads(path.read_bytes())["environment"]["host"]
        for path in (tmp_path / "through" / "grades").glob("*.json")
        if "host" in json.loads(path.read_bytes())["environment"]
    }
    assert len(hosts) == 1, "nothing was executed by a worker"
    # The command has stopped the cluster that it started.
    assert until(lambda: not list((tmp_path / "clusters").glob("*")), 60)
