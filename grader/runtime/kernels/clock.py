"""The time limit of a cell or call, which other work on the machine does not use up."""

from __future__ import annotations

import time
from collections.abc import Callable

from grader.runtime.kernels.contention import Usage, seconds_kept_waiting

MOST_TIMES = 4.0
"""Time limits grow by the time a kernel waits for a processor, to at most this multiple."""
_FIRST_LOOK_SECONDS = 0.05
_NEGLIGIBLE_SECONDS = 0.02


class FairClock:
    """A time limit that other work on the machine does not use up.

    *look* returns the usage of the kernel. When the limit is reached, it grows by the time for
    which the kernel was kept waiting, up to MOST_TIMES its length.
    """

    def __init__(self, seconds: float, look: Callable[[], Usage | None]):
        self.waited = 0.0
        """Seconds of waiting; known once `seconds_left` has returned 0 or `stop` was called."""
        self.contended = False
        """Whether the limit was reached although the kernel did not get that much time."""
        self._look = look
        self._limit = seconds
        self._began = time.monotonic()
        self._before: Usage | None = None
        self._looked = False

    def seconds_left(self) -> float:
        """Returns the seconds until the limit is reached; 0 once it is, after a call of `stop`."""
        now = time.monotonic()
        # Most cells finish before this, so that no usage has to be read for them.
        if not self._looked and now - self._began >= _FIRST_LOOK_SECONDS:
            self._before = self._look()
            self._looked = True
        left = self._began + self._limit + self.waited - now
        if left <= _NEGLIGIBLE_SECONDS:
            self.stop()
            left = self._began + self._limit + self.waited - time.monotonic()
        return left if left > _NEGLIGIBLE_SECONDS else 0.0

    def stop(self) -> None:
        """Sets `waited` and `contended` by a last look at the kernel, which must still exist."""
        after = self._look() if self._before is not None else None
        if self._before is not None and after is not None:
            waited = seconds_kept_waiting(self._before, after)
            longest = (MOST_TIMES - 1) * self._limit
            self.waited = min(waited, longest)
            self.contended = waited > longest
