"""The figures: matrix products, memory bandwidth, and the overheads of calls and launches."""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from grader.runtime.machine.measuring import FAULTS, Bench, MeasuringTask, seconds_per_call
from grader.runtime.machine.records import Gpu, format_bytes

TORCH_DTYPES = {
    "fp64": "float64",
    "fp32": "float32",
    "bf16": "bfloat16",
    "fp16": "float16",
    "int8": "int8",
}
NUMPY_DTYPES = ("fp64", "fp32")
_SIZES = {"cpu": (256, 512, 1024, 2048), "cuda": (1024, 2048, 4096, 8192)}
_IN_A_ROW = 200
"""Fewer launches than the queue of a device can contain, so that the host never waits for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixProduct:
    """A product of two square matrices that is ready to be timed."""

    size: int
    run: Callable[[], object]
    element_bytes: int

    @property
    def operations(self) -> int:
        """Multiplications and additions: 2 n^3."""
        return 2 * self.size**3


def measure_cpu(bench: Bench) -> None:
    """Measures the CPU with the assigned number of threads; with one, also overheads of calls."""
    threads = bench.assignment.threads
    if threads == 1:
        _measure_calls(bench)
    with ThreadPoolExecutor(threads) as pool:
        _measure_memory(bench, _make_numpy_accesses(bench, pool))
    if bench.assignment.torch:
        import torch

        torch.set_num_threads(threads)
        with torch.inference_mode():
            _measure_products(bench, tuple(TORCH_DTYPES), torch_product)
    else:
        _measure_products(bench, NUMPY_DTYPES, _numpy_product)


def measure_cuda(bench: Bench) -> None:
    """Measures the current CUDA device. Raises RuntimeError if torch finds none."""
    import torch

    if not torch.cuda.is_available():
        built = "" if torch.version.cuda else "; it was built without CUDA"
        raise RuntimeError(f"torch {torch.__version__} finds no CUDA device{built}")
    device = torch.cuda.get_device_properties(torch.cuda.current_device())
    gpu = Gpu(
        name=device.name,
        capability=f"{device.major}.{device.minor}",
        memory_bytes=device.total_memory,
        l2_bytes=getattr(device, "L2_cache_size", None) or None,
        cuda=torch.version.cuda,
    )
    bench.emit("gpu", asdict(gpu))
    with torch.inference_mode():
        product = torch_product("fp32", 2048, "cuda")
        end = time.perf_counter() + 0.3
        while time.perf_counter() < end:  # until the clocks have risen
            bench.timer(product.run, 4)
        _measure_products(bench, (*TORCH_DTYPES, "tf32"), torch_product)
        _measure_memory(bench, _make_torch_accesses(bench))
        _measure_launches(bench)


def event_seconds(work: Callable[[], object], calls: int) -> float:
    """Returns the mean time of *calls* calls between two events on the device's stream."""
    import torch

    make: Any = torch.cuda.Event
    start, end = make(enable_timing=True), make(enable_timing=True)
    start.record()
    for _ in range(calls):
        work()
    end.record()
    end.synchronize()
    return max(float(start.elapsed_time(end)) / 1000 / calls, 1e-9)


def _measure_calls(bench: Bench) -> None:
    """Measures the overheads of calls by Python, numpy, and torch."""
    import numpy as np

    def do_nothing() -> None:
        pass

    one = np.ones(1)
    how = "An addition of two {} of one element."
    bench.time("call.python", do_nothing, how="A call of an empty Python function, in a loop.")
    bench.time("dispatch.numpy", lambda: np.add(one, one), threads=1, how=how.format("arrays"))
    if bench.assignment.torch:
        import torch

        two = torch.ones(1)
        with torch.inference_mode():
            bench.time(
                "dispatch.torch", lambda: torch.add(two, two), threads=1, how=how.format("tensors")
            )


def _measure_products(
    bench: Bench, dtypes: tuple[str, ...], make: Callable[[str, int, str], MatrixProduct]
) -> None:
    """Measures, for each of *dtypes*, the rate of the best of the products that *make* creates."""
    device = bench.assignment.device
    for dtype in dtypes:
        with bench.attempt(f"matmul.{dtype} with {bench.assignment.threads} threads"):
            _set_tf32(device, dtype == "tf32")
            product = choose_product(
                [lambda n=n, dtype=dtype: make(dtype, n, device) for n in _SIZES[device]],  # type: ignore[misc]
                bench.figure_seconds / 6,
                bench.timer,
            )
            bench.time(
                f"matmul.{dtype}",
                product.run,
                amount=product.operations,
                threads=_thread_count(bench),
                working_set=3 * product.size**2 * product.element_bytes,
                how=f"Product of two random {product.size} x {product.size} matrices, the best of "
                f"some sizes; 2n^3 operations.",
            )
    _set_tf32(device, False)


def _set_tf32(device: str, allowed: bool) -> None:
    if device == "cuda":
        import torch

        torch.backends.cuda.matmul.allow_tf32 = allowed


def choose_product(
    makers: list[Callable[[], MatrixProduct]],
    longest: float,
    timer: Callable[[Callable[[], object], int], float] = seconds_per_call,
) -> MatrixProduct:
    """Returns the last of the products whose rate is within 5% of the highest so far.

    *makers* create them in the order of their sizes: short ones suffer most from other programs. A
    size is not tried if eight products of the one before take longer than *longest* seconds.
    """
    highest = 0.0
    for make in makers:
        product = make()
        product.run()  # the first call plans and allocates
        rate = product.operations / min(timer(product.run, 1) for _ in range(3))
        if rate > 0.95 * highest:
            chosen = product
        highest = max(highest, rate)
        if 8 * product.operations / highest > longest:
            break
    return chosen


def torch_product(dtype: str, size: int, device: str = "cpu") -> MatrixProduct:
    """Returns a product by torch of random matrices; zeros are faster on some machines."""
    import torch

    type_ = getattr(torch, TORCH_DTYPES.get(dtype, "float32"))
    if dtype == "int8":
        a, b = (
            torch.randint(-128, 128, (size, size), dtype=type_, device=device) for _ in range(2)
        )
        # The only integer product for which torch uses a library; it has no public name yet.
        return MatrixProduct(size=size, run=lambda: torch._int_mm(a, b), element_bytes=1)
    a, b = (torch.rand(size, size, device=device).to(type_) for _ in range(2))
    out = torch.empty_like(a)
    run = lambda: torch.mm(a, b, out=out)  # noqa: E731
    return MatrixProduct(size=size, run=run, element_bytes=a.element_size())


def _numpy_product(dtype: str, size: int, _device: str) -> MatrixProduct:
    import numpy as np

    random = np.random.default_rng(0)
    a, b = (random.random((size, size)).astype(TORCH_DTYPES[dtype]) for _ in range(2))
    out = np.empty_like(a)
    run = lambda: np.matmul(a, b, out=out)  # noqa: E731
    return MatrixProduct(size=size, run=run, element_bytes=a.itemsize)


_MemoryAccesses = dict[str, tuple[int, Callable[[], object], str]]
"""By kind of access: how many arrays it moves, the work, and a description."""


def _make_torch_accesses(bench: Bench) -> _MemoryAccesses:
    """Returns accesses by torch to two large arrays on the device."""
    import torch

    count = bench.assignment.array_bytes // 4
    source, out = (torch.rand(count, device=bench.assignment.device) for _ in range(2))
    return {
        "read": (1, lambda: torch.amax(source), "Maximum by torch.amax"),
        "write": (1, lambda: out.fill_(1.0), "Filling by torch"),
        "copy": (2, lambda: out.copy_(source), "Copy by torch, a load and a store counted"),
    }


def _make_numpy_accesses(bench: Bench, pool: ThreadPoolExecutor) -> _MemoryAccesses:
    """Returns accesses by numpy, of which each thread of *pool* does its part of the arrays."""
    import numpy as np

    threads = bench.assignment.threads
    arrays = [np.ones(bench.assignment.array_bytes // 4, dtype="i4") for _ in range(2)]
    ones, outs = (np.array_split(array, threads) for array in arrays)

    def on_threads(work: Callable[..., object], *parts: list[Any]) -> Callable[[], object]:
        if threads == 1:
            return lambda: work(*(part[0] for part in parts))
        return lambda: list(pool.map(work, *parts))

    return {
        "read": (1, on_threads(np.maximum.reduce, ones), "Maximum by numpy"),
        "write": (1, on_threads(lambda out: out.fill(1), outs), "Filling by numpy"),
        "copy": (
            2,
            on_threads(np.copyto, outs, ones),
            "Copy by numpy, a load and a store counted",
        ),
    }


def _measure_memory(bench: Bench, accesses: _MemoryAccesses) -> None:
    """Measures the bandwidth of each of *accesses*."""
    size = bench.assignment.array_bytes
    for kind, (moved, work, how) in accesses.items():
        bench.time(
            f"memory.{kind}",
            work,
            amount=moved * size,
            threads=_thread_count(bench),
            working_set=moved * size,
            how=f"{how}; 4-byte elements, arrays of {format_bytes(size)}.",
        )


def _thread_count(bench: Bench) -> int | None:
    return bench.assignment.threads if bench.assignment.device == "cpu" else None


def _measure_launches(bench: Bench) -> None:
    """Measures how long it takes to enqueue, to run, and to await a tiny kernel of the GPU."""
    import torch

    one = torch.ones(1, device="cuda")

    def enqueue() -> float:
        torch.cuda.synchronize()
        return seconds_per_call(lambda: one.add_(1.0), _IN_A_ROW)

    def round_trip() -> None:
        one.add_(1.0)
        torch.cuda.synchronize()

    bench.sample(
        "launch.enqueue",
        enqueue,
        how=f"Enqueuing one of {_IN_A_ROW} consecutive tiny kernels, by the host's clock.",
    )
    bench.sample(
        "launch.round-trip",
        lambda: seconds_per_call(round_trip, 1),
        how="Launching a tiny kernel and waiting for its end, by the host's clock.",
    )
    bench.time("launch.device", lambda: one.add_(1.0), how="A tiny kernel and the gap to the next.")


def main() -> None:
    """Does the assignment in `sys.argv`, and writes what it measures to stdout as lines of JSON."""
    # What libraries print must not mix with the events.
    with os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1) as events:
        os.dup2(2, 1)

        def emit(what: str, data: object) -> None:
            events.write(json.dumps({what: data}) + "\n")

        assignment = MeasuringTask(**json.loads(sys.argv[1]))
        # Garbage collection would disturb some of the samples.
        gc.disable()
        try:
            if assignment.device == "cuda":
                measure_cuda(Bench(assignment, emit, event_seconds))
            else:
                measure_cpu(Bench(assignment, emit))
        except FAULTS as error:
            emit("failed", str(error) or type(error).__name__)
        emit("done", True)
