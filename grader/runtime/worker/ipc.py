"""Short messages between the grader, the fork server and the supervisors.

They use SOCK_SEQPACKET pairs, which preserve message boundaries and carry open files. A student's
process never holds one of these sockets.
"""

from __future__ import annotations

import json
import socket
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

_LONGEST = 120_000
_MOST_FILES = 16
_TEXT = 400
_TRACE = 2_000


def make_pair() -> tuple[socket.socket, socket.socket]:
    """Returns the two ends of a new line."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def send_message(
    line: socket.socket, message: Mapping[str, Any], files: Sequence[int] = ()
) -> None:
    """Sends *message* with open files. Raises OSError if the other end is closed."""
    socket.send_fds(line, [json.dumps(message).encode()], files, socket.MSG_NOSIGNAL)


def receive_message(line: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """Returns the next message and its files; None if the other end is closed."""
    try:
        data, files, _, _ = socket.recv_fds(line, _LONGEST, _MOST_FILES, socket.MSG_CMSG_CLOEXEC)
    except ConnectionError:
        return None, []
    return (json.loads(data) if data else None), files


def format_failure(error: BaseException) -> str:
    """Returns a report of an exception: a line with its type and message, then where it was raised.

    Students may see the first line; the rest is for the log.
    """
    message = error.strerror if isinstance(error, OSError) else None  # without the file's name
    first = f"{type(error).__name__}: {message or error}".splitlines()[0]
    return f"{first[:_TEXT]}\n{''.join(traceback.format_exception(error))[-_TRACE:]}"
