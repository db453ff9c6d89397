"""Runs an ASGI application on this machine."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""The names of this machine for itself."""


def free_port(host: str) -> int:
    """Returns a port of *host* that nothing listens on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as found:
        found.bind((host, 0))
        return int(found.getsockname()[1])


def serve(asgi: Any, host: str, port: int, proxies: Sequence[str] = ()) -> None:
    """Serves *asgi* until Ctrl-C.

    Believes only *proxies*, which are addresses or networks, what they say in `X-Forwarded-For`
    and `X-Forwarded-Proto` of the browser's address and whether it uses https.
    """
    import uvicorn

    uvicorn.run(
        asgi,
        host=host,
        port=port,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        log_level="warning",
        access_log=False,
        server_header=False,
    )
