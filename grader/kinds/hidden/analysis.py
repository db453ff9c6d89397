"""Analysis of students' code: long code is analyzed in a process that can be killed.

A short text can always be parsed in a fraction of a second. A long one can hold the interpreter's
lock for seconds, which stops all other threads, or take gigabytes of memory.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from grader.files import PACKAGE
from grader.kinds.hidden import forbidden_use, review, source

MOST_HERE = 20_000
"""Maximum number of characters to analyze in this process."""
SECONDS = 10.0
"""Time limit for analyzing longer code, in seconds; then its process is killed."""
_MEMORY_BYTES = 2_000_000_000
_MOST_SAID = 4_000_000
"""Maximum size of one result, in bytes."""
_PROGRAM = "from grader.kinds.hidden.analysis import serve; serve()"

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "extract_definition": source.extract_definition,
    "functions_of": source.functions_of,
    "review": review.review_source,
    "forbidden_lines": forbidden_use.list_forbidden_lines,
}
"""The analyses by name; arguments and results are JSON data."""


class NotAnalyzedError(Exception):
    """The code can't be analyzed; says why, as the end of a sentence."""


def extract_definition(cells: Sequence[str], name: str) -> str:
    """Returns the code that *name* needs. Raises NotAnalyzedError."""
    return str(_analyze("extract_definition", list(cells), name))


def functions_of(code: str) -> str:
    """Returns the definitions of *code*, which can run again. Raises NotAnalyzedError."""
    return str(_analyze("functions_of", code))


@lru_cache(maxsize=256)  # the same answer is read more than once
def review_source(code: str, name: str, starter: str, forbidden: tuple[str, ...]) -> Any:
    """Returns the fields of the `SourceReview` of *code*. Raises NotAnalyzedError."""
    return _analyze("review", code, name, starter, list(forbidden))


def forbidden_lines(code: str, forbidden: Sequence[str]) -> list[tuple[int, str]]:
    """Returns each line's number with what it uses of *forbidden*. Raises NotAnalyzedError."""
    return [(int(n), str(words)) for n, words in _analyze("forbidden_lines", code, list(forbidden))]


def start_early(cells: Sequence[str]) -> None:
    """Starts the process that this thread needs to analyze *cells*, if they are long."""
    if sum(map(len, cells)) > MOST_HERE:
        with contextlib.suppress(OSError):
            _process_of_thread().start()


def _analyze(function: str, code: Any, *more: Any) -> Any:
    """Returns the result of *function* for *code*, one text or several. Raises NotAnalyzedError."""
    texts = [code] if isinstance(code, str) else code
    if sum(map(len, texts)) > MOST_HERE:
        return _process_of_thread().ask(function, code, *more)
    result, why = _call_analysis(function, code, *more)
    if why is not None:
        raise NotAnalyzedError(why)
    return result


def _call_analysis(function: str, *arguments: Any) -> tuple[Any, str | None]:
    """Returns a result and None, or None and the reason why the code can't be analyzed."""
    try:
        return FUNCTIONS[function](*arguments), None
    except source.TooLongError as error:
        return None, str(error)
    except (RecursionError, MemoryError):
        return None, "it is too large or nested too deeply to be analyzed"


class _AnalysisProcess:
    """A process that analyzes one text at a time, restarted after it was killed."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._process: subprocess.Popen[bytes] | None = None
        self._last_failure: tuple[object, str] | None = None

    def ask(self, function: str, code: Any, *more: Any) -> Any:
        """Returns the result of *function* for the code. Raises NotAnalyzedError."""
        if self._last_failure is not None and self._last_failure[0] == code:
            # The same notebook is analyzed for many names.
            raise NotAnalyzedError(self._last_failure[1])
        began = time.monotonic()
        try:
            result, why = json.loads(self._send_request(json.dumps([function, code, *more])))
        except (OSError, ValueError, TypeError):
            is_late = time.monotonic() - began >= SECONDS
            failure = f"took more than {SECONDS:g} s" if is_late else "ended without a result"
            why = f"its analysis {failure}"
        else:
            if why is None:
                return result
            raise NotAnalyzedError(str(why))
        self.end()
        self._last_failure = (code, why)
        raise NotAnalyzedError(why)

    def start(self) -> subprocess.Popen[bytes]:
        """Returns the process, and starts it first if none is running. Raises OSError."""
        if self._process is None or self._process.poll() is not None:
            path = os.pathsep.join(filter(None, [str(PACKAGE.parent), *sys.path]))
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-c", _PROGRAM],
                env={**os.environ, "PYTHONPATH": path},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C must not reach it: it ends with its input
            )
        return self._process

    def _send_request(self, request: str) -> bytes:
        """Returns the reply to *request*, incomplete if it is late or too long. Raises OSError."""
        process = self.start()
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None and stdout is not None  # noqa: S101,PT018 - both are pipes
        watchdog = threading.Timer(SECONDS, process.kill)
        watchdog.start()
        try:
            stdin.write(request.encode() + b"\n")  # the process reads it as a whole
            stdin.flush()
            return stdout.readline(_MOST_SAID)
        finally:
            watchdog.cancel()

    def end(self) -> None:
        """Kills the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # at interpreter shutdown, anything may be gone
            self.end()


_here = threading.local()


def _process_of_thread() -> _AnalysisProcess:
    """Returns this thread's worker, so that threads don't wait for each other. After a fork, it is
    a new one."""
    worker = getattr(_here, "worker", None)
    if not isinstance(worker, _AnalysisProcess) or worker.owner != os.getpid():
        worker = _here.worker = _AnalysisProcess()
    return worker


def serve() -> None:  # pragma: no cover - runs in a process that is not measured
    """Runs the worker process: answers each line of the input with a line of output."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    for line in sys.stdin.buffer:
        print(json.dumps(_call_analysis(*json.loads(line))), flush=True)
