"""What a student's code calls while it runs, set against what its part forbids.

Like `grader.wire.trial`, the text of this module is sent to the kernel, so it imports nothing of
ours. There it stands among a driver's names. Students' code runs in the same process and can put an
end to the watching: that something was seen tells more than that nothing was.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, Self

LOOPED = 100
"""Calls of one function of the student's, in one call of theirs, that are as many as of a loop."""
MOST_EVENTS = 200_000
"""Calls and returns that are looked at, so that watching never takes more than a moment."""
LOOPS = "loops"
_OWN = ("<ipython-input-", "<solution ")
"""How the file names of students' code begin, and of what an author wrote in place of it."""
_MAKING = (".__init__", ".__new__", ".__call__")


class Watch:
    """What of *forbidden* is called by a student's code within a `with` statement."""

    def __init__(self, forbidden: list[str]):
        self.used: list[str] = []
        """The rules that were broken, each once."""
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
        """Whether it is the student's code, or a wrapper of what is forbidden that it called."""
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
    """Whether it is what the rule names, in it, or has its name elsewhere in the package."""
    if full == rule or full.startswith(f"{rule}."):
        return True
    same = full.partition(".")[0] == rule.partition(".")[0]
    return same and "." in rule and full.rpartition(".")[2] == rule.rpartition(".")[2]


def _name_of(function: Any) -> str:
    """The full name of a function that is written in C."""
    owner = getattr(function, "__self__", None)
    if owner is None or isinstance(owner, type(sys)):
        where = getattr(function, "__module__", None) or getattr(owner, "__name__", "")
    else:
        kind = owner if isinstance(owner, type) else type(owner)
        where = f"{kind.__module__}.{kind.__qualname__}"
    return f"{where}.{getattr(function, '__name__', '')}"


def _wrappers(rule: str) -> list[Any]:
    """The code around the function that *rule* names, where decorators have put some."""
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
    """What *call* returns; *said* then has what of *forbidden* the code was seen to use."""
    with Watch(forbidden) as watch:
        result = call(**named)
    if watch.used:
        said["used"] = watch.used
    return result
