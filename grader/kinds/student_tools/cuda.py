"""CUDA kernels on a CPU, one thread after the other, and what they must not do.

A kernel is a plain function in the dialect of numba: `cuda.grid(1)`, `cuda.syncthreads()`,
`cuda.shared.array(64, np.float32)`, `cuda.atomic.add(x, i, 1)`. `launch(kernel, grid, block, x, y)`
runs it on numpy arrays. A thread runs up to its next barrier, then the next thread does. When all
wait there, each starts again from the top: what it read before it reads once more, what it wrote
before it doesn't write again. So nothing hangs on luck, and a `print` shows again after a barrier.

An error names the thread when an index is out of range (a negative one always is); when two threads
use an element and one of them writes it, with no barrier between (unless both write the same value
or both use atomics); when some threads of a block never come to a barrier where others wait; and
when shared memory is read before it is written.
"""

import inspect
import itertools
import math
import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FrameType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

WARP = 32


class LaunchError(Exception):
    """A grid or a block that no GPU takes."""


class OutOfRangeError(Exception):
    """An index that the array does not have."""


class DataRaceError(Exception):
    """Two threads use one element, one of them writes it, and nothing orders them."""


class DivergentBarrierError(Exception):
    """A barrier to which some threads of the block come and others do not."""


class UnwrittenError(Exception):
    """Shared memory that is read before any thread has written it."""


class Dim3(NamedTuple):
    """A place or a size in a grid or in a block."""

    x: int = 1
    y: int = 1
    z: int = 1


class _Waiting(BaseException):
    """Ends a thread's turn at a barrier."""


class _Thread:
    """What is kept of a thread between its turns."""

    def __init__(self, number: int, index: Dim3):
        self.number, self.index = number, index
        self.passed = 0  # barriers
        self.read: list[Any] = []  # all that its reads gave, in order
        self.waits: tuple[int, ...] = ()  # the lines that led to its barrier


class _Store:
    """The memory of an array, with the last uses of each element: by kind, element and block."""

    def __init__(self, name: str, data: Any, *, shared: bool = False):
        self.name, self.data, self.shared = name, data, shared
        self.uses: dict[str, dict[int, dict[int, tuple[int, set[int], Any]]]]
        self.uses = {"load": {}, "store": {}, "atomic": {}}


class Array:
    """What a kernel sees of an array: its shape, and one element at a time."""

    def __init__(self, store: _Store, shape: tuple[int, ...], start: int = 0):
        self.shape, self.ndim, self.size = shape, len(shape), math.prod(shape)
        self.dtype, self._store, self._start = store.data.dtype, store, start

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        at, rest = self._find(index)
        return Array(self._store, rest, at) if rest else cuda.now.access(self._store, at, "load")

    def __setitem__(self, index: Any, value: Any) -> None:
        self.change(index, "store", lambda _: value)

    def change(self, index: Any, kind: str, new: Callable[[Any], Any]) -> Any:
        """Puts *new* of the old value into an element; gives the old value."""
        at, rest = self._find(index)
        if rest:
            raise TypeError(f"{self._store.name}[{index}] is a row, not an element")
        return cuda.now.access(self._store, at, kind, new)

    def _find(self, index: Any) -> tuple[int, tuple[int, ...]]:
        """Where an element lies; or where a row begins, and its shape."""
        steps = index if isinstance(index, tuple) else (index,)
        if len(steps) > self.ndim or not all(isinstance(i, (int, np.integer)) for i in steps):
            raise TypeError(f"an index of {self._store.name} is {self.ndim} whole numbers")
        at = 0
        for i, length in zip(steps, self.shape, strict=False):
            if not 0 <= i < length:
                where = f"{self._store.name}[{', '.join(str(int(i)) for i in steps)}]"
                raise OutOfRangeError(
                    f"out of range: {where} of shape {self.shape}, used by {cuda.now.who()}"
                )
            at = at * length + int(i)
        rest = self.shape[len(steps) :]
        return self._start + at * math.prod(rest), rest


_CLASHES = {
    "load": ("store", "atomic"),
    "store": ("load", "store", "atomic"),
    "atomic": ("load", "store"),
}


class _Machine:
    """One launch."""

    def __init__(self, grid: Dim3, block: Dim3, recorder: Any):
        self.sizes, self.recorder = (block, grid), recorder

    def run(self, kernel: Callable[..., Any], args: Sequence[Any]) -> None:
        """Runs one block after the other, and in it all threads from barrier to barrier."""
        block, grid = self.sizes
        for number, place in enumerate(_places(grid)):
            self.number, self.place = number, place
            self.shared: list[Array] = []
            threads = [_Thread(n, index) for n, index in enumerate(_places(block))]
            left = threads
            while left:
                left = [thread for thread in left if self.turn(thread, kernel, args)]
                if left and (len(left) < len(threads) or len({t.waits for t in left}) > 1):
                    self.turn(left[0], kernel, args, stuck=True)
                for thread in left:
                    thread.passed += 1

    def turn(self, thread: _Thread, kernel: Any, args: Any, *, stuck: bool = False) -> bool:
        """Runs a thread to its next barrier; whether it waits there."""
        self.thread, self.stuck = thread, stuck
        self.seen = self.made = 0  # barriers and shared arrays of this turn
        self.again = iter(thread.read[:])
        cuda.threadIdx, cuda.blockIdx, cuda.laneid = thread.index, self.place, thread.number % WARP
        try:
            if self.recorder is not None and self.live:
                self.recorder.start(self, ())
            if kernel(*args) is not None:
                raise TypeError("a kernel returns nothing: it writes into arrays")
        except _Waiting:
            return True
        finally:
            if self.recorder is not None:
                self.recorder.stop()
        return False

    @property
    def live(self) -> bool:
        """Whether the thread is past all that it did in earlier turns."""
        return self.seen == self.thread.passed

    def who(self, *numbers: int) -> str:
        """The thread that runs, in words; or the one of those numbers in its block and the grid."""
        pairs = zip(numbers or (self.thread.number, self.number), self.sizes, strict=True)
        places = [next(itertools.islice(_places(size), n, None)) for n, size in pairs]
        names = [p.x if p[1:] == (0, 0) else tuple(p) for p in places]
        return f"thread {names[0]} of block {names[1]}"

    def barrier(self) -> None:
        """Ends the turn, unless the thread has passed here before."""
        if self.live and self.stuck:
            raise DivergentBarrierError(f"{self.who()} waits here for others that never come")
        if self.live:
            self.thread.waits = tuple(frame.f_lineno for frame in _frames(self.turn.__code__))
            raise _Waiting
        self.seen += 1
        if self.live and self.recorder is not None:
            self.recorder.start(self, _frames(self.turn.__code__))

    def array(self, shape: Any, dtype: Any) -> Array:
        """Shared memory: the block's first array for the first call of each thread, and so on."""
        shape = tuple(shape) if isinstance(shape, (tuple, list)) else (int(shape),)
        if self.made == len(self.shared):
            store = _Store(f"shared {self.made}", np.zeros(math.prod(shape), dtype), shared=True)
            self.shared.append(Array(store, shape))
        found = self.shared[self.made]
        self.made += 1
        if found.shape != shape or found.dtype != np.dtype(dtype):
            raise TypeError("the threads of a block ask for different arrays in shared memory")
        return found

    def access(self, store: _Store, at: int, kind: str, new: Any = None) -> Any:
        """One access of the thread that runs; gives what was there before."""
        if not self.live:
            return None if kind == "store" else next(self.again)
        old = store.data[at]
        if new is not None:
            store.data[at] = new(old)
        self.check(store, at, kind)
        if kind != "store":
            self.thread.read.append(old)
        if self.recorder is not None:
            self.recorder.access(self, store, at, kind, _frames(self.turn.__code__))
        return old

    def check(self, store: _Store, at: int, kind: str) -> None:
        """Raises DataRaceError unless this use is ordered with those of other threads."""
        me, epoch, value = self.thread.number, self.thread.passed, store.data[at]
        writes = (store.uses["store"], store.uses["atomic"])
        if store.shared and kind != "store" and not any(at in uses for uses in writes):
            raise UnwrittenError(f"not written before: {store.name} at {at}, read by {self.who()}")
        for other in _CLASHES[kind]:
            for block, (when, threads, what) in store.uses[other].get(at, {}).items():
                ordered = block == self.number and (when < epoch or threads == {me})
                if not ordered and not (kind == other == "store" and what == value):
                    them = self.who(min(threads - {me} or threads), block)
                    raise DataRaceError(
                        f"no barrier orders two uses of {store.name} at {at}: {kind} by "
                        f"{self.who()}, {other} by {them}"
                    )
        uses = store.uses[kind].setdefault(at, {})
        when, threads, _ = uses.get(self.number, (-1, set(), None))
        threads = threads if when == epoch else set()
        threads.add(me)
        uses[self.number] = (epoch, threads, value)


def _places(size: Dim3) -> Iterator[Dim3]:
    """All places in a grid or a block, x fastest, as warps are filled."""
    for z, y, x in itertools.product(range(size.z), range(size.y), range(size.x)):
        yield Dim3(x, y, z)


def _frames(until: CodeType) -> Iterator[FrameType]:
    """The calls of the kernel's own that lead here, from the innermost on."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not until:
        if frame.f_code.co_filename != until.co_filename:
            yield frame
        frame = frame.f_back


def _atomic(new: Callable[..., Any]) -> Callable[..., Any]:
    """An atomic operation that puts *new* of the old value and what is given into an element."""
    return lambda array, index, *given: array.change(index, "atomic", lambda old: new(old, *given))


class Cuda:
    """What a kernel finds under the name `cuda`."""

    now: _Machine
    shared: SimpleNamespace
    laneid, warpsize = 0, WARP
    local = SimpleNamespace(array=np.zeros)
    atomic = SimpleNamespace(
        add=_atomic(operator.add),
        sub=_atomic(operator.sub),
        max=_atomic(max),
        min=_atomic(min),
        exch=_atomic(lambda _, value: value),
        cas=_atomic(lambda old, expected, value: value if old == expected else old),
    )

    def __init__(self) -> None:
        self.threadIdx = self.blockIdx = self.blockDim = self.gridDim = Dim3()

    def jit(self, *given: Any, **_: Any) -> Any:
        """Does nothing here: the function stays as it is."""
        return given[0] if given and callable(given[0]) else lambda function: function

    def syncthreads(self) -> None:
        """A barrier for all threads of the block."""
        self.now.barrier()

    def grid(self, dimensions: int) -> Any:
        """The thread's place in the whole grid."""
        places = zip(self.blockIdx, self.blockDim, self.threadIdx, strict=True)
        found = tuple(block * size + thread for block, size, thread in places)
        return found[0] if dimensions == 1 else found[:dimensions]

    def gridsize(self, dimensions: int) -> Any:
        """How many threads the whole grid has, in each direction."""
        found = tuple(map(operator.mul, self.gridDim, self.blockDim))
        return found[0] if dimensions == 1 else found[:dimensions]


cuda = Cuda()


def launch(kernel: Any, grid: Any, block: Any, *args: Any, recorder: Any = None) -> list[Any]:
    """Runs `kernel[grid, block](*args)`; sizes are whole numbers or tuples. Gives the arrays."""
    sizes = [Dim3(*(n if isinstance(n, (tuple, list)) else (n,))) for n in (grid, block)]
    if min(*sizes[0], *sizes[1]) < 1 or math.prod(sizes[1]) > 1024 or sizes[1].z > 64:
        raise LaunchError(f"no GPU takes a grid of {sizes[0]} blocks of {sizes[1]} threads")
    kernel = getattr(kernel, "py_func", kernel)
    names = itertools.chain(inspect.signature(kernel).parameters, itertools.repeat("array"))
    flat = [np.ascontiguousarray(a) if isinstance(a, np.ndarray) else a for a in args]
    seen = [
        Array(_Store(name, a.reshape(-1)), a.shape) if isinstance(a, np.ndarray) else a
        for name, a in zip(names, flat, strict=False)
    ]
    space, missing = kernel.__globals__, object()
    before = space.get("cuda", missing)
    cuda.gridDim, cuda.blockDim = sizes
    cuda.now, space["cuda"] = _Machine(*sizes, recorder), cuda
    cuda.shared = SimpleNamespace(array=cuda.now.array)
    try:
        with np.errstate(all="ignore"):
            cuda.now.run(kernel, seen)
    finally:
        space["cuda"] = before
        if before is missing:
            del space["cuda"]
    for mine, array in zip(args, flat, strict=True):
        if array is not mine:
            mine[...] = array
    return [a for a in args if isinstance(a, np.ndarray)]
