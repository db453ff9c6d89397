"""Delays after failed attempts, so that nobody can try many passwords."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field
from threading import Lock

_FORGOTTEN = 3600
"""Seconds without an attempt after which the failures before it no longer count."""
_MOST = 10_000
"""Maximum number of keys that are remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """How many attempts fail without a delay, and the longest delay in seconds."""

    free: int
    longest: float

    def delay(self, failures: int) -> float:
        """Returns the seconds to wait after so many failures: 1, 2, 4, and so on.

        >>> [Allowance(free=3, longest=5.0).delay(n) for n in (2, 3, 4, 5, 6)]
        [0.0, 1.0, 2.0, 4.0, 5.0]
        """
        beyond = failures - self.free
        return 0.0 if beyond < 0 else min(2.0 ** min(beyond, 60), self.longest)


@dataclass(slots=True)
class Throttle:
    """The failed attempts by key, such as an account or an address."""

    _failures: dict[str, tuple[int, float]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def attempt(self, keys: Iterable[tuple[str, Allowance]], now: float) -> float:
        """Counts a failure for each key, and returns 0. If it is too soon for another attempt,
        counts nothing, and returns the seconds to wait.

        Failures are counted before anything is checked, so that attempts at the same time don't
        help."""
        keys = tuple(keys)
        with self._lock:
            wait = max(self._wait(key, allowance, now) for key, allowance in keys)
            if wait > 0:
                return wait
            for key, _ in keys:
                failures, at = self._failures.pop(key, (0, now))
                self._failures[key] = (1 if now - at > _FORGOTTEN else failures + 1), now
            while len(self._failures) > _MOST:
                del self._failures[next(iter(self._failures))]
        return 0.0

    def _wait(self, key: str, allowance: Allowance, now: float) -> float:
        failures, at = self._failures.get(key, (0, now))
        return max(at + allowance.delay(failures) - now, 0.0)

    def succeed(self, key: str) -> None:
        """Forgets the failures of *key*."""
        with self._lock:
            self._failures.pop(key, None)

    def take_back(self, key: str) -> None:
        """Forgets the last failure of *key*, after an attempt that succeeded."""
        with self._lock:
            failures, at = self._failures.pop(key, (0, 0.0))
            if failures > 1:
                self._failures[key] = failures - 1, at


def network_of(address: str) -> str:
    """Returns what one customer of a provider has: the IPv4 address, or the /64 of an IPv6 one.

    >>> network_of("192.0.2.7"), network_of("2001:db8:1:2:3::4"), network_of("")
    ('192.0.2.7', '2001:db8:1:2::', '')
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.ip_network((parsed, 64), strict=False).network_address)
