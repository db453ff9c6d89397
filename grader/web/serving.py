"""Runs an ASGI application on this machine."""

from __future__ import annotations

import socket
from typing import Any

LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""The names of this machine for itself."""


def free_port(host: str) -> int:
    """Returns a port of *host* that nothing listens on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as found:
        found.bind((host, 0))
        return int(found.getsockname()[1])


def serve(asgi: Any, host: str, port: int) -> None:
    """Serves *asgi* until Ctrl-C."""
    import uvicorn

    uvicorn.run(
        asgi, host=host, port=port, log_level="warning", access_log=False, server_header=False
    )
