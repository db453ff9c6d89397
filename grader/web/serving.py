"""Runs an ASGI application on this machine."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

from grader.errors import SetupError

LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""The names of this machine for itself."""


def host_in_url(host: str) -> str:
    """Returns *host* as it is written in an address, with brackets around an IPv6 address.

    >>> host_in_url("::1"), host_in_url("localhost")
    ('[::1]', 'localhost')
    """
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def choose_port(host: str, port: int) -> int:
    """Returns *port* if this process can listen on it at *host*; if it is 0, a free port.

    Raises SetupError. Checks before a link is printed, as the server reports nothing but a log.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
            return int(listener.getsockname()[1])
    except OSError as error:
        where = f"port {port} of {host}" if port else f"the address {host}"
        raise SetupError(
            f"can't listen on {where}: {(error.strerror or str(error)).lower()}",
            fix="choose another port with --port, or omit --port to use any free one"
            if port
            else "use an address of this machine, such as 127.0.0.1",
        ) from None


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
