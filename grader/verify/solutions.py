"""Loads the independent solutions in `solutions/`, and calls them with a time limit."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType, ModuleType

from grader.errors import Location, SetupError
from grader.kinds.hidden.solutions import Given, line_of_error
from grader.runtime.worker.dynamo import defer_dynamo, import_dynamo

SOLVE_SECONDS = 10.0
"""Limit on CPU time for one call, far above what a call should take when fifty variants are
checked."""
_MOST_TIMES = 6
"""The real time that a call may take, as a multiple of SOLVE_SECONDS. It ends calls that wait
forever, but not those that a busy machine delays."""
_NEXT_SECONDS = 1.0
"""Until a call is interrupted again, in case it catches everything."""

_LIBRARIES = {
    "numpy": r"^\s*(?:import|from)\s+numpy\b",
    "torch": r"^\s*(?:import|from)\s+torch\b",
}
"""Libraries that take long to import, and a pattern of the files that need them."""
_DYNAMO = re.compile(r"\btorch(?:\.|\s+import\s+)(?:compile|export|func|jit|fx|profiler|_dynamo)\b")
"""Pattern of solutions that need the real `torch._dynamo` instead of its stand-in."""

Solve = Callable[[Given], Mapping[str, object]]


class _TimeIsUpError(BaseException):
    """An author's code has used up its time. No Exception, so that `except Exception` lets it
    pass."""


def load_solve(path: Path) -> Solve:
    """Runs a solution file and returns its function `solve`. Raises SetupError."""
    solve = getattr(load_file(path), "solve", None)
    if not callable(solve):
        raise SetupError(
            "the solution has no function 'solve(given)'",
            where=Location(str(path)),
            fix="see `grader new` for a commented example",
        )
    return solve  # type: ignore[no-any-return]


def load_file(path: Path) -> ModuleType:
    """Runs a solution file and returns it as a module. Raises SetupError."""
    import importlib.util

    name = "grader_solution_" + hashlib.sha256(str(path).encode()).hexdigest()[:12]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # noqa: S101 - a path to .py always has one
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    _import_slow_libraries(path)
    try:
        with _limit_time():
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - an author's file may raise anything
        raise SetupError(
            f"the solution can't be loaded: {type(error).__name__}: {error}",
            where=failure_line(error, path),
            fix="run the file with Python to see the traceback",
        ) from None
    return module


def _import_slow_libraries(path: Path) -> None:
    """Imports the libraries of a solution, so that this time is not counted against it.

    Each gets one thread, as in the sandbox: sums keep their order, and processes do not compete.
    """
    text = path.read_text(encoding="utf-8", errors="replace")
    for library, use in _LIBRARIES.items():
        if re.search(use, text, re.M):
            with contextlib.suppress(ImportError):
                importlib.import_module(library)
    if "torch" in sys.modules:
        if _DYNAMO.search(text):
            import_dynamo()
        else:
            defer_dynamo()  # as in kernels: its import takes longer than that of torch
        sys.modules["torch"].set_num_threads(1)


def call(solve: Solve, given: Given) -> Mapping[str, object]:
    """Calls *solve* and returns its result. Raises TimeoutError if it takes too long."""
    with _limit_time():
        solved = solve(given)
    if not isinstance(solved, Mapping):
        raise TypeError(
            f"solve() returned {type(solved).__name__}, not a mapping from part ids to answers"
        )
    return solved


@contextlib.contextmanager
def _limit_time() -> Iterator[None]:
    """Interrupts an author's code that never returns, and redirects its output to stderr.

    Raises TimeoutError.
    """
    began, end = time.process_time(), time.monotonic() + _MOST_TIMES * SOLVE_SECONDS

    def check_time(_signal: int, _frame: FrameType | None) -> None:
        """Raises _TimeIsUpError if the CPU time or the real time is up; else waits on."""
        remaining = SOLVE_SECONDS - (time.process_time() - began)
        if remaining > 0 and time.monotonic() < end:
            signal.setitimer(signal.ITIMER_REAL, max(remaining, 0.1))
            return
        signal.setitimer(signal.ITIMER_REAL, _NEXT_SECONDS)
        raise _TimeIsUpError

    with contextlib.redirect_stdout(sys.stderr):
        # Without SIGALRM, as on Windows, there is no time limit; Ctrl-C still works.
        if not hasattr(signal, "SIGALRM") or (
            threading.current_thread() is not threading.main_thread()
        ):
            yield
            return
        before = signal.signal(signal.SIGALRM, check_time)
        signal.setitimer(signal.ITIMER_REAL, SOLVE_SECONDS)
        try:
            yield
        except _TimeIsUpError as error:
            late = TimeoutError(f"it ran longer than {SOLVE_SECONDS:g} s")
            raise late.with_traceback(error.__traceback__) from None  # which has the author's line
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def failure_line(error: BaseException, path: Path) -> Location:
    """Returns the location in the solution file from which *error* was raised."""
    return Location(str(path), line_of_error(error, str(path)))
