"""Keeps the processes of `run_ranks` alive between calls of an author's implementations.

Starting a process that has torch imported, and letting it join a process group, takes ten times as
long as most calls. A call that does not return here is repeated by the tool itself, so that every
error comes from fresh processes, as for students.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import linecache
import marshal
import os
import pickle
import random
import signal
import tempfile
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from multiprocessing import connection
from pathlib import Path
from typing import Any

from grader.kinds.attempts import CodeKey
from grader.kinds.hidden.solutions import run_solution_code
from grader.model import Key
from grader.wire import calls

_TOOL = "ranks"
_MOST_RANKS = 8
"""The most processes that the tool starts."""

Space = dict[str, Any]


@contextlib.contextmanager
def keep_ranks(keys: Iterable[Key]) -> Iterator[None]:
    """Makes calls of `run_ranks` by the drivers of these parts reuse their processes."""
    with contextlib.ExitStack() as stack:
        for key in keys:
            if isinstance(key, CodeKey) and _TOOL in key.part.tools and hasattr(os, "fork"):
                with contextlib.suppress(ImportError):
                    texts = {"tools": list(key.tools), "driver": key.part.driver}
                    stack.enter_context(_reuse_processes(calls._compile_namespace(texts)))
        yield


@contextlib.contextmanager
def _reuse_processes(space: Space) -> Iterator[None]:
    """Lets `run_ranks` in *space* reuse its processes; starting them takes most of its time."""
    real, pools = space["run_ranks"], [_Pool(space) for _ in range(_MOST_RANKS)]

    def run_ranks(
        function: Callable[..., Any], world: int, *each: Sequence[Any], timeout: float = 5.0
    ) -> Any:
        """Calls the function in kept processes; if that fails, in fresh ones, as the tool does."""
        if not 1 <= world <= _MOST_RANKS:
            return real(function, world, *each, timeout=timeout)
        pool = pools[world - 1]
        try:
            return pool.run(function, world, each, timeout)
        except Exception:  # noqa: BLE001 - the tool itself says what is wrong
            if pool.busy:
                pool.close()
            return real(function, world, *each, timeout=timeout)

    space["run_ranks"] = run_ranks
    try:
        yield
    finally:
        space["run_ranks"] = real
        for pool in pools:
            pool.close()


class _Pool:
    """Processes that call functions, one for each rank of a group; started when first needed."""

    def __init__(self, space: Space):
        self._space = space
        """The namespace of the tool and the driver."""
        self._ranks: list[Any] = []
        self._requests: list[connection.Connection] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._store: Any = None
        self.busy = False
        """Whether a call is in progress, so that its messages may still arrive."""

    def run(
        self,
        function: Callable[..., Any],
        world: int,
        each: Sequence[Sequence[Any]],
        timeout: float,
    ) -> Any:
        """Calls *function* in *world* ranks, as `run_ranks` does. May raise any exception."""
        if any(len(one) != world for one in each):
            raise ValueError
        state = _exchange_random_state()
        requests = [
            _dump((state, function, [one[rank] for one in each]), self._space)
            for rank in range(world)
        ]
        while len(self._ranks) < world:
            self._start_rank(len(self._ranks), world)
        self.busy = True
        for one, pipe, request in zip(self._ranks, self._requests, requests, strict=True):
            one.calls, one.result, one.waits = [], None, None
            pipe.send_bytes(request)
        known = [len(one.needs) for one in self._ranks]
        found = self._space["_watch"](self._ranks, timeout)
        if self._has_unmet_calls(known):
            self.close()
        self.busy = False
        return found

    def _has_unmet_calls(self, known: Sequence[int]) -> bool:
        """Returns whether a call after the *known* ones of each rank has no counterpart.

        Then the next function could receive a message that this one has sent.
        """
        return any(
            not partners or self._ranks[partner].done[what] < often
            for rank, count in zip(self._ranks, known, strict=True)
            for what, often, partners in rank.needs[count:]
            for partner in partners or [rank.rank]
        )

    def _start_rank(self, rank: int, world: int) -> None:
        """Forks the process for *rank*, which waits for requests."""
        import torch.distributed as dist

        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="ranks-")
            self._store = dist.TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False)  # type: ignore[attr-defined, unused-ignore]
        folder = Path(self._folder.name) / str(rank)
        folder.mkdir()
        here, there = connection.Pipe(duplex=False)
        taken, request = connection.Pipe(duplex=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about forking with threads, which are idle now
            pid = os.fork()
        if pid == 0:
            # In a process group of one, until it joins that of all ranks.
            given = [rank, world, taken, there, self._store.port, self._space]
            self._space["_become"](0, 1, str(folder), there, _serve, given)
        there.close()
        taken.close()
        self._ranks.append(self._space["_Watched"](rank, pid, here))
        self._requests.append(request)

    def close(self) -> None:
        """Ends all processes."""
        for one in self._ranks:
            for kill in (os.kill, os.killpg):  # and what a rank has started itself
                with contextlib.suppress(OSError):
                    kill(one.pid, signal.SIGKILL)
        for one, pipe in zip(self._ranks, self._requests, strict=True):
            with contextlib.suppress(OSError):
                os.waitpid(one.pid, 0)
            one.line.close()
            pipe.close()
        self._ranks, self._requests, self._store, self.busy = [], [], None, False
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def _serve(
    rank: int,
    world: int,
    requests: connection.Connection,
    line: connection.Connection,
    port: int,
    space: Space,
) -> None:
    """Answers requests in a new process, which joins a process group of *world* ranks."""
    import torch
    import torch.distributed as dist

    store = dist.TCPStore("127.0.0.1", port, None, False, wait_for_workers=False)  # type: ignore[attr-defined, unused-ignore]
    limit = timedelta(seconds=space["LIFETIME"])
    dist.destroy_process_group()
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world, timeout=limit)
    while True:
        state, function, given = _load(requests.recv_bytes(), space)
        signal.setitimer(signal.ITIMER_REAL, space["LIFETIME"])
        _exchange_random_state(state)
        data = io.BytesIO()
        torch.save(function(*given), data)
        line.send_bytes(b'["returned"]')
        line.send_bytes(data.getvalue())


def _exchange_random_state(state: Any = None) -> Any:
    """Returns the state of all random generators, after setting it to *state* if given."""
    import numpy as np
    import torch

    if state is not None:
        random.setstate(state[0])
        np.random.set_state(state[1])
        torch.set_rng_state(state[2])
    return random.getstate(), np.random.get_state(), torch.get_rng_state()


def _dump(value: object, space: Space) -> bytes:
    """Pickles functions by value, as they need not be importable."""
    data = io.BytesIO()
    _Pickler(data, space).dump(value)
    return data.getvalue()


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, space: Space):
        super().__init__(file)
        self._space = space

    def reducer_override(self, obj: Any) -> Any:
        """Returns how to rebuild modules by name, and functions of authors from their code."""
        if isinstance(obj, types.ModuleType):
            return importlib.import_module, (obj.__name__,)
        if not isinstance(obj, types.FunctionType) or not obj.__code__.co_filename.startswith("<"):
            return NotImplemented
        file = None if self._uses_driver(obj) else obj.__code__.co_filename
        text = "".join(linecache.cache[file][2]) if file else ""  # type: ignore[misc]
        cells = tuple(cell.cell_contents for cell in obj.__closure__ or ())
        code = marshal.dumps(obj.__code__)
        return _rebuild_function, (code, file, text, obj.__defaults__, obj.__kwdefaults__, cells)

    def _uses_driver(self, function: types.FunctionType) -> bool:
        """Returns whether a function uses the driver's names only, as in a visible example."""
        space, mine = self._space, function.__globals__
        return mine is space or (
            function.__code__.co_filename == "<string>"
            and all(mine.get(name) is space.get(name) for name in function.__code__.co_names)
        )


_spaces: dict[str | None, Space] = {}
"""The namespaces of the solutions' texts in a rank's process."""


def _load(data: bytes, space: Space) -> Any:
    _spaces[None] = space
    return pickle.loads(data)  # noqa: S301 - from the process that started this one


def _rebuild_function(
    code: bytes, file: str | None, text: str, defaults: Any, named: Any, cells: tuple[Any, ...]
) -> types.FunctionType:
    """Returns the function with this code; runs its file's *text* once, for its globals."""
    if file not in _spaces:
        assert file is not None  # noqa: S101 - `_load` sets the other
        _spaces[file] = {"__name__": "solution"}
        run_solution_code(text, _spaces[file], file)
    closure = tuple(types.CellType(cell) for cell in cells)
    made = types.FunctionType(marshal.loads(code), _spaces[file], None, defaults, closure)  # noqa: S302
    made.__kwdefaults__ = named
    return made
