"""Monitors which forbidden functions a student's code calls while it runs.

Like `grader.wire.trial`, the text of this module is sent to the kernel, so it imports nothing from
`grader`, and shares a namespace with a driver. Students' code runs in the same process and can stop
the monitoring, so a detected call proves more than none.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, Self

LOOPED = 100
"""So many calls of one function of the student's, within one call, count as a loop."""
MOST_EVENTS = 200_000
"""Limit on the calls and returns examined, so that monitoring takes only a moment."""
LOOPS = "loops"
_OWN = ("<ipython-input-", "<solution ")
"""How the file names of students' code begin, and of what an author wrote in place of it."""
_MAKING = (".__init__", ".__new__", ".__call__")


class Watch:
    """Records calls of *forbidden* functions by a student's code in a `with` statement."""

    def __init__(self, forbidden: list[str]):
        self.used: list[str] = []
        """The broken rules, without duplicates."""
        self._rules = [rule for rule in forbidden if rule != LOOPS]
        self._counts_loops = LOOPS in forbidden
        self._wrappers = {code for rule in self._rules for code in _wrappers(rule)}
        self._calls: Counter[Any] = Counter()
        self._left = MOST_EVENTS

    def __enter__(self) -> Self:
        threading.setprofile(self._event)
        sys.setprofile(self._event)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _event(self, frame: Any, event: str, called: Any) -> None:
        self._left -= 1
        if self._left < 0:
            sys.setprofile(None)
        elif event == "call":
            code = frame.f_code
            if code.co_filename.startswith(_OWN):
                self._count(code)
            elif self._is_own(frame.f_back) and code.co_name != "<module>":
                self._note(f"{frame.f_globals.get('__name__')}.{code.co_qualname}")
        elif event == "c_call" and frame.f_code.co_filename.startswith(_OWN):
            self._note(_name_of(called))

    def _is_own(self, frame: Any) -> bool:
        """Whether the frame is the student's code, or a wrapper of a forbidden function."""
        while frame is not None and frame.f_code in self._wrappers:
            frame = frame.f_back
        return frame is not None and frame.f_code.co_filename.startswith(_OWN)

    def _count(self, code: Any) -> None:
        if self._counts_loops:
            self._calls[code] += 1
            if self._calls[code] == LOOPED and LOOPS not in self.used:
                self.used.append(LOOPS)

    def _note(self, full: str) -> None:
        full = full.removeprefix("builtins.")
        for end in _MAKING:
            full = full.removesuffix(end)
        self.used += [r for r in self._rules if r not in self.used and _is_like(full, r)]


def _is_like(full: str, rule: str) -> bool:
    """Whether *full* is what the rule names, is inside it, or has its name in the same package."""
    if full == rule or full.startswith(f"{rule}."):
        return True
    same = full.partition(".")[0] == rule.partition(".")[0]
    return same and "." in rule and full.rpartition(".")[2] == rule.rpartition(".")[2]


def _name_of(function: Any) -> str:
    """The full name of a function written in C."""
    owner = getattr(function, "__self__", None)
    if owner is None or isinstance(owner, type(sys)):
        where = getattr(function, "__module__", None) or getattr(owner, "__name__", "")
    else:
        kind = owner if isinstance(owner, type) else type(owner)
        where = f"{kind.__module__}.{kind.__qualname__}"
    return f"{where}.{getattr(function, '__name__', '')}"


def _wrappers(rule: str) -> list[Any]:
    """The code of decorators around the function that *rule* names."""
    package, *names = rule.split(".")
    found: Any = sys.modules.get(package)
    for name in names:
        found = getattr(found, name, None)
    codes: list[Any] = []
    while hasattr(found, "__wrapped__") and len(codes) < 10:
        codes.append(getattr(found, "__code__", None))
        found = found.__wrapped__
    return codes


def watched(
    call: Callable[..., Any], forbidden: list[str], said: dict[str, Any], /, **named: Any
) -> Any:
    """Returns the result of *call*; adds the forbidden functions that it used to *said*."""
    with Watch(forbidden) as watch:
        result = call(**named)
    if watch.used:
        said["used"] = watch.used
    return result
