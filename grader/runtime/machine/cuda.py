"""A GPU's figures: rates, bandwidths and launches, timed by events on its own stream."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from grader.runtime.machine.bench import Assignment, Bench
from grader.runtime.machine.gpu_facts import clocks
from grader.runtime.machine.products import Product, fastest, torch_product
from grader.runtime.machine.records import Gpu, in_words, unit_of
from grader.runtime.machine.watch import Events, Watch

_DTYPES = ("fp64", "fp32", "tf32", "bf16", "fp16", "int8")
_SIZES = (1024, 2048, 4096, 8192)
_ASSUMED_L2 = 64 << 20
_SMALLEST = 256 << 20
_LAUNCHES = 200
"""In a row: fewer than the queue of a device holds, so that the host never waits for it."""


def count(assignment: Assignment) -> int:
    """How many figures `measure` makes."""
    del assignment
    return len(_DTYPES) + 4 + 1 + 3 + 4


def measure(bench: Bench) -> None:
    """The current CUDA device. Raises RuntimeError when torch finds none."""
    import torch

    if not torch.cuda.is_available():
        built = "" if torch.version.cuda else "; it was built without CUDA"
        raise RuntimeError(f"torch {torch.__version__} finds no CUDA device{built}")
    torch.backends.cuda.matmul.allow_tf32 = False
    device = torch.cuda.get_device_properties(torch.cuda.current_device())
    uuid = getattr(device, "uuid", None)
    l2 = getattr(device, "L2_cache_size", None) or None
    idle = clocks(uuid)
    watch = Events()
    with torch.inference_mode():
        _warm_up(watch)
        busy = _busy_clocks(watch, uuid)
        facts = Gpu(
            name=device.name,
            capability=f"{device.major}.{device.minor}",
            memory_bytes=device.total_memory,
            multiprocessors=device.multi_processor_count,
            l2_bytes=l2,
            driver=idle.driver,
            cuda=torch.version.cuda,
            clocks_idle=idle.values,
            clocks_busy=busy,
        )
        bench.tell("gpu", asdict(facts))
        free, _ = torch.cuda.mem_get_info()
        size = min(max(4 * (l2 or _ASSUMED_L2), _SMALLEST), free // 8)
        run(bench, watch, array_bytes=size, l2_bytes=l2 or _ASSUMED_L2, sizes=_SIZES)


def run(
    bench: Bench, watch: Watch, *, array_bytes: int, l2_bytes: int, sizes: tuple[int, ...]
) -> None:
    """All figures of the device that *watch* stands for, with arrays of *array_bytes*."""
    for dtype in _DTYPES:
        with bench.trying(f"matmul.{dtype} on the GPU"):
            _rate(bench, watch, dtype, sizes)
    with bench.trying("memory of the GPU"):
        _memory(bench, watch, array_bytes)
    with bench.trying("cache of the GPU"):
        _cache(bench, watch, l2_bytes)
    with bench.trying("launch"):
        _launch(bench, watch)
    with bench.trying("transfer"):
        _transfer(bench, watch, array_bytes // 4)


def _calls(bench: Bench, watch: Watch, work: Callable[[], object]) -> int:
    """How many calls keep the device busy for a batch; they also warm it up."""
    calls = 1
    wanted = bench.effort.batch_seconds
    while 2 * calls <= _LAUNCHES and watch.seconds(work, calls) * calls < wanted:
        calls *= 2
    return calls


def _timed(
    bench: Bench,
    watch: Watch,
    name: str,
    work: Callable[[], object],
    *,
    how: str,
    amount: float = 1.0,
    working_set: int | None = None,
) -> None:
    calls = _calls(bench, watch, work)
    per_second = unit_of(name) != "s"

    def sample() -> float:
        seconds = watch.seconds(work, calls)
        return amount / seconds if per_second else seconds

    words = f"{how} Timed {watch.words} over {calls} calls in a row, after a warm-up."
    bench.sampled(name, sample, device="cuda", working_set=working_set, how=words)


def _rate(bench: Bench, watch: Watch, dtype: str, sizes: tuple[int, ...]) -> None:
    import torch

    longest = max(bench.effort.seconds, 0.05) / bench.effort.fewest

    def make(size: int) -> Product:
        made = torch_product("fp32" if dtype == "tf32" else dtype, size, watch.device)

        def awaited() -> None:
            made.run()
            watch.wait()

        return Product(size=size, run=awaited, element_bytes=made.element_bytes)

    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    try:
        best, tried = fastest(make, longest, sizes=sizes)
        product = torch_product("fp32" if dtype == "tf32" else dtype, best.size, watch.device)
        _timed(
            bench,
            watch,
            f"matmul.{dtype}",
            product.run,
            amount=product.operations,
            working_set=product.working_set,
            how=f"Product of two random {best.size} x {best.size} matrices by torch, the best "
            f"of the sizes {', '.join(map(str, tried))}; 2n^3 operations.",
        )
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False


def _memory(bench: Bench, watch: Watch, size: int) -> None:
    import torch

    one, two, out = (torch.rand(size // 4, device=watch.device) for _ in range(3))
    works: dict[str, tuple[int, Callable[[], object], str]] = {
        "read": (1, lambda: torch.amax(one), "The largest of the elements by torch.amax"),
        "write": (1, lambda: out.fill_(1.0), "Filling by torch"),
        "copy": (2, lambda: out.copy_(one), "A copy by torch, a load and a store counted"),
        "triad": (
            3,
            lambda: torch.add(one, two, alpha=1.5, out=out),
            "a = b + 1.5 c by torch.add, two loads and a store counted",
        ),
    }
    for kind, (moved, work, words) in works.items():
        _timed(
            bench,
            watch,
            f"memory.{kind}",
            work,
            amount=moved * one.nbytes,
            working_set=moved * one.nbytes,
            how=f"{words}, of {in_words(one.nbytes)} of float32.",
        )


def _cache(bench: Bench, watch: Watch, l2_bytes: int) -> None:
    import torch

    one, two = (torch.rand(l2_bytes // 16, device=watch.device) for _ in range(2))
    _timed(
        bench,
        watch,
        "cache.L2.update",
        lambda: torch.maximum(one, two, out=two),
        amount=3 * one.nbytes,
        working_set=2 * one.nbytes,
        how=f"The larger of two arrays of {in_words(one.nbytes)} of float32, kept in one of them, "
        "two loads and a store counted; the gaps between the kernels are part of it.",
    )


def _launch(bench: Bench, watch: Watch) -> None:
    import torch

    one = torch.ones(1, device=watch.device)

    def enqueue() -> float:
        watch.wait()
        start = time.perf_counter()
        for _ in range(_LAUNCHES):
            one.add_(1.0)
        seconds = time.perf_counter() - start
        watch.wait()
        return seconds / _LAUNCHES

    def round_trip() -> float:
        start = time.perf_counter()
        one.add_(1.0)
        watch.wait()
        return time.perf_counter() - start

    bench.sampled(
        "launch.enqueue",
        enqueue,
        device="cuda",
        how=f"Handing over one of {_LAUNCHES} tiny kernels in a row, by the host's clock.",
    )
    bench.sampled(
        "launch.round-trip",
        round_trip,
        device="cuda",
        how="Launching a tiny kernel and waiting until it has ended, by the host's clock.",
    )
    _timed(
        bench,
        watch,
        "launch.device",
        lambda: one.add_(1.0),
        how="A tiny kernel and the gap to the next.",
    )


def _transfer(bench: Bench, watch: Watch, size: int) -> None:
    import torch

    there = torch.rand(size // 4, device=watch.device)
    for kind in ("pageable", "pinned"):
        here = torch.rand(size // 4)
        if kind == "pinned" and watch.device == "cuda":
            here = here.pin_memory()
        for name, target, source in (("to-device", there, here), ("to-host", here, there)):

            def work(target: Any = target, source: Any = source, kind: str = kind) -> None:
                target.copy_(source, non_blocking=kind == "pinned")

            _timed(
                bench,
                watch,
                f"transfer.{name}.{kind}",
                work,
                amount=size,
                working_set=size,
                how=f"A copy of {in_words(size)} between host and device, {kind} on the host.",
            )


def _warm_up(watch: Watch, seconds: float = 0.3) -> None:
    """Work until the clocks have risen and libraries are loaded."""
    product = torch_product("fp32", 2048, watch.device)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        watch.seconds(product.run, 4)


def _busy_clocks(watch: Watch, uuid: object) -> dict[str, float]:
    """The clocks while the device multiplies matrices."""
    product = torch_product("fp32", 2048, watch.device)
    each = watch.seconds(product.run, 4)
    for _ in range(min(2_000, int(0.7 / each) + 1)):
        product.run()  # queued: the device goes on while we ask
    values = clocks(uuid).values
    watch.wait()
    return values
