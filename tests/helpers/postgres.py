"""A PostgreSQL server that tests start and stop, from the system's own package."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import URL, create_engine

from grader.gradebook.address import parse_address

# Debian and Ubuntu keep the programs of each version in a folder of their own.
_HOMES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: -int(p.parent.name))
_INITDB = next((str(h / "initdb") for h in _HOMES), None) or shutil.which("initdb")


def _owner() -> str | None:
    """The user that the server runs as: it refuses to run as root."""
    if os.geteuid() != 0:
        return None
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        return "nobody"
    return "postgres"


class Server:
    """A running server with one database; every gradebook gets a schema of its own."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._ctl = str(Path(str(_INITDB)).with_name("pg_ctl"))

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses='' -c fsync=off"
        self._run(self._ctl, "-D", "data", "-o", options, "-l", "log", "-w", "start")

    def stop(self, mode: str = "immediate") -> None:
        self._run(self._ctl, "-D", "data", "-m", mode, "-w", "stop")

    def initialize(self) -> None:
        self._run(
            str(_INITDB), "-D", "data", "-U", "course", "-A", "trust", "-E", "UTF8", "--no-sync"
        )

    def address(self, schema: str = "") -> URL:
        """The address of a gradebook, by default of one that nobody has used."""
        schema = schema or f"t{secrets.token_hex(8)}"
        return parse_address(f"postgresql://course@/postgres?host={self.folder}&schema={schema}")

    def execute(self, statement: str) -> None:
        """Runs a statement as the database's owner."""
        url = self.address().difference_update_query(["schema"])
        engine = create_engine(url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.exec_driver_sql(statement)
        engine.dispose()

    def _run(self, *command: str) -> None:
        subprocess.run(
            command,
            cwd=self.folder,
            user=_owner(),
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )


@contextmanager
def a_server() -> Iterator[Server]:
    """Starts a server; skips the test where none is installed, unless the environment says that
    there must be one."""
    if _INITDB is None:
        if os.environ.get("GRADER_NEEDS_POSTGRESQL"):
            pytest.fail("PostgreSQL is not installed; on Debian: apt-get install postgresql")
        pytest.skip("PostgreSQL is not installed; on Debian: apt-get install postgresql")
    # Short, because the path of its socket has at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if owner := _owner():
            shutil.chown(folder, owner)
        server = Server(folder)
        server.initialize()
        server.start()
        try:
            yield server
        finally:
            server.stop()
