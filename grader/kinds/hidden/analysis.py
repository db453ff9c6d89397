"""Analysis of students' code: long code is analyzed in a process that can be killed.

A short text can always be parsed in a fraction of a second. A long one can hold the interpreter's
lock for seconds, which stops all other threads, or take gigabytes of memory.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from grader.files import PACKAGE
from grader.kinds.hidden import doubts, rules, source, statements

MOST_HERE = 20_000
"""Maximum number of characters to analyze in this process."""
SECONDS = 10.0
"""Time limit for analyzing longer code, in seconds; then its process is killed."""
_MEMORY_BYTES = 2_000_000_000
_MOST_SAID = 4_000_000
"""Maximum size of one result, in bytes."""
_PROGRAM = "from grader.kinds.hidden.analysis import serve; serve()"

FUNCTIONS: Mapping[str, Callable[..., str | None]] = {
    "definitions": source.definitions,
    "functions_of": source.functions_of,
    "find_undefined_name": source.find_undefined_name,
    "shape_of": statements.shape_of,
    "find_forbidden_use": rules.find_forbidden_use,
    "find_doubtful_use": doubts.find_doubtful_use,
}
"""The analyses by name; all arguments are texts or lists of texts."""


class NotAnalyzedError(Exception):
    """The code can't be analyzed; says why, as the end of a sentence."""


def definitions(cells: Sequence[str], name: str) -> str:
    """Calls `source.definitions`. Raises NotAnalyzedError."""
    return str(_analyze("definitions", list(cells), name))


def functions_of(code: str) -> str:
    """Calls `source.functions_of`. Raises NotAnalyzedError."""
    return str(_analyze("functions_of", code))


def shape_of(code: str) -> str:
    """Calls `statements.shape_of`. Raises NotAnalyzedError."""
    return str(_analyze("shape_of", code))


def find_undefined_name(code: str) -> str | None:
    """Calls `source.find_undefined_name`. Raises NotAnalyzedError."""
    return _optional_text(_analyze("find_undefined_name", code))


def find_forbidden_use(code: str, forbidden: Sequence[str]) -> str | None:
    """Calls `rules.find_forbidden_use`. Raises NotAnalyzedError."""
    return (
        _optional_text(_analyze("find_forbidden_use", code, list(forbidden))) if forbidden else None
    )


def find_doubtful_use(code: str, forbidden: Sequence[str]) -> str | None:
    """Calls `doubts.find_doubtful_use`. Raises NotAnalyzedError."""
    return (
        _optional_text(_analyze("find_doubtful_use", code, list(forbidden))) if forbidden else None
    )


def _optional_text(found: object) -> str | None:
    return None if found is None else str(found)


def _analyze(function: str, code: Any, *more: Any) -> object:
    """Returns the result of *function* for *code*, a text or a list of texts."""
    texts = [code] if isinstance(code, str) else code
    if sum(map(len, texts)) > MOST_HERE:
        return _process_of_thread().ask(function, code, *more)
    try:
        return FUNCTIONS[function](code, *more)
    except source.TooLongError as error:
        raise NotAnalyzedError(str(error)) from None
    except (RecursionError, MemoryError):
        raise NotAnalyzedError("it is nested too deeply to be analyzed") from None


class _AnalysisProcess:
    """A process that analyzes one text at a time, restarted after it was killed."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._process: subprocess.Popen[bytes] | None = None
        self._given_up: tuple[object, str] | None = None

    def ask(self, function: str, code: Any, *more: Any) -> object:
        """Returns the result of *function* for the code. Raises NotAnalyzedError."""
        if self._given_up is not None and self._given_up[0] == code:
            raise NotAnalyzedError(
                self._given_up[1]
            )  # the same notebook is analyzed for many names
        try:
            said = json.loads(
                self._read_reply(json.dumps([function, code, *more]).encode() + b"\n")
            )
            result, why = said["result"], said["why"]
        except TimeoutError:
            why = f"its analysis took more than {SECONDS:g} s"
        except (OSError, ValueError, KeyError, TypeError):
            why = "its analysis ended without a result"
        else:
            if why is None:
                return result
            raise NotAnalyzedError(str(why))
        self.end()
        self._given_up = (code, why)
        raise NotAnalyzedError(why)

    def _read_reply(self, request: bytes) -> bytes:
        """Returns the process's reply line. Raises OSError, and TimeoutError if it is late."""
        if self._process is None or self._process.poll() is not None:
            self._process = _start_process()
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None  # noqa: S101,PT018 - both are pipes
        stdin.write(request)  # never blocks: the process reads the whole request first
        stdin.flush()
        said, end = bytearray(), time.monotonic() + SECONDS
        with selectors.DefaultSelector() as waiting:
            waiting.register(stdout, selectors.EVENT_READ)
            while not said.endswith(b"\n"):
                left = end - time.monotonic()
                if left <= 0 or not waiting.select(left):
                    raise TimeoutError
                piece = os.read(stdout.fileno(), 2**16)
                said += piece
                if not piece or len(said) > _MOST_SAID:
                    raise OSError
        return bytes(said)

    def end(self) -> None:
        """Kills the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # at interpreter shutdown, anything may be gone
            self.end()


def _start_process() -> subprocess.Popen[bytes]:
    path = os.pathsep.join(filter(None, [str(PACKAGE.parent), *sys.path]))
    return subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", _PROGRAM],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C must not reach it: a worker ends at the end of its input
    )


_here = threading.local()


def _process_of_thread() -> _AnalysisProcess:
    """Returns this thread's worker, so that threads don't wait for each other; never one from
    before a fork."""
    worker = getattr(_here, "worker", None)
    if not isinstance(worker, _AnalysisProcess) or worker.owner != os.getpid():
        worker = _here.worker = _AnalysisProcess()
    return worker


def serve() -> None:
    """The worker's program: answers each line of the input with a line of output."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    for line in sys.stdin.buffer:
        function, *arguments = json.loads(line)
        result, why = None, None
        try:
            result = FUNCTIONS[function](*arguments)
        except source.TooLongError as error:
            why = str(error)
        except MemoryError:
            why = "its analysis took too much memory"
        except RecursionError:
            why = "it is nested too deeply to be analyzed"
        print(json.dumps({"result": result, "why": why}), flush=True)
