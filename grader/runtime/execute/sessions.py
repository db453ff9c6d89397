"""Starts kernels for a block of code, and closes them after it."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator

from grader.runtime.kernels import KernelOptions, NotStartedError, Session

Start = Callable[[KernelOptions], Session]
"""Starts a kernel, or raises NotStartedError."""

log = logging.getLogger("grader.runtime.execute")


@contextlib.contextmanager
def open_session(start: Start, options: KernelOptions) -> Iterator[Session]:
    """Yields a session and closes it after the block; a failed start is retried once.

    Raises NotStartedError if the second start fails too.
    """
    try:
        session = start(options)
    except NotStartedError:
        session = start(options)
    try:
        yield session
    finally:
        try:
            session.close()
        except Exception as error:  # noqa: BLE001  # a failed cleanup must not lose results
            log.warning("a kernel could not be closed: %s", error)
