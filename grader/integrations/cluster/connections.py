"""Connects to a Dask cluster: a scheduler, one that a Python file starts, or local processes."""

from __future__ import annotations

import importlib
import importlib.util
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.errors import PackageError, SetupError
from grader.integrations.cluster.environments import Worker, ask_workers

_CONNECT_SECONDS = 30
_QUEUE_SECONDS = 24 * 3600
"""How long the first worker of a cluster that a file starts may wait in a queue."""
_VARIABLE = "cluster"


@dataclass(slots=True, kw_only=True)
class Connection:
    """A client of a scheduler, and the cluster that it started for itself, if any."""

    client: Any
    cluster: Any = None
    wait_seconds: float = _CONNECT_SECONDS

    @property
    def dashboard(self) -> str:
        """The address of Dask's dashboard; empty if there is none."""
        has_dashboard = "dashboard" in self.client.scheduler_info().get("services", {})
        return str(self.client.dashboard_link) if has_dashboard else ""

    def wait_for_worker(self) -> None:
        """Waits for the first worker. Raises SetupError if none starts in time."""
        try:
            self.client.wait_for_workers(1, timeout=self.wait_seconds)
        except (OSError, TimeoutError) as error:
            raise SetupError(
                f"no worker has started: {_first_line(error)}",
                where=str(self.client.scheduler.address) if self.client.scheduler else None,
                fix="start workers, or look at the queue of the cluster; then repeat the command",
            ) from error

    def close(self) -> None:
        """Closes the connection, and the cluster that was started for it."""
        self.client.close()
        if self.cluster is not None:
            self.cluster.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """A cluster's workers, and the address of its dashboard, which may be empty."""

    workers: tuple[Worker, ...]
    dashboard: str


def start_local(jobs: int) -> Connection:
    """Starts *jobs* worker processes of this machine. Raises PackageError if Dask is missing."""
    dask = _import_dask()
    importlib.import_module("dask").config.set(
        {
            "distributed.scheduler.allowed-failures": 2,  # three deaths are enough to blame a task
            "distributed.worker.profile.enabled": False,  # 100 samples a second cost time
        }
    )
    cluster = dask.LocalCluster(
        n_workers=jobs,
        threads_per_worker=1,
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    )
    return Connection(client=dask.Client(cluster), cluster=cluster)


def connect(address: str) -> Connection:
    """Returns a connection to a cluster.

    *address* is that of a scheduler, such as `tcp://host:8786`; the path of a scheduler file; or
    the path of a Python file, ending in `.py`, whose variable `cluster` is a cluster that Dask can
    connect to. Raises SetupError, also if no scheduler answers.
    """
    dask, file = _import_dask(), Path(address)
    if file.suffix == ".py":
        cluster = _load_cluster(file)
        return Connection(client=dask.Client(cluster), cluster=cluster, wait_seconds=_QUEUE_SECONDS)
    if not file.is_file() and ":" not in address:
        raise SetupError(
            f"'{address}' is neither the address of a scheduler nor a file",
            fix="check the path after `dask:`, or give an address such as dask:tcp://host:8786",
        )
    how = "scheduler_file" if file.is_file() else "address"
    try:
        client = dask.Client(**{how: address}, timeout=_CONNECT_SECONDS)
        connection = Connection(client=client)
        client.wait_for_workers(1, timeout=_CONNECT_SECONDS)  # they may still be starting
    except (OSError, ValueError, TimeoutError) as error:
        raise SetupError(
            f"no Dask workers can be reached at '{address}': {_first_line(error)}",
            fix="give the address of a scheduler that has workers, such as dask:tcp://host:8786, "
            "or the path of a scheduler file",
        ) from error
    return connection


def survey_workers(address: str, *, sandbox: str) -> Survey:
    """Returns the workers of the cluster at *address*. Raises SetupError if it can't be reached."""
    connection = connect(address)
    try:
        connection.wait_for_worker()
        workers = tuple(ask_workers(connection.client, sandbox))
        return Survey(workers=workers, dashboard=connection.dashboard)
    finally:
        connection.close()


def _load_cluster(file: Path) -> Any:
    """Runs *file*, the user's own, and returns its variable `cluster`. Raises SetupError."""
    spec = importlib.util.spec_from_file_location("grader_cluster", file)
    if not file.is_file() or spec is None or spec.loader is None:
        raise SetupError(
            "there is no such file", where=str(file), fix="check the path after `dask:`"
        )
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise SetupError(
            f"this file can't start a cluster: {type(error).__name__}: {_first_line(error)}",
            where=str(file),
            fix="run it with Python to see the whole error",
        ) from error
    cluster = getattr(module, _VARIABLE, None)
    if cluster is None:
        raise SetupError(
            f"this file defines no variable `{_VARIABLE}`",
            where=str(file),
            fix=f"assign the cluster, such as `{_VARIABLE} = SLURMCluster(...)`",
        )
    return cluster


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _import_dask() -> Any:
    """Returns the module `distributed`, silenced. Raises PackageError if it is missing."""
    try:
        dask = importlib.import_module("distributed")  # without types
    except ImportError as error:
        raise PackageError("Dask is not installed", fix="run: pip install distributed") from error
    # Dask logs each lost connection with a traceback; our errors say what to do.
    for name in list(logging.root.manager.loggerDict):  # some have a level of their own
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)
    return dask
