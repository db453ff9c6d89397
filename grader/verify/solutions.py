"""The second computations in `solutions/`: loaded, and called within bounds."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType, ModuleType

from grader.errors import Location, SetupError
from grader.kinds.hidden.authored import line_raised
from grader.kinds.hidden.given import Given

SOLVE_SECONDS = 10.0
"""For one call: a hundred times what fifty variants of a bank can afford."""


Solve = Callable[[Given], Mapping[str, object]]


def load_solve(path: Path) -> Solve:
    """The function `solve` of a solution file; raises SetupError. Runs the file."""
    solve = getattr(load_file(path), "solve", None)
    if not callable(solve):
        raise SetupError(
            "the solution has no function 'solve(given)'",
            where=Location(str(path)),
            fix="see `grader new` for a commented example",
        )
    return solve  # type: ignore[no-any-return]


def load_file(path: Path) -> ModuleType:
    """A solution file as a module; raises SetupError. Runs the file."""
    import importlib.util

    name = "grader_solution_" + hashlib.sha256(str(path).encode()).hexdigest()[:12]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # noqa: S101 - a path to .py always has one
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    _import_what_takes_long(path)
    try:
        with _bounded():
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - an author's file may raise anything
        raise SetupError(
            f"the solution can't be loaded: {type(error).__name__}: {error}",
            where=failure_line(error, path),
            fix="run the file with python to see the traceback",
        ) from None
    return module


def _import_what_takes_long(path: Path) -> None:
    """Libraries of a solution, whose seconds are not the solution's.

    One thread each, as behind the wall: sums come in the same order, and processes do not fight.
    """
    text = path.read_text(encoding="utf-8", errors="replace")
    for library in ("numpy", "torch"):
        if re.search(rf"^\s*(?:import|from)\s+{library}\b", text, re.M):
            with contextlib.suppress(ImportError):
                importlib.import_module(library)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def call(solve: Solve, given: Given) -> Mapping[str, object]:
    """What *solve* returns; raises whatever it raises, and TimeoutError when it takes too long."""
    with _bounded():
        solved = solve(given)
    if not isinstance(solved, Mapping):
        raise TypeError(f"solve() returned {type(solved).__name__}, not part ids with answers")
    return solved


@contextlib.contextmanager
def _bounded() -> Iterator[None]:
    """Ends an author's code that never returns, and keeps what it prints off our stdout."""

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"it ran longer than {SOLVE_SECONDS:g} s")

    with contextlib.redirect_stdout(sys.stderr):
        # Elsewhere, such as on Windows, there is no alarm: Ctrl-C remains.
        if not hasattr(signal, "SIGALRM") or (
            threading.current_thread() is not threading.main_thread()
        ):
            yield
            return
        before = signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, SOLVE_SECONDS)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def failure_line(error: BaseException, path: Path) -> Location:
    """Where in the solution file an exception came from."""
    return Location(str(path), line_raised(error, str(path)))
