"""Analysis of students' code: short code here, long code in a process that can be ended.

A short text can be parsed in a fraction of a second, whatever it says. A long one can hold the
interpreter's lock for seconds, so that every other thread waits, or take gigabytes.
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
"""Characters that are analyzed in this process."""
SECONDS = 10.0
"""For the analysis of longer code, before its process is ended."""
_MEMORY_BYTES = 2_000_000_000
_MOST_SAID = 4_000_000
"""Bytes of one result."""
_PROGRAM = "from grader.kinds.hidden.analysis import serve; serve()"

FUNCTIONS: Mapping[str, Callable[..., str | None]] = {
    "definitions": source.definitions,
    "functions_of": source.functions_of,
    "unknown": source.unknown,
    "shape_of": statements.shape_of,
    "broken": rules.broken,
    "undecidable": doubts.undecidable,
}
"""What can be asked, all of it of texts."""


class NotAnalyzedError(Exception):
    """Nobody can tell what the code is made of; says why, as the end of a sentence."""


def definitions(cells: Sequence[str], name: str) -> str:
    """As `source.definitions`. Raises NotAnalyzedError."""
    return str(_result("definitions", list(cells), name))


def functions_of(code: str) -> str:
    """As `source.functions_of`. Raises NotAnalyzedError."""
    return str(_result("functions_of", code))


def shape_of(code: str) -> str:
    """As `statements.shape_of`. Raises NotAnalyzedError."""
    return str(_result("shape_of", code))


def unknown(code: str) -> str | None:
    """As `source.unknown`. Raises NotAnalyzedError."""
    return _text(_result("unknown", code))


def broken(code: str, forbidden: Sequence[str]) -> str | None:
    """As `rules.broken`. Raises NotAnalyzedError."""
    return _text(_result("broken", code, list(forbidden))) if forbidden else None


def undecidable(code: str, forbidden: Sequence[str]) -> str | None:
    """As `doubts.undecidable`. Raises NotAnalyzedError."""
    return _text(_result("undecidable", code, list(forbidden))) if forbidden else None


def _text(found: object) -> str | None:
    return None if found is None else str(found)


def _result(function: str, code: Any, *more: Any) -> object:
    """What *function* says of *code*, one text or a list of them."""
    texts = [code] if isinstance(code, str) else code
    if sum(map(len, texts)) > MOST_HERE:
        return _worker().ask(function, code, *more)
    try:
        return FUNCTIONS[function](code, *more)
    except source.TooLongError as error:
        raise NotAnalyzedError(str(error)) from None
    except (RecursionError, MemoryError):
        raise NotAnalyzedError("it is nested too deeply to be analyzed") from None


class _Worker:
    """A process that analyzes one text after the other, and is started again once it was ended."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._process: subprocess.Popen[bytes] | None = None
        self._given_up: tuple[object, str] | None = None

    def ask(self, function: str, code: Any, *more: Any) -> object:
        """What *function* says of the code. Raises NotAnalyzedError."""
        if self._given_up is not None and self._given_up[0] == code:
            raise NotAnalyzedError(self._given_up[1])  # a notebook is asked for many names
        try:
            said = json.loads(self._reply(json.dumps([function, code, *more]).encode() + b"\n"))
            result, why = said["result"], said["why"]
        except TimeoutError:
            why = f"its analysis took longer than {SECONDS:g} s"
        except (OSError, ValueError, KeyError, TypeError):
            why = "its analysis ended without a result"
        else:
            if why is None:
                return result
            raise NotAnalyzedError(str(why))
        self.end()
        self._given_up = (code, why)
        raise NotAnalyzedError(why)

    def _reply(self, request: bytes) -> bytes:
        """The line that the process answers. Raises OSError, and TimeoutError when it is late."""
        if self._process is None or self._process.poll() is not None:
            self._process = _started()
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None  # noqa: S101,PT018 - both are pipes
        stdin.write(request)  # it reads all of it before anything else, so this can't wait
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
        """Ends the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # at the end of the interpreter nothing is sure
            self.end()


def _started() -> subprocess.Popen[bytes]:
    path = os.pathsep.join(filter(None, [str(PACKAGE.parent), *sys.path]))
    return subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", _PROGRAM],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for us: a worker ends when its input does
    )


_here = threading.local()


def _worker() -> _Worker:
    """This thread's own, so that none waits for another's code; never one from before a fork."""
    worker = getattr(_here, "worker", None)
    if not isinstance(worker, _Worker) or worker.owner != os.getpid():
        worker = _here.worker = _Worker()
    return worker


def serve() -> None:
    """Answers each line of the input with a line of the output: the worker's program."""
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
