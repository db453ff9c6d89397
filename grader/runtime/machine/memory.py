"""Bandwidth of memory and of each cache, with the C library's routines and numpy's loops."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from grader.runtime.machine.bench import Assignment, Bench
from grader.runtime.machine.records import in_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_ASSUMED_CACHE = 32 << 20
"""Bytes of the last cache where the system does not say."""
_ASSUMED_MEMORY = 2 << 30
_SMALLEST = 8 << 10
_CALL_BYTES = 16 << 20
"""Of one call over a working set that is smaller: so that the call itself costs next to nothing."""
_KINDS = ("read", "write", "copy")


def count(assignment: Assignment) -> int:
    """How many figures `measure` makes."""
    levels = len({c.level for c in assignment.caches})
    return (
        len(_KINDS) * len(assignment.ends)
        + 2 * levels
        + len(working_sets(assignment))
        + len(assignment.teams)
        - 1
        + 1
    )


def array_bytes(assignment: Assignment) -> int:
    """The size of each of the arrays for memory: four times the last cache, if memory allows.

    At most a quarter of the memory that is free goes to all three, and 2 GiB to each (512 MiB in a
    quick run). A multiple of 64 KiB, so that teams get whole pages.
    """
    last = assignment.caches[-1].total if assignment.caches else _ASSUMED_CACHE
    free = assignment.available_bytes or _ASSUMED_MEMORY
    most = (512 << 20) if assignment.quick else (2 << 30)
    size = min(max(4 * last, 64 << 20), free // 12, most)
    return max(size >> 16, 1) << 16


def size_note(assignment: Assignment) -> str:
    """How large the arrays are, in words; honest about caches that they may fit into."""
    size = array_bytes(assignment)
    last = assignment.caches[-1].total if assignment.caches else None
    if last is None:
        return f"arrays of {in_words(size)} (the size of the caches is not known)"
    if size < 4 * last:
        return f"arrays of {in_words(size)}, only {size / last:.2g} times the last cache"
    return f"arrays of {in_words(size)}, {size / last:.2g} times the last cache"


def working_sets(assignment: Assignment) -> tuple[int, ...]:
    """From 8 KiB to the arrays for memory, by factors of 2 (8 in a quick run)."""
    sets, size = [], _SMALLEST
    while size < array_bytes(assignment):
        sets.append(size)
        size *= 8 if assignment.quick else 2
    return (*sets, array_bytes(assignment))


def measure(bench: Bench) -> tuple[Array, Array, Array]:
    """All figures; the three arrays come back, for those who go on with them."""
    import numpy as np

    one = np.ones(1)
    bench.timed(
        "dispatch.numpy",
        lambda: np.add(one, one),
        how="numpy.add of two arrays of one element.",
        threads=1,
    )
    _levels(bench)
    arrays = _memory(bench)
    for size in working_sets(bench.assignment):
        whole = arrays[0].view(np.int32)[: size // 4]
        _read(bench, "sweep.read", whole)
    _scaling(bench, arrays)
    return arrays


def _levels(bench: Bench) -> None:
    import numpy as np

    for cache in bench.assignment.caches:
        # Half of it, as the rest of the process needs some too.
        half = np.ones(cache.size // 8, dtype=np.int32)
        _read(bench, f"cache.L{cache.level}.read", half)
        _update(bench, f"cache.L{cache.level}.update", half)


def _read(bench: Bench, name: str, numbers: NDArray[np.int32]) -> None:
    """The largest of *numbers*, found again and again: every byte is loaded, none stored."""
    import numpy as np
    from numpy.lib.stride_tricks import as_strided

    rows = max(1, _CALL_BYTES // numbers.nbytes)
    # The same row many times, without a copy: one call goes over it so often.
    view = as_strided(numbers, (rows, numbers.size), (0, 4))
    out = np.empty(rows, dtype=np.int32)
    bench.timed(
        name,
        lambda: np.maximum.reduce(view, axis=1, out=out),
        amount=rows * numbers.nbytes,
        threads=1,
        working_set=numbers.nbytes,
        how=f"The largest of {in_words(numbers.nbytes)} of int32, found by numpy again and again.",
    )


def _update(bench: Bench, name: str, numbers: NDArray[np.int32]) -> None:
    """The larger of two halves, kept in one of them: two loads and a store of each element."""
    import numpy as np
    from numpy.lib.stride_tricks import as_strided

    first, second = np.split(numbers[: numbers.size // 2 * 2], 2)
    rows = max(8, _CALL_BYTES // numbers.nbytes)
    view = as_strided(first, (rows, first.size), (0, 4))
    bench.timed(
        name,
        lambda: np.maximum.reduce(view, axis=0, out=second),
        # The first row is only copied.
        amount=(3 * rows - 1) * first.nbytes,
        threads=1,
        working_set=numbers.nbytes,
        how=f"The larger of two arrays of {in_words(first.nbytes)} of int32, kept in one of them "
        "by numpy; two loads and a store are counted.",
    )


def _memory(bench: Bench) -> tuple[Array, Array, Array]:
    arrays = None
    note = size_note(bench.assignment)
    for threads in bench.assignment.ends:
        # Pages lie near the CPU that touches them first, where there are several places.
        if arrays is None or bench.assignment.numa_nodes > 1:
            arrays = None
            arrays = _filled(array_bytes(bench.assignment), threads)
        parts = [_parts(array, threads) for array in arrays]
        for kind, works, moved, words in (
            ("read", [_reading(p) for p in parts[0]], 1, "largest int32 found by numpy"),
            ("write", [_writing(p) for p in parts[1]], 1, "memset of the C library"),
            ("copy", _copies(parts), 2, "memmove of the C library, a load and a store counted"),
        ):
            amount = moved * arrays[0].nbytes

            def sample(
                works: Sequence[Callable[[], object]] = works, amount: int = amount
            ) -> float:
                return amount / team_seconds(works)

            bench.sampled(
                f"memory.{kind}",
                sample,
                threads=threads,
                working_set=amount,
                how=f"{words[0].upper()}{words[1:]}; {note}, touched before.",
            )
    assert arrays is not None  # noqa: S101 - there is always a team of one
    return arrays


def _scaling(bench: Bench, arrays: tuple[Array, Array, Array]) -> None:
    alone = _copies([_parts(array, 1) for array in arrays])
    for threads in bench.assignment.teams[1:]:
        together = _copies([_parts(array, threads) for array in arrays])

        def sample(together: Sequence[Callable[[], object]] = together) -> float:
            return team_seconds(alone) / team_seconds(together)

        bench.sampled(
            "scaling.copy",
            sample,
            threads=threads,
            how="Time of a copy in memory by one thread over that by all of them, in turns.",
        )


def _filled(size: int, threads: int) -> tuple[Array, Array, Array]:
    """Three arrays of *size* bytes whose pages are really there, none of them the page of zeros."""
    import numpy as np

    arrays = tuple(np.empty(size // 8) for _ in range(3))
    pattern = np.random.default_rng(0).random(8192)

    def fill(part: Array) -> Callable[[], object]:
        # A page never ends inside the pattern: sizes are multiples of it.
        return lambda: np.copyto(part.reshape(-1, pattern.size), pattern)

    for array in arrays:
        team_seconds([fill(part) for part in _parts(array, threads)])
    first, second, third = arrays
    return first, second, third


def _parts(array: Array, threads: int) -> list[Array]:
    """The array in so many contiguous parts of whole patterns; the last takes what is left."""
    unit = 8192
    share = max(array.size // threads // unit, 1) * unit
    cuts = [min(i * share, array.size) for i in range(threads)]
    ends = [*cuts[1:], array.size]
    return [array[a:b] for a, b in zip(cuts, ends, strict=True) if a < b]


def _reading(part: Array) -> Callable[[], object]:
    import numpy as np

    numbers = part.view(np.int32)
    return lambda: np.maximum.reduce(numbers)


def _writing(part: Array) -> Callable[[], object]:
    place, size = part.ctypes.data, part.nbytes
    return lambda: ctypes.memset(place, 0x3C, size)


def _copies(parts: Sequence[Sequence[Array]]) -> list[Callable[[], object]]:
    def copying(source: Array, target: Array) -> Callable[[], object]:
        place, start, size = target.ctypes.data, source.ctypes.data, source.nbytes
        return lambda: ctypes.memmove(place, start, size)

    return [copying(source, target) for source, target in zip(parts[0], parts[1], strict=True)]


def team_seconds(works: Sequence[Callable[[], object]]) -> float:
    """From the first start to the last end of *works*, each in a thread of its own, in seconds.

    The routines that are called let go of the interpreter's lock while they work.
    """
    if len(works) == 1:
        start = time.perf_counter()
        works[0]()
        return time.perf_counter() - start
    spans: list[tuple[float, float]] = []
    barrier = threading.Barrier(len(works))

    def run(work: Callable[[], Any]) -> None:
        barrier.wait()
        start = time.perf_counter()
        work()
        spans.append((start, time.perf_counter()))

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return max(end for _, end in spans) - min(start for start, _ in spans)
