"""A process that measures one group of figures; says each as a line of JSON when it has it."""

from __future__ import annotations

import gc
import json
import os
import re
import sys
from collections.abc import Callable
from typing import Any


def main() -> None:
    """Reads the assignment from stdin and writes events to stdout."""
    from grader.runtime.machine.bench import FAULTS, Assignment, Bench
    from grader.runtime.machine.records import Cache

    # Whatever libraries print must not mix with the events.
    with os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1) as events:
        os.dup2(2, 1)

        def emit(what: str, data: object) -> None:
            events.write(json.dumps({what: data}) + "\n")

        told = json.load(sys.stdin)
        told["caches"] = tuple(Cache(**cache) for cache in told["caches"])
        assignment = Assignment(**told)
        # Its rounds would fall into some of the samples and not into others.
        gc.disable()
        try:
            GROUPS[assignment.group](Bench(assignment, emit))
        except (*FAULTS, ImportError) as error:
            emit("failed", str(error) or type(error).__name__)
        emit("done", True)


def _processes(bench: Any) -> None:
    from grader.runtime.machine import processes

    processes.measure(bench)


def _arrays(bench: Any) -> None:
    import numpy as np

    from grader.runtime.machine import memory, products

    bench.tell("software", {"numpy": np.__version__})
    arrays = memory.measure(bench)
    products.triad_by_numpy(bench, arrays)


def _blas(bench: Any) -> None:
    from grader.runtime.machine import products

    bench.tell("software", {"blas": _numpy_blas()})
    products.measure_numpy(bench)


def _torch(bench: Any) -> None:
    import numpy as np
    import torch

    from grader.runtime.machine import allreduce, memory, products

    with allreduce.partner() as all_reduce:
        versions = {"numpy": np.__version__, "torch": torch.__version__}
        threads = torch.get_num_threads()
        bench.tell("software", {**versions, "torch_threads": threads, "blas": _torch_blas()})
        arrays = memory.measure(bench)
        products.measure_torch(bench, arrays)
        del arrays
        with bench.trying("allreduce", "allow connections to 127.0.0.1"):
            all_reduce(bench)


def _cuda(bench: Any) -> None:
    from grader.runtime.machine import cuda

    cuda.measure(bench)


def _numpy_blas() -> str | None:
    import numpy as np

    try:
        found = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        return f"{found['name']} {found['version']}"
    except (KeyError, TypeError):
        return None


def _torch_blas() -> str | None:
    import torch

    found = re.search(r"\bBLAS_INFO=(\w+)", torch.__config__.show())
    return f"{found[1]}, in torch" if found else None


GROUPS: dict[str, Callable[[Any], None]] = {
    "processes": _processes,
    "arrays": _arrays,
    "blas": _blas,
    "torch": _torch,
    "cuda": _cuda,
}
