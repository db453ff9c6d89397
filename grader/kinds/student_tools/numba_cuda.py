"""The same kernels by numba: on a GPU where there is one, and on numba's own simulator elsewhere.

`numba_launch(kernel, grid, block, x, y)` does what `launch` of the tool `cuda` does, with nothing
counted and nothing checked. numba's simulator starts a thread of the operating system for each
thread of a block, so keep blocks small there (64), and grids too.
"""

import contextlib
import ctypes
import importlib
import os
import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any


class NumbaMissingError(Exception):
    """numba's CUDA target can't be imported."""


def gpu_there() -> bool:
    """Whether the CUDA driver finds a device."""
    count = ctypes.c_int(0)
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        driver = ctypes.CDLL(name)
        found = driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
    except OSError:
        return False
    return bool(found) and count.value > 0


def numba_cuda(*, simulate: bool | None = None) -> Any:
    """The module `numba.cuda`: simulated where no GPU is found, unless *simulate* says.

    numba decides once in a process, when it is first imported. Raises NumbaMissingError.
    """
    wanted = not gpu_there() if simulate is None else simulate
    if "numba" not in sys.modules:
        os.environ["NUMBA_ENABLE_CUDASIM"] = "1" if wanted else "0"
    try:
        cuda = importlib.import_module("numba.cuda")
        config = importlib.import_module("numba.core.config")
    except ImportError as error:
        missing = "numba's CUDA target is missing: pip install numba-cuda"
        raise NumbaMissingError(f"{missing} ({error})") from None
    if simulate is not None and bool(config.ENABLE_CUDASIM) != simulate:
        raise NumbaMissingError("numba was imported in the other mode: restart the kernel")
    config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # grids are small here
    config.CUDA_WARN_ON_IMPLICIT_COPY = 0
    return cuda


def numba_launch(kernel: Any, grid: Any, block: Any, *args: Any) -> None:
    """Runs `kernel[grid, block](*args)` by numba; arrays are copied to the device and back."""
    cuda = numba_cuda()
    kernel = getattr(kernel, "py_func", kernel)
    with _as_on_a_device(kernel, cuda):
        cuda.jit(kernel)[grid, block](*args)
        cuda.synchronize()


@contextlib.contextmanager
def _as_on_a_device(kernel: Any, cuda: Any) -> Iterator[None]:
    """While a kernel is compiled and run, its `cuda` is numba's, and its helpers are compiled."""
    space, missing = kernel.__globals__, object()
    names = {"cuda", *_helpers(kernel)}
    before = {name: space.get(name, missing) for name in names}
    for name in names - {"cuda"}:
        space[name] = cuda.jit(device=True)(space[name])
    space["cuda"] = cuda
    try:
        yield
    finally:
        for name, value in before.items():
            space[name] = value
            if value is missing:
                del space[name]


def _helpers(function: FunctionType) -> set[str]:
    """The plain functions that a kernel calls, and those that they call."""
    found: set[str] = set()
    waiting = [function]
    while waiting:
        for name in waiting.pop().__code__.co_names:
            helper = function.__globals__.get(name)
            if isinstance(helper, FunctionType) and name not in found:
                found.add(name)
                waiting.append(helper)
    return found
