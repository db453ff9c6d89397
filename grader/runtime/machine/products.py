"""Peak rates by matrix product, with torch or with numpy alone, and torch's own overhead."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grader.runtime.machine.bench import Assignment, Bench
from grader.runtime.machine.memory import size_note

if TYPE_CHECKING:
    from grader.runtime.machine.memory import Array

SIZES = (256, 512, 1024, 2048)
_TORCH_DTYPES = {
    "fp64": "float64",
    "fp32": "float32",
    "bf16": "bfloat16",
    "fp16": "float16",
    "int8": "int8",
}
NUMPY_DTYPES = {"fp64": "float64", "fp32": "float32"}
FIX = "pip install torch"
WITHOUT_TORCH = {
    "matmul.bf16, matmul.fp16, matmul.int8": "numpy multiplies no such matrices by a library",
    "dispatch.torch": "torch is not installed",
    "scaling.matmul": "numpy's library can't change its number of threads",
    "allreduce": "torch is not installed",
}
"""What numpy can't tell."""


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

    @property
    def working_set(self) -> int:
        """Bytes of both factors and of the product, which has the factors' type or int32."""
        wide = 4 if self.element_bytes == 1 else self.element_bytes
        return self.size**2 * (2 * self.element_bytes + wide)


def count(assignment: Assignment) -> int:
    """How many figures `measure_torch` makes."""
    return (len(_TORCH_DTYPES) + 1) * len(assignment.ends) + 1 + len(assignment.teams) - 1


def fastest(
    make: Callable[[int], Product],
    longest: float,
    *,
    sizes: tuple[int, ...] = SIZES,
    hoped: float = 0.0,
) -> tuple[Product, tuple[int, ...]]:
    """The largest size whose rate is nearly the highest, and the sizes that were tried.

    Nearly is within 5%: short products suffer most from whatever else runs. The next size is left
    out when eight products of this one would take longer than *longest* seconds by the best rate so
    far, or by the rate that is *hoped* for.
    """
    chosen, highest, tried = make(sizes[0]), 0.0, []
    for size in sizes:
        product = chosen if size == chosen.size else make(size)
        product.run()  # the first call plans and allocates
        rate = product.operations / min(_seconds(product.run) for _ in range(3))
        tried.append(size)
        if rate > 0.95 * highest:
            chosen = product
        highest = max(highest, rate)
        if 8 * product.operations / max(highest, hoped) > longest:
            break
    return chosen, tuple(tried)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return max(time.perf_counter() - start, 1e-9)


def measure_numpy(bench: Bench) -> None:
    """Rates by numpy's own library, which was given its number of threads by the environment."""
    import numpy as np

    threads = bench.assignment.threads
    random = np.random.default_rng(0)

    def make(name: str, size: int) -> Product:
        one, two = (random.random((size, size)).astype(name) for _ in range(2))
        out = np.empty_like(one)
        run = lambda: np.matmul(one, two, out=out)  # noqa: E731
        return Product(size=size, run=run, element_bytes=one.itemsize)

    for dtype, name in NUMPY_DTYPES.items():
        _rate(bench, dtype, threads, functools.partial(make, name), library="numpy.matmul")


def measure_torch(bench: Bench, arrays: tuple[Array, Array, Array]) -> None:
    """Rates, triad, overhead and scaling by torch; *arrays* are those for memory."""
    import torch

    with torch.inference_mode():
        torch.set_num_threads(1)
        one = torch.ones(1)
        bench.timed(
            "dispatch.torch",
            lambda: torch.add(one, one),
            threads=1,
            how="torch.add of two tensors of one element, on the CPU, without autograd.",
        )
        rates: dict[str, float] = {}
        for threads in bench.assignment.ends:
            torch.set_num_threads(threads)
            _triad(bench, arrays, threads)
            for dtype in _TORCH_DTYPES:
                with bench.trying(f"matmul.{dtype} by teams of {threads}"):
                    # More threads should not do less, but on a busy machine they may.
                    rates[dtype] = _rate(
                        bench,
                        dtype,
                        threads,
                        functools.partial(torch_product, dtype),
                        library="torch",
                        hoped=rates.get(dtype, 0.0),
                    )
        _scaling(bench)


def torch_product(dtype: str, size: int, device: str = "cpu") -> Product:
    """A product by torch of random matrices: with zeros, some machines are faster."""
    import torch

    kind = getattr(torch, _TORCH_DTYPES[dtype])
    if dtype == "int8":
        one, two = (
            torch.randint(-128, 128, (size, size), dtype=kind, device=device) for _ in range(2)
        )
        # The only integer product that torch hands to a library; it has no public name yet.
        return Product(size=size, run=lambda: torch._int_mm(one, two), element_bytes=1)
    one, two = (torch.rand(size, size, device=device).to(kind) for _ in range(2))
    out = torch.empty_like(one)
    run = lambda: torch.mm(one, two, out=out)  # noqa: E731
    return Product(size=size, run=run, element_bytes=one.element_size())


def _rate(
    bench: Bench,
    dtype: str,
    threads: int,
    make: Callable[[int], Product],
    *,
    library: str,
    hoped: float = 0.0,
) -> float:
    """Measures one rate; the best of it."""
    effort = bench.effort
    product, tried = fastest(make, max(effort.seconds, 0.05) / effort.fewest, hoped=hoped)
    figure = bench.timed(
        f"matmul.{dtype}",
        product.run,
        amount=product.operations,
        threads=threads,
        working_set=product.working_set,
        how=f"Product of two random {product.size} x {product.size} matrices by {library}, the "
        f"best of the sizes {', '.join(map(str, tried))}; 2n^3 operations.",
    )
    return figure.best


def _triad(bench: Bench, arrays: tuple[Array, Array, Array], threads: int) -> None:
    import torch

    one, two, out = (torch.from_numpy(array) for array in arrays)
    size = 3 * arrays[0].nbytes
    bench.timed(
        "memory.triad",
        lambda: torch.add(one, two, alpha=1.5, out=out),
        amount=size,
        threads=threads,
        working_set=size,
        how="a = b + 1.5 c in fp64 by torch.add, two loads and a store counted; "
        f"{size_note(bench.assignment)}, touched before.",
    )


def triad_by_numpy(bench: Bench, arrays: tuple[Array, Array, Array]) -> None:
    """The triad where there is no torch: in blocks, so that the second pass is in the cache."""
    import numpy as np

    block = 8192
    parts = list(zip(*(array.reshape(-1, block) for array in arrays), strict=True))

    def work() -> None:
        for one, two, out in parts:
            np.multiply(two, 1.5, out=out)
            np.add(one, out, out=out)

    size = 3 * arrays[0].nbytes
    bench.timed(
        "memory.triad",
        work,
        amount=size,
        threads=1,
        working_set=size,
        how="a = b + 1.5 c in fp64 by numpy in blocks of 64 KiB, two loads and a store counted; "
        f"{size_note(bench.assignment)}, touched before.",
    )


def _scaling(bench: Bench) -> None:
    import torch

    def seconds(threads: int, run: Callable[[], object]) -> float:
        torch.set_num_threads(threads)
        run()  # a team of another size has to come together first
        return _seconds(run)

    torch.set_num_threads(1)
    longest = 0.02 if bench.assignment.quick else 0.15
    product, _ = fastest(functools.partial(torch_product, "fp32"), longest)
    for threads in bench.assignment.teams[1:]:

        def sample(threads: int = threads, run: Callable[[], Any] = product.run) -> float:
            return seconds(1, run) / seconds(threads, run)

        bench.sampled(
            "scaling.matmul",
            sample,
            threads=threads,
            how=f"Time of a product of {product.size} x {product.size} fp32 matrices by one thread "
            "over that by all of them, in turns.",
        )
