"""The same kernels by numba: on a GPU where there is one, and on numba's own simulator elsewhere.

`numba_launch(kernel, grid, block, x, y)` does what `launch` of the tool `cuda` does, with nothing
counted and nothing checked. numba's simulator starts a thread of the operating system for each one of
a block, so keep blocks small there (64), and grids too.
"""

import contextlib
import ctypes
import importlib
import os
import sys
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
    with _named(kernel.__globals__, cuda):
        cuda.jit(kernel)[grid, block](*args)
        cuda.synchronize()


@contextlib.contextmanager
def _named(space: dict[str, Any], cuda: Any) -> Any:
    """While a kernel is compiled and run, its `cuda` is numba's."""
    missing = object()
    before = space.get("cuda", missing)
    space["cuda"] = cuda
    try:
        yield
    finally:
        space["cuda"] = before
        if before is missing:
            del space["cuda"]
