"""The figures: matrix products, memory bandwidth, and the overheads of calls and launches."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from grader.runtime.machine.bench import Bench, seconds_per_call
from grader.runtime.machine.records import Gpu, format_bytes

TORCH_DTYPES = {
    "fp64": "float64",
    "fp32": "float32",
    "bf16": "bfloat16",
    "fp16": "float16",
    "int8": "int8",
}
NUMPY_DTYPES = {"fp64": "float64", "fp32": "float32"}
WITHOUT_TORCH = {
    "matmul.bf16, matmul.fp16, matmul.int8": "numpy has no fast product of such matrices",
    "dispatch.torch": "torch is not installed",
}
"""Figures that numpy can't measure."""
MEMORY = 4
OVERHEADS = 3
LAUNCHES = 3
"""Numbers of figures."""
_SIZES = {"cpu": (256, 512, 1024, 2048), "cuda": (1024, 2048, 4096, 8192)}
_BLOCK = 1 << 14
"""Elements of which two passes stay in the cache."""
_IN_A_ROW = 200
"""Fewer launches than the queue of a device can contain, so that the host never waits for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A product of two square matrices that is ready to be timed."""

    size: int
    run: Callable[[], object]
    element_bytes: int

    @property
    def operations(self) -> int:
        """Multiplications and additions: 2 n^3."""
        return 2 * self.size**3


def measure_cpu(bench: Bench) -> None:
    """Measures this process's number of threads, and the overheads if that is one."""
    threads = bench.assignment.threads
    if threads == 1:
        _measure_calls(bench)
    with ThreadPoolExecutor(threads) as pool:
        _measure_memory(bench, _numpy_memory(bench, pool))
    if bench.assignment.torch:
        import torch

        torch.set_num_threads(threads)
        with torch.inference_mode():
            _measure_products(bench, TORCH_DTYPES, torch_product, "torch")
    else:
        _measure_products(bench, NUMPY_DTYPES, _numpy_product, "numpy")


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
        _measure_products(bench, {**TORCH_DTYPES, "tf32": "float32"}, torch_product, "torch")
        _measure_memory(bench, _torch_memory(bench))
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
    import numpy as np

    calls = 1_000 if bench.assignment.quick else 10_000

    def call_seconds() -> float:
        # The empty loop is timed beside each sample, because the clock frequency may change.
        for _ in range(100):
            start = time.perf_counter()
            for _ in range(calls):
                pass
            between = time.perf_counter()
            for _ in range(calls):
                _do_nothing()
            seconds = (time.perf_counter() - between) - (between - start)
            if seconds > 0:  # otherwise, another program had the CPU during the empty loop
                return seconds / calls
        raise RuntimeError("the machine is too busy to time a call")

    with bench.attempt("call.python"):
        bench.sample(
            "call.python",
            call_seconds,
            how="A call of an empty Python function, without the time of the loop around it.",
        )
    one = np.ones(1)
    how = "An addition of two {} of one element."
    bench.time("dispatch.numpy", lambda: np.add(one, one), threads=1, how=how.format("arrays"))
    if bench.assignment.torch:
        import torch

        two = torch.ones(1)
        with torch.inference_mode():
            bench.time(
                "dispatch.torch", lambda: torch.add(two, two), threads=1, how=how.format("tensors")
            )


def _do_nothing() -> None:
    pass


def _measure_products(
    bench: Bench,
    dtypes: dict[str, str],
    make: Callable[[str, int, str], Product],
    library: str,
) -> None:
    for dtype in dtypes:
        with bench.attempt(f"matmul.{dtype} with {bench.assignment.threads} threads"):
            effort, device = bench.effort, bench.assignment.device
            _set_tf32(device, dtype == "tf32")
            longest = max(effort.seconds, 0.05) / 6
            product, tried = choose_size(
                lambda size, dtype=dtype, device=device: make(dtype, size, device),  # type: ignore[misc]
                _SIZES[device],
                longest,
                bench.timer,
            )
            bench.time(
                f"matmul.{dtype}",
                product.run,
                amount=product.operations,
                threads=_thread_count(bench),
                working_set=3 * product.size**2 * product.element_bytes,
                how=f"Product of two random {product.size} x {product.size} matrices by {library}, "
                f"the best of the sizes {', '.join(map(str, tried))}; 2n^3 operations.",
            )
    _set_tf32(bench.assignment.device, False)


def _set_tf32(device: str, allowed: bool) -> None:
    if device == "cuda":
        import torch

        torch.backends.cuda.matmul.allow_tf32 = allowed


def choose_size(
    make: Callable[[int], Product],
    sizes: tuple[int, ...],
    longest: float,
    timer: Callable[[Callable[[], object], int], float] = seconds_per_call,
) -> tuple[Product, tuple[int, ...]]:
    """Returns the largest product whose rate is within 5% of the highest, and the sizes tried.

    Short products suffer most from other programs. A size is not tried if eight products of the one
    before take longer than *longest* seconds.
    """
    chosen, highest, tried = make(sizes[0]), 0.0, []
    for size in sizes:
        product = chosen if size == chosen.size else make(size)
        product.run()  # the first call plans and allocates
        rate = product.operations / min(timer(product.run, 1) for _ in range(3))
        tried.append(size)
        if rate > 0.95 * highest:
            chosen = product
        highest = max(highest, rate)
        if 8 * product.operations / highest > longest:
            break
    return chosen, tuple(tried)


def torch_product(dtype: str, size: int, device: str = "cpu") -> Product:
    """Returns a product by torch of random matrices; zeros are faster on some machines."""
    import torch

    kind = getattr(torch, TORCH_DTYPES.get(dtype, "float32"))
    if dtype == "int8":
        one, two = (
            torch.randint(-128, 128, (size, size), dtype=kind, device=device) for _ in range(2)
        )
        # The only integer product for which torch uses a library; it has no public name yet.
        return Product(size=size, run=lambda: torch._int_mm(one, two), element_bytes=1)
    one, two = (torch.rand(size, size, device=device).to(kind) for _ in range(2))
    out = torch.empty_like(one)
    run = lambda: torch.mm(one, two, out=out)  # noqa: E731
    return Product(size=size, run=run, element_bytes=one.element_size())


def _numpy_product(dtype: str, size: int, device: str) -> Product:
    import numpy as np

    del device
    random = np.random.default_rng(0)
    one, two = (random.random((size, size)).astype(NUMPY_DTYPES[dtype]) for _ in range(2))
    out = np.empty_like(one)
    run = lambda: np.matmul(one, two, out=out)  # noqa: E731
    return Product(size=size, run=run, element_bytes=one.itemsize)


_Memory = dict[str, tuple[int, Callable[[], object], str]]
"""Arrays that are moved, the work, and the method, by kind of access."""


def _torch_memory(bench: Bench) -> _Memory:
    import torch

    count = bench.assignment.array_bytes // 4
    one, two, out = (torch.rand(count, device=bench.assignment.device) for _ in range(3))
    return {
        "read": (1, lambda: torch.amax(one), "Maximum by torch.amax"),
        "write": (1, lambda: out.fill_(1.0), "Filling by torch"),
        "copy": (2, lambda: out.copy_(one), "Copy by torch, a load and a store counted"),
        "triad": (
            3,
            lambda: torch.add(one, two, alpha=1.5, out=out),
            "a = b + 1.5 c by torch.add, two loads and a store counted",
        ),
    }


def _numpy_memory(bench: Bench, pool: ThreadPoolExecutor) -> _Memory:
    """Returns work that each thread of *pool* does on its part of the arrays."""
    import numpy as np

    threads = bench.assignment.threads
    arrays = [np.ones(bench.assignment.array_bytes // 4, dtype="f4") for _ in range(3)]
    ones, twos, outs = (np.array_split(array, threads) for array in arrays)

    def triad(one: Any, two: Any, out: Any) -> None:
        # In blocks, so that the second pass is in the cache.
        for at in range(0, len(one), _BLOCK):
            part = slice(at, at + _BLOCK)
            np.multiply(two[part], 1.5, out=out[part])
            np.add(one[part], out[part], out=out[part])

    def on_threads(work: Callable[..., object], *parts: list[Any]) -> Callable[[], object]:
        if threads == 1:
            return lambda: work(*(part[0] for part in parts))
        return lambda: list(pool.map(work, *parts))

    integers = [part.view("i4") for part in ones]
    return {
        "read": (1, on_threads(np.maximum.reduce, integers), "Maximum of int32 by numpy"),
        "write": (1, on_threads(lambda out: out.fill(1.0), outs), "Filling by numpy"),
        "copy": (
            2,
            on_threads(np.copyto, outs, ones),
            "Copy by numpy, a load and a store counted",
        ),
        "triad": (
            3,
            on_threads(triad, ones, twos, outs),
            "a = b + 1.5 c by numpy in blocks of 64 KiB, two loads and a store counted",
        ),
    }


def _measure_memory(bench: Bench, works: _Memory) -> None:
    size = bench.assignment.array_bytes
    for kind, (moved, work, how) in works.items():
        bench.time(
            f"memory.{kind}",
            work,
            amount=moved * size,
            threads=_thread_count(bench),
            working_set=moved * size,
            how=f"{how}; float32 arrays of {format_bytes(size)}.",
        )


def _thread_count(bench: Bench) -> int | None:
    return bench.assignment.threads if bench.assignment.device == "cpu" else None


def _measure_launches(bench: Bench) -> None:
    import torch

    one = torch.ones(1, device="cuda")

    def enqueue() -> float:
        torch.cuda.synchronize()
        seconds = seconds_per_call(lambda: one.add_(1.0), _IN_A_ROW)
        torch.cuda.synchronize()
        return seconds

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
