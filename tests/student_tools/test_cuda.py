"""The CUDA simulator: what kernels compute, the mistakes that it names, and what it counts."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.kinds import student_tools
from grader.kinds.student_tools.cuda import (
    DataRaceError,
    DivergentBarrierError,
    LaunchError,
    OutOfRangeError,
    UnwrittenError,
    cuda,
    launch,
)
from grader.kinds.student_tools.warps import Warps
from grader.wire import calls, encoding
from tests.helpers.notebooks import run

SOLUTIONS = Path(__file__).parents[2] / "solutions" / "cuda-threading"


def floats(n: int) -> Any:
    return np.arange(n, dtype=np.float32)


# -- what kernels compute


def doubled(x: Any, y: Any) -> None:
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2 * x[i]


def block_sum(x: Any, out: Any) -> None:
    s = cuda.shared.array(64, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    s[t] = x[i] if i < x.size else 0
    d = cuda.blockDim.x // 2
    while d > 0:
        cuda.syncthreads()
        if t < d:
            s[t] += s[t + d]
        d //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


def test_every_thread_of_every_block_runs_once() -> None:
    x, y = launch(doubled, 3, 32, floats(90), np.zeros(90, np.float32))
    assert np.array_equal(y, 2 * x)


def test_places_in_three_dimensions_are_those_of_cuda() -> None:
    found = np.zeros((2 * 2, 3 * 2, 4 * 2), np.int64)

    def kernel(out: Any) -> None:
        x, y, z = cuda.grid(3)
        t, b = cuda.threadIdx, cuda.blockDim
        assert (x, y, z) == tuple(o * n + i for o, n, i in zip(cuda.blockIdx, b, t, strict=True))
        assert cuda.laneid == (t.x + b.x * (t.y + b.y * t.z)) % cuda.warpsize
        assert cuda.gridsize(3) == (8, 6, 4)
        cuda.atomic.add(out, (z, y, x), 1)

    launch(kernel, (2, 2, 2), (4, 3, 2), found)
    assert (found == 1).all()


def test_threads_meet_at_barriers_and_share_memory() -> None:
    _, out = launch(block_sum, 3, 64, floats(150), np.zeros(3, np.float32))
    assert out.tolist() == [floats(150)[k : k + 64].sum() for k in (0, 64, 128)]


def test_what_was_read_before_a_barrier_is_not_read_anew() -> None:
    def kernel(x: Any, old: Any) -> None:
        before = cuda.atomic.add(x, 0, 1)
        mine = x[1 + cuda.threadIdx.x]
        cuda.syncthreads()
        x[1 + cuda.threadIdx.x] = -1
        cuda.syncthreads()
        old[cuda.threadIdx.x] = 100 * before + mine

    x, old = launch(kernel, 1, 4, np.arange(10, 15), np.zeros(4, np.int64))
    assert x.tolist() == [14, -1, -1, -1, -1]
    assert old.tolist() == [1011, 1112, 1213, 1314]


@pytest.mark.parametrize(
    ("name", "given", "left", "gives"),
    [("add", (5,), 12, 7), ("sub", (5,), 2, 7), ("max", (9,), 9, 7), ("min", (9,), 7, 7),
     ("exch", (3,), 3, 7), ("cas", (7, 1), 1, 7), ("cas", (8, 1), 7, 7)],
)  # fmt: skip
def test_atomics_change_an_element_and_give_the_old_one(
    name: str, given: tuple[int, ...], left: int, gives: int
) -> None:
    def kernel(x: Any) -> None:
        x[1] = getattr(cuda.atomic, name)(x, 0, *given)

    assert launch(kernel, 1, 1, np.array([7, 0]))[0].tolist() == [left, gives]


def test_rows_device_functions_decorators_and_arrays_with_gaps_work() -> None:
    @cuda.jit(device=True)
    def twice(v: float) -> float:
        return 2 * v

    @cuda.jit
    def kernel(a: Any, out: Any) -> None:
        i, j = cuda.grid(2)
        out[j][i] = twice(a[j, i]) + len(a) * a.ndim

    a = np.arange(24.0).reshape(4, 6)[:, ::2]
    out = np.zeros((8, 3))[::2]
    launch(kernel, (3, 1), (1, 4), a, out)
    assert np.array_equal(out, 2 * a + 8)


def test_a_block_of_1024_threads_needs_no_threads_of_the_system() -> None:
    import threading

    def kernel(x: Any) -> None:
        cuda.syncthreads()
        x[cuda.threadIdx.x] = threading.active_count() - here

    here = threading.active_count()
    assert not launch(kernel, 1, 1024, np.ones(1024))[0].any()


def test_the_name_cuda_is_given_back() -> None:
    space: dict[str, Any] = {}
    exec("def kernel(x):\n    x[0] = cuda.grid(1)", space)
    launch(space["kernel"], 1, 1, np.zeros(1))
    assert "cuda" not in space
    space["cuda"] = "another"
    launch(space["kernel"], 1, 1, np.zeros(1))
    assert space["cuda"] == "another"


# -- mistakes


def beyond(x: Any) -> None:
    x[cuda.grid(1)] = 1.0


def before(x: Any) -> None:
    x[cuda.threadIdx.x - 1] = 1.0


@pytest.mark.parametrize(
    ("kernel", "says"),
    [(beyond, "out of range: x[6] of shape (6,), used by thread 2 of block 1"),
     (before, "out of range: x[-1] of shape (6,), used by thread 0 of block 0")],
)  # fmt: skip
def test_an_index_out_of_range_is_named_with_its_thread(kernel: Any, says: str) -> None:
    with pytest.raises(OutOfRangeError) as error:
        launch(kernel, 2, 4, floats(6))
    assert str(error.value) == says


def test_places_of_two_dimensions_are_named_in_full() -> None:
    def kernel(x: Any) -> None:
        i, j = cuda.grid(2)
        x[j, i] = 0.0

    with pytest.raises(OutOfRangeError) as error:
        launch(kernel, (3, 1), (2, 2), np.zeros((1, 6)))
    assert (
        str(error.value)
        == "out of range: x[1, 0] of shape (1, 6), used by thread (0, 1, 0) of block 0"
    )


def neighbours(x: Any) -> None:
    i = cuda.grid(1)
    x[i] = x[i + 1]


def neighbours_with_barrier(x: Any) -> None:
    i = cuda.grid(1)
    new = x[i + 1]
    cuda.syncthreads()
    x[i] = new


def one_word(x: Any) -> None:
    x[0] = cuda.grid(1)


def one_word_one_value(x: Any) -> None:
    x[0] = 5


def counted(x: Any) -> None:
    cuda.atomic.add(x, 0, 1)


def counted_and_read(x: Any) -> None:
    x[1 + cuda.grid(1)] = cuda.atomic.add(x, 0, 1) + x[0]


def first_stores_others_count(x: Any) -> None:
    if cuda.threadIdx.x == 0:
        x[0] = 5
    else:
        cuda.atomic.add(x, 0, 1)


def first_counts_others_read(x: Any) -> None:
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(x, 0, 1)
    else:
        x[cuda.threadIdx.x] = x[0]


def counted_and_read_later(x: Any) -> None:
    cuda.atomic.add(x, 0, 1)
    cuda.syncthreads()
    x[1 + cuda.grid(1)] = x[0]


@pytest.mark.parametrize(
    ("kernel", "grid", "races"),
    [
        (neighbours, 1, True),
        (neighbours_with_barrier, 1, False),
        (neighbours_with_barrier, 2, True),  # a barrier is for one block
        (one_word, 1, True),
        (one_word, 2, True),
        (one_word_one_value, 2, False),
        (counted, 2, False),
        (counted_and_read, 1, True),
        (first_stores_others_count, 1, True),
        (first_counts_others_read, 1, True),
        (counted_and_read_later, 1, False),
        (counted_and_read_later, 2, True),
    ],
)
def test_a_race_is_found_whatever_order_the_threads_ran_in(
    kernel: Any, grid: int, races: bool
) -> None:
    if not races:
        launch(kernel, grid, 4, floats(20))
        return
    with pytest.raises(
        DataRaceError, match=r"of x at \d+: \w+ by thread \d of block \d, \w+ by thread"
    ):
        launch(kernel, grid, 4, floats(20))


def test_a_race_with_an_earlier_reader_is_found_too() -> None:
    def kernel(x: Any, y: Any) -> None:
        t = cuda.threadIdx.x
        y[t] = x[3]
        if t == 3:
            x[3] = 1.0

    with pytest.raises(DataRaceError, match=r"store by thread 3 of block 0, load by thread 0"):
        launch(kernel, 1, 4, floats(4), floats(4))


def skips(x: Any) -> None:
    if cuda.threadIdx.x < 2:
        cuda.syncthreads()


def returns_early(x: Any) -> None:
    if cuda.threadIdx.x == 3:
        return
    cuda.syncthreads()


def another_barrier(x: Any) -> None:
    if cuda.threadIdx.x == 3:
        cuda.syncthreads()
    else:
        cuda.syncthreads()


def one_more(x: Any) -> None:
    for _ in range(2 + (cuda.threadIdx.x == 1)):
        cuda.syncthreads()


@pytest.mark.parametrize("kernel", [skips, returns_early, another_barrier, one_more])
def test_a_barrier_that_not_all_threads_reach_is_named(kernel: Any) -> None:
    with pytest.raises(DivergentBarrierError, match=r"^thread . of block 0 waits here") as error:
        launch(kernel, 2, 4, floats(4))
    assert [frame.name for frame in error.traceback].count(kernel.__name__) == 1


@pytest.mark.parametrize("how", ["read", "add"])
def test_shared_memory_has_no_value_at_first_in_any_block(how: str) -> None:
    def kernel(x: Any) -> None:
        s = cuda.shared.array(4, np.float32)
        if cuda.blockIdx.x == 0:
            s[cuda.threadIdx.x] = 0.0
        x[cuda.grid(1)] = s[cuda.threadIdx.x] if how == "read" else cuda.atomic.add(s, 0, 1)

    with pytest.raises(UnwrittenError, match=r"shared 0 at 0, read by thread 0 of block 1"):
        launch(kernel, 2, 4 if how == "read" else 1, floats(8))


def returns(x: Any) -> Any:
    return x[0]


def sliced(x: Any) -> None:
    x[0:2] = 1.0


def halves(x: Any) -> None:
    x[cuda.threadIdx.x / 2] = 1.0


def unlike(x: Any) -> None:
    cuda.shared.array(4 + cuda.threadIdx.x, np.float32)


@pytest.mark.parametrize(
    ("kernel", "says"),
    [(returns, "returns nothing"), (sliced, "whole numbers"), (halves, "whole numbers"),
     (unlike, "different arrays in shared memory")],
)  # fmt: skip
def test_what_is_no_cuda_says_so(kernel: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        launch(kernel, 1, 4, floats(4))


@pytest.mark.parametrize(("grid", "block"), [(0, 4), (1, 1025), (1, (32, 64)), (1, (1, 1, 65))])
def test_launches_that_no_gpu_takes_are_refused(grid: Any, block: Any) -> None:
    with pytest.raises(LaunchError):
        launch(doubled, grid, block, floats(1), floats(1))


# -- counts


def moved(index: Callable[[int], int], dtype: Any, n: int) -> Warps:
    def kernel(x: Any, y: Any) -> None:
        y[cuda.threadIdx.x] = x[index(cuda.threadIdx.x)]

    warps = Warps()
    launch(kernel, 1, n, np.zeros(9000, dtype), np.zeros(n, dtype), recorder=warps)
    return warps


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("stride", [1, 2, 3, 8, 9, 32])
@pytest.mark.parametrize("offset", [0, 1, 7])
def test_sectors_are_those_that_the_bytes_of_each_warp_touch(
    dtype: Any, stride: int, offset: int
) -> None:
    warps = moved(lambda t: offset + stride * t, dtype, 96)
    size = np.dtype(dtype).itemsize
    wanted = 0
    for warp in range(3):
        first = [(offset + stride * (32 * warp + lane)) * size for lane in range(32)]
        wanted += len({byte // 32 for a in first for byte in range(a, a + size)})
    cost = warps.cost("x", "load")
    assert (cost.requests, cost.accesses, cost.sectors) == (3, 96, wanted)
    assert warps.cost("x", "store").requests == 0


def shared_passes(index: Callable[[int], int], dtype: Any = np.float32) -> int:
    def kernel() -> None:
        s = cuda.shared.array(3000, dtype)
        s[index(cuda.threadIdx.x)] = 1

    warps = Warps()
    launch(kernel, 1, 32, recorder=warps)
    return warps.cost("shared").passes


@pytest.mark.parametrize("stride", [*range(1, 35), 48, 64])
def test_bank_conflicts_of_a_stride_are_its_common_divisor_with_32(stride: int) -> None:
    assert shared_passes(lambda t: stride * t) == math.gcd(stride, 32)


def test_lanes_that_use_one_word_share_a_pass() -> None:
    assert shared_passes(lambda t: 7) == 1
    assert shared_passes(lambda t: 32 * (t // 8)) == 4
    assert shared_passes(lambda t: t, np.int8) == 1  # four lanes to a word
    assert shared_passes(lambda t: 64 * t, np.int8) == 16


def test_elements_of_eight_bytes_go_by_half_warps() -> None:
    assert shared_passes(lambda t: t, np.float64) == 2
    assert shared_passes(lambda t: 2 * t, np.float64) == 4
    assert shared_passes(lambda t: 17 * t, np.float64) == 2
    assert shared_passes(lambda t: t // 2, np.float64) == 2


def test_atomics_that_meet_take_turns() -> None:
    def kernel(x: Any) -> None:
        cuda.atomic.add(x, cuda.threadIdx.x % 5, 1)

    warps = Warps()
    launch(kernel, 2, 64, np.zeros(5), recorder=warps)
    cost = warps.cost("x", "atomic")
    assert (cost.requests, cost.accesses, cost.passes, cost.sectors) == (4, 128, 4 * 7, 8)


def test_the_requests_of_a_reduction_are_those_of_its_active_warps() -> None:
    warps = Warps(branches=True)
    launch(block_sum, 1, 64, floats(64), np.zeros(1, np.float32), recorder=warps)
    # Six steps with one warp each; in the first, 32 of 64 threads are one full warp.
    assert warps.cost("shared", "load").requests == 2 * 6 + 1
    assert warps.cost("shared", "store").requests == 2 + 6
    assert warps.cost("shared").passes == warps.cost("shared").requests
    # Steps 16, 8, 4, 2, 1, and the last `if`; `i < x.size`, `while` and `if` of each warp.
    assert warps.divergent == 6
    assert warps.branches == 2 * (1 + 1 + 6 + 6 + 1)
    assert "shared 0, load: Cost(requests=13" in str(warps)
    assert "30 decisions of warps, 6 of them divergent" in str(warps)


def test_lanes_that_take_other_ways_meet_again_at_the_next_barrier() -> None:
    def kernel(x: Any) -> None:
        t = cuda.threadIdx.x
        for _ in range(t % 3):
            x[t] += 1
        cuda.syncthreads()
        x[t] = 0.0

    warps = Warps()
    launch(kernel, 1, 32, floats(32), recorder=warps)
    loads = [len(r.lanes) for r in warps.requests if r.kind == "load"]
    stores = [len(r.lanes) for r in warps.requests if r.kind == "store"]
    assert sorted(loads) == [10, 21]
    assert sorted(stores) == [10, 21, 32]


def test_accesses_at_two_places_of_a_line_are_two_requests() -> None:
    def kernel(x: Any, y: Any) -> None:
        t = cuda.threadIdx.x
        y[t] = (x[t] if t % 2 else 0.0) + x[t + 40]

    warps = Warps()
    launch(kernel, 1, 32, floats(72), floats(32), recorder=warps)
    found = [r.lanes for r in warps.requests if r.kind == "load"]
    assert {t: t for t in range(1, 32, 2)} in found
    assert {t: t + 40 for t in range(32)} in found


@pytest.mark.parametrize(
    ("test", "divergent"),
    [(lambda t: t % 2, 2), (lambda t: t < 32, 0), (lambda t: t < 40, 1), (lambda t: True, 0)],
)
def test_a_decision_is_divergent_when_lanes_of_one_warp_disagree(
    test: Callable[[int], bool], divergent: int
) -> None:
    def kernel(x: Any) -> None:
        yes = decides(cuda.threadIdx.x)
        if yes:
            x[cuda.threadIdx.x] = 1.0

    decides = test
    warps = Warps(branches=True)
    launch(kernel, 1, 64, floats(64), recorder=warps)
    assert (warps.branches, warps.divergent) == (2, divergent)


def test_tracing_is_over_afterwards_also_after_an_error() -> None:
    trace = sys.gettrace()
    with pytest.raises(OutOfRangeError):
        launch(beyond, 1, 4, floats(2), recorder=Warps(branches=True))
    assert sys.gettrace() is trace


# -- where it is used


def test_the_texts_run_as_a_driver_beside_a_students_kernel() -> None:
    asked = {
        "name": "q1_k",
        "seed": 1,
        "tools": [
            student_tools.source("cuda"),
            student_tools.source("warps"),
        ],
        "driver": "def drive(answer, x):\n    out, w = np.zeros_like(x), Warps(branches=True)\n"
        "    launch(answer, 1, 32, x, out, recorder=w)\n"
        "    return [out, w.cost().sectors, w.branches]",
        "inputs": {"x": encoding.encode_result(floats(32))},
    }
    space: dict[str, Any] = {}
    exec("def q1_k(x, out):\n    i = cuda.grid(1)\n    if i < 20:\n        out[i] = x[i]", space)
    said = calls.perform_safely(asked, space)
    assert said["is"] == "returned", said
    assert encoding.decode_input(said["v"])[1:] == [6, 1]


def test_a_kernel_runs_behind_the_wall_from_the_notebooks_own_cells() -> None:
    evidence = run(
        student_tools.source("cuda"),
        student_tools.source("warps"),
        "def add(x, y):\n"
        "    s = cuda.shared.array(1024, np.float64)\n"
        "    s[cuda.threadIdx.x] = x[cuda.grid(1)]\n"
        "    cuda.syncthreads()\n"
        "    y[cuda.grid(1)] = s[1023 - cuda.threadIdx.x]",
        "warps = Warps()\n"
        "q1_a = launch(add, 1, 1024, np.arange(1024.0), np.zeros(1024), recorder=warps)[1][:3]\n"
        "q1_b = warps.cost('shared').passes",
        "try:\n    launch(add, 1, 32, np.zeros(3), np.zeros(3))\n"
        "except OutOfRangeError as error:\n    q1_c = str(error)",
        asks="q1_a q1_b q1_c",
    )
    raws: list[Any] = [evidence.answers[name].raw for name in ("q1_a", "q1_b", "q1_c")]
    assert [float(v["v"]) for v in raws[0]["v"]] == [1023.0, 1022.0, 1021.0]
    assert raws[1]["v"] == "128"  # 32 warps write and read doubles, in two passes each
    assert raws[2]["v"] == "out of range: x[3] of shape (3,), used by thread 3 of block 0"
