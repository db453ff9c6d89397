"""The machine's profile: how samples become figures, how it is stored, and what it bounds.

No test looks at how fast this machine is: that changes with whatever else runs.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.cli import grader
from grader.errors import GraderError, SetupError
from grader.model import Benchmark
from grader.runtime.execute.measure import roofline_bound
from grader.runtime.machine import (
    MachineProfile,
    benchmarks,
    from_json,
    hardware,
    read_profile,
    roofline_seconds,
)
from grader.runtime.machine import calibrate as calibrating
from grader.runtime.machine.calibrate import (
    array_bytes,
    calibrate,
    count_figures,
    plan_assignments,
)
from grader.runtime.machine.measuring import FEWEST, Bench, MeasuringTask
from grader.runtime.machine.records import (
    CacheLevel,
    Gpu,
    Hardware,
    LeftOut,
    MeasuredFigure,
    unit_of,
)
from grader.runtime.machine.roofline import peak_bandwidth, peak_rate
from tests.helpers.commands import fails
from tests.helpers.measurements import GB, KIB, MIB, a_figure, a_profile, a_roof

DTYPES = ("fp64", "fp32", "bf16", "fp16", "int8")


# --- builders ---------------------------------------------------------------------------------


class Clock:
    """A clock that only work moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def work(self, seconds: float) -> Callable[[], None]:
        def work() -> None:
            self.now += seconds

        return work


# --- the bench --------------------------------------------------------------------------------


def a_bench(clock: Clock, **changes: Any) -> tuple[Bench, list[tuple[str, dict]]]:  # type: ignore[type-arg]
    """A bench on which work takes as long as *clock* says."""
    events: list[tuple[str, dict]] = []  # type: ignore[type-arg]
    assignment = MeasuringTask(**changes)

    def timer(work: Callable[[], object], calls: int) -> float:
        start = clock()
        for _ in range(calls):
            work()
        return (clock() - start) / calls

    bench = Bench(assignment, lambda what, data: events.append((what, data)), timer)  # type: ignore[arg-type]
    return bench, events


def test_a_time_is_in_seconds_and_a_rate_is_amount_over_time() -> None:
    clock = Clock()
    bench, events = a_bench(clock, seconds=0.0)
    spent = bench.time("call.python", clock.work(0.002), how="x")
    rate = bench.time("memory.copy", clock.work(0.25), amount=5 * GB, threads=1, how="x")
    assert spent.median == pytest.approx(0.002)
    assert rate.median == pytest.approx(20 * GB)
    assert (spent.unit, rate.unit) == ("s", "B/s")
    assert spent.settled
    assert [MeasuredFigure(**data) for _, data in events] == [spent, rate]


def test_short_calls_are_timed_together() -> None:
    clock = Clock()
    bench, _ = a_bench(clock, seconds=0.0)
    start = clock()
    bench.time("call.python", clock.work(1e-6), how="x")
    assert clock() - start == pytest.approx((2047 + FEWEST * 1024) * 1e-6, rel=0.4)


def test_sampling_goes_on_until_the_median_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def takes_a_millisecond() -> float:
        time.sleep(1e-3)
        return 1.0

    dice = random.Random(1)
    bench, _ = a_bench(Clock())
    bench.figure_seconds = 0.06
    known = bench.sample("call.python", takes_a_millisecond, how="x")
    assert known.settled
    assert known.count < 30  # after a third of the time
    bench.figure_seconds = 60.0

    def noisy(run: object) -> list[float]:
        return [dice.uniform(0.8, 1.2) for _ in range(9)]

    monkeypatch.setattr(bench, "_collect", noisy)
    assert not bench.sample("call.python", lambda: 1.0, how="x").settled


def test_the_best_sample_is_the_shortest_time_or_the_highest_rate() -> None:
    def best(name: str) -> float:
        bench, _ = a_bench(Clock(), seconds=0.0)
        made = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        return bench.sample(name, lambda: next(made), how="x").best

    assert best("call.python") == 1.0
    assert best("memory.read") == 6.0


def test_when_the_time_is_over_every_figure_gets_the_fewest_samples() -> None:
    dice = random.Random(2)
    bench, _ = a_bench(Clock(), seconds=0.0)
    late = bench.sample("call.python", lambda: dice.uniform(1, 9), how="x")
    assert late.count == FEWEST
    assert not late.settled


def test_what_fails_is_left_out_with_its_reason_and_the_rest_goes_on() -> None:
    bench, events = a_bench(Clock())
    with bench.attempt("matmul.fp16"):
        raise RuntimeError("not implemented\nand more")
    assert events == [
        ("left_out", {"what": "matmul.fp16", "why": "RuntimeError: not implemented", "fix": ""})
    ]
    with pytest.raises(ZeroDivisionError), bench.attempt("a bug of ours"):
        raise ZeroDivisionError


def test_what_libraries_print_does_not_mix_with_the_figures() -> None:
    program = """\
import os
from grader.runtime.machine import benchmarks
def noisy(bench):
    print("hello from Python")
    os.write(1, b"hello from C\\n")
    with bench.attempt("x"):
        raise ValueError("y")
    raise RuntimeError("and then it failed")
benchmarks.measure_cpu = noisy
benchmarks.main()
"""
    done = subprocess.run([sys.executable, "-c", program, "{}"], capture_output=True, text=True)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events == [
        {"left_out": {"what": "x", "why": "ValueError: y", "fix": ""}},
        {"failed": "and then it failed"},
        {"done": True},
    ]
    assert "hello from Python" in done.stderr
    assert "hello from C" in done.stderr


# --- the records and their JSON ---------------------------------------------------------------


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
names = st.sampled_from(
    [*(f"matmul.{d}" for d in DTYPES), "memory.read", "call.python", "launch.round-trip"]
)  # fmt: skip


@st.composite
def drawn_figures(draw: st.DrawFn) -> MeasuredFigure:
    name = draw(names)
    q1, median, q3 = sorted(draw(st.tuples(*[st.floats(1e-12, 1e18)] * 3)))
    return MeasuredFigure(
        name=name,
        device=draw(st.sampled_from(["cpu", "cuda"])),
        threads=draw(st.none() | st.integers(1, 512)),
        working_set=draw(st.none() | st.integers(1, 1 << 40)),
        unit=unit_of(name),
        median=median,
        low=q1,
        high=q3,
        q1=q1,
        q3=q3,
        best=q1 if unit_of(name) == "s" else q3,
        count=draw(st.integers(1, 99)),
        settled=draw(st.booleans()),
        how=draw(words),
    )


@st.composite
def profiles(draw: st.DrawFn) -> MachineProfile:
    gpu = st.builds(
        Gpu, name=words, capability=words, memory_bytes=st.integers(0, 1 << 40),
        l2_bytes=st.none() | st.integers(1, 1 << 30), cuda=st.none() | words,
    )  # fmt: skip
    caches = st.builds(
        CacheLevel,
        level=st.integers(1, 4),
        size=st.integers(1, 1 << 30),
        instances=st.integers(1, 99),
    )
    return a_profile(
        *draw(st.lists(drawn_figures(), max_size=6, unique_by=lambda f: f.name)),
        quick=draw(st.booleans()),
        seconds=draw(st.floats(0, 100)),
        hardware=Hardware(
            cpu=draw(words), architecture=draw(words), logical_cpus=4, usable_cpus=2,
            caches=tuple(draw(st.lists(caches, max_size=3))),
            load=draw(st.none() | st.floats(0, 99)),
        ),
        gpu=draw(st.none() | gpu),
        left_out=tuple(draw(st.lists(st.builds(LeftOut, what=words, why=words), max_size=2))),
    )  # fmt: skip


@pytest.mark.thorough
@settings(max_examples=60)
@given(profiles())
def test_a_profile_survives_json(profile: MachineProfile) -> None:
    again = from_json(profile.to_json())
    assert again == profile
    assert again.id == profile.id
    assert len(profile.id) == 16


def test_the_id_is_that_of_the_contents() -> None:
    profile = a_profile()
    other = a_profile(a_figure(value=101 * GB))
    assert profile.id == a_profile().id
    assert profile.id != other.id


def changed(change: Callable[[dict], object]) -> str:  # type: ignore[type-arg]
    data = json.loads(a_profile(a_figure(threads=1), a_figure(threads=2)).to_json())
    change(data)
    return json.dumps(data)


def put(*path: object) -> Callable[[dict], None]:  # type: ignore[type-arg]
    """A change that puts the last of *path* where the others lead."""
    *way, last, value = path

    def change(data: dict) -> None:  # type: ignore[type-arg]
        place: object = data
        for step in way:
            place = place[step]  # type: ignore[index]
        place[last] = value  # type: ignore[index]

    return change


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "with the schema"),
        ("7", "with the schema"),
        ("{}", "with the schema"),
        ('{"schema": "systems-grader/machine/v9"}', "with the schema"),
        ('{"schema": NaN}', "with the schema"),
        (changed(lambda d: d.pop("id")), "do not match its id 'None'"),
        (changed(put("id", "0" * 16)), "do not match its id"),
        (changed(put("figures", 1, "count", 10)), "do not match its id"),
        (changed(put("extra", 1)), "do not match its id"),
        (changed(lambda d: d["figures"][1].pop("how")), r"figures\.1\.how: "),
        (changed(lambda d: d.pop("hardware")), "hardware: "),
        (changed(put("hardware", None)), "hardware: "),
        (changed(put("hardware", "caches", 0, "level", "1")), r"level: .* integer"),
        (changed(put("hardware", "caches", {})), "caches: "),
        (changed(put("figures", 0, "median", "fast")), r"median: .* number"),
        (changed(put("figures", 0, "median", True)), r"median: .* number"),
        (changed(put("figures", 0, "median", 10**400)), "do not match its id"),
        (changed(put("figures", 0, "count", 1.5)), "count: .* integer"),
        (changed(put("figures", 0, "settled", 1)), "settled: .* boolean"),
        (changed(put("seconds", math.inf)).replace("Infinity", "1e999"), "not JSON"),
        (changed(put("more", math.inf)).replace("Infinity", "1e999"), "not JSON"),
        (changed(put("software", "kernel", 7)), "kernel: .* string"),
    ],
)  # fmt: skip
def test_a_malformed_profile_is_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(SetupError, match=words) as caught:
        from_json(text, where="lab.json")
    shown = str(caught.value)
    assert shown.startswith("lab.json: ")
    assert "grader calibrate" in shown
    assert len(shown) < 600


@pytest.mark.thorough
@settings(max_examples=200)
@given(st.data())
def test_whatever_the_text_reading_gives_a_profile_or_a_sentence(data: st.DataObject) -> None:
    text = a_roof().to_json()
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    patch = data.draw(st.text(max_size=8) | st.sampled_from(["null", "{}", "[]", "-1", "1e400"]))
    damaged = text[:start] + patch + text[end:]
    try:
        assert from_json(damaged) == a_roof()  # only white space, or the same again
    except GraderError as error:
        assert error.what


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="can't be read: no such file"):
        read_profile(tmp_path / "none.json")
    with pytest.raises(SetupError, match="can't be read: is a directory"):
        read_profile(tmp_path)
    (tmp_path / "raw.json").write_bytes(b"\xff\xfe")
    with pytest.raises(SetupError, match="not utf-8"):
        read_profile(tmp_path / "raw.json")
    (tmp_path / "good.json").write_text(a_profile().to_json())
    assert read_profile(tmp_path / "good.json") == a_profile()


def test_a_profile_of_version_0_1_is_read() -> None:
    path = Path(__file__).parents[1] / "fixtures" / "machine-0.1.json"
    profile = read_profile(path)
    stored = json.loads(path.read_text())
    assert len(profile.figures) == len(stored["figures"])
    assert "allreduce.latency" in names_of(profile)
    assert from_json(profile.to_json()) == profile
    assert roofline_seconds(profile, flops=1e9, bytes_moved=1e9, threads=1) > 0


# --- the roofline -----------------------------------------------------------------------------


def roof(flops: float = 0.0, bytes_moved: float = 0.0, **more: Any) -> float:
    return roofline_seconds(a_roof(), flops=flops, bytes_moved=bytes_moved, **more)


def test_the_bound_is_the_larger_of_both_terms() -> None:
    assert roof(flops=100 * GB, threads=1) == pytest.approx(1.0)
    # The caches hold 4 x 32 KiB, 4 x 1 MiB and 16 MiB; the rest comes from memory.
    held = 4 * 32 * KIB + 4 * MIB + 16 * MIB
    assert roof(bytes_moved=20 * GB + held, threads=1) == pytest.approx(1.0)
    both = roof(flops=100 * GB, bytes_moved=20 * GB + held, threads=1)
    assert both == pytest.approx(1.0)
    assert roof(flops=200 * GB, bytes_moved=20 * GB, threads=1) == pytest.approx(2.0)
    assert roof() == 0.0
    assert roof(bytes_moved=held) == 0.0


def test_a_measurement_is_bounded_by_the_device_that_it_ran_on() -> None:
    both = a_profile(
        a_figure("matmul.fp32", 90 * GB, threads=1, best=100 * GB),
        a_figure("matmul.fp32", 40_000 * GB, device="cuda", best=50_000 * GB),
    )
    work = Benchmark(setup="", flops=100 * GB)
    assert roofline_bound(work, "cpu", both) == pytest.approx(1.0)
    assert roofline_bound(work, "cuda", both) == pytest.approx(0.002)
    assert roofline_bound(work, "cuda", a_roof()) == 0.0, "the profile has no figures of a GPU"


def test_more_threads_lower_the_bound_as_far_as_there_are_cpus() -> None:
    assert roof(flops=100 * GB, threads=2) == pytest.approx(0.5)
    assert roof(flops=100 * GB, threads=4) == roof(flops=100 * GB, threads=99)
    assert roof(flops=100 * GB) == roof(flops=100 * GB, threads=4)
    # Memory is shared: what four threads reached together bounds two and three of them.
    assert peak_bandwidth(a_roof(), 1) == 20 * GB
    assert peak_bandwidth(a_roof(), 4) == 30 * GB


def test_a_team_that_was_measured_on_a_busy_machine_does_not_bound() -> None:
    busy = a_profile(
        a_figure("matmul.fp32", threads=1, best=110 * GB),
        a_figure("matmul.fp32", 2 * GB, threads=4, best=3 * GB),
        a_figure("memory.read", 20 * GB, threads=1, best=22 * GB),
        a_figure("memory.read", 10 * GB, threads=4, best=12 * GB, settled=False),
    )
    assert peak_rate(busy, "fp32", 4) == 440 * GB
    assert peak_bandwidth(busy, 4) == 88 * GB


def test_a_slow_type_is_bounded_by_the_wider_one_that_can_stand_in() -> None:
    assert peak_rate(a_roof(), "fp16") == 100 * GB
    assert peak_rate(a_roof(), "bf16") == 100 * GB  # never measured, but fp32 was
    assert peak_rate(a_roof(), "fp64") == 50 * GB  # never by a narrower one


def test_where_the_caches_are_unknown_nothing_small_is_held_against_memory() -> None:
    profile = a_profile(
        a_figure("memory.read", 20 * GB, threads=1, best=22 * GB),
        hardware=dataclasses.replace(a_profile().hardware, caches=()),
    )

    def least(size: float) -> float:
        return roofline_seconds(profile, flops=0, bytes_moved=size, threads=1)

    assert least(MIB) == 0.0
    assert least(1e12) == pytest.approx((1e12 - 256 * MIB) / (22 * GB))


def test_a_gpu_has_a_bound_of_its_own() -> None:
    profile = a_profile(
        a_figure("matmul.bf16", 700e12, device="cuda", best=790e12),
        a_figure("memory.copy", 4e12, device="cuda", best=4.4e12),
        a_figure("matmul.fp32", threads=1),
        gpu=Gpu(name="G", capability="9.0", memory_bytes=1, l2_bytes=50 * MIB),
    )
    least = roofline_seconds(
        profile, flops=790e12, bytes_moved=0, dtype="bf16", threads=7, device="cuda"
    )
    assert least == pytest.approx(1.0)
    with pytest.raises(SetupError, match="no peak rate for fp32 on cuda"):
        peak_rate(profile, "fp32", device="cuda")
    with pytest.raises(SetupError, match="no memory bandwidth of cpu"):
        peak_bandwidth(profile)


amounts = st.floats(0, 1e15)


@given(amounts, amounts, amounts, st.integers(1, 8), st.sampled_from(DTYPES))
def test_the_bound_grows_with_the_work_and_not_with_the_threads(
    flops: float, size: float, more: float, threads: int, dtype: str
) -> None:
    least = roof(flops, size, threads=threads, dtype=dtype)
    assert least <= roof(flops + more, size, threads=threads, dtype=dtype)
    assert least <= roof(flops, size + more, threads=threads, dtype=dtype)
    assert least >= roof(flops, size, threads=threads + 1, dtype=dtype)
    assert least <= roof(flops, size, threads=threads, dtype="fp64")


def test_a_type_that_is_unknown_is_refused() -> None:
    with pytest.raises(ValueError, match="must be one of fp64"):
        roof(flops=1, dtype="fp12")


# --- what the system says ---------------------------------------------------------------------


def test_caches_are_counted_once_for_all_cpus_that_share_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for cpu in range(4):
        for index, (level, kind, size, shared) in enumerate(
            [
                (1, "Data", "48K", str(cpu)),
                (1, "Instruction", "32K", str(cpu)),
                (2, "Unified", "2M", str(cpu)),
                (3, "Unified", "32768K", "0-1" if cpu < 2 else "2-3"),
            ]
        ):
            folder = tmp_path / f"cpu{cpu}" / "cache" / f"index{index}"
            folder.mkdir(parents=True)
            for name, text in (
                ("level", level), ("type", kind), ("size", size), ("shared_cpu_list", shared),
            ):  # fmt: skip
                (folder / name).write_text(f"{text}\n")
    monkeypatch.setattr(hardware, "_CPUS", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1, 2}, raising=False)
    assert tuple(hardware.iter_caches()) == (
        CacheLevel(level=1, size=48 * KIB, instances=3),
        CacheLevel(level=2, size=2 * MIB, instances=3),
        CacheLevel(level=3, size=32 * MIB, instances=2),
    )
    monkeypatch.setattr(hardware, "_CPUS", tmp_path / "nowhere")
    assert tuple(hardware.iter_caches()) == ()


@pytest.mark.parametrize(
    ("quota", "cpus"), [("max 100000", 6), ("150000 100000", 2), ("10000 100000", 1), ("?", 6)]
)
def test_the_quota_of_the_cgroup_limits_the_cpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: str, cpus: int
) -> None:
    (tmp_path / "cpu.max").write_text(quota)
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("400000\n")
    monkeypatch.setattr(hardware, "_GROUPS", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(6)), raising=False)
    assert hardware.usable_cpus() == cpus
    assert hardware.available_bytes() == 600_000


def test_this_machine_is_described() -> None:
    seen = hardware.read_hardware()
    assert seen.cpu
    assert 1 <= seen.usable_cpus <= seen.logical_cpus
    soft = hardware.read_software()
    assert soft.numpy == np.__version__
    assert soft.python.endswith(".".join(map(str, sys.version_info[:3])))


# --- memory -----------------------------------------------------------------------------------


def test_arrays_are_four_times_the_last_cache_if_memory_allows() -> None:
    last = (CacheLevel(level=3, size=32 * MIB, instances=2),)
    roomy = dataclasses.replace(a_profile().hardware, caches=last, available_bytes=64 << 30)
    assert array_bytes(roomy, quick=False) == 256 * MIB
    tight = dataclasses.replace(roomy, available_bytes=600 * MIB)
    assert array_bytes(tight, quick=False) <= 600 * MIB / 12
    assert array_bytes(dataclasses.replace(roomy, caches=()), quick=False) == 128 * MIB


@pytest.mark.parametrize("threads", [1, 3])
def test_the_routines_do_what_their_figures_say(threads: int) -> None:
    bench, _ = a_bench(Clock(), array_bytes=MIB, threads=threads)
    with ThreadPoolExecutor(threads) as pool:
        works = benchmarks._make_numpy_accesses(bench, pool)
        results = {name: work() for name, (_, work, _) in works.items()}
    assert {name: moved for name, (moved, _, _) in works.items()} == {
        "read": 1, "write": 1, "copy": 2,
    }  # fmt: skip
    assert np.all(np.asarray(results["read"]) == 1)


# --- matrix products --------------------------------------------------------------------------


SIZES = (256, 512, 1024, 2048)


def test_the_largest_size_that_is_nearly_the_fastest_is_taken() -> None:
    rates = {256: 50.0, 512: 100.0, 1024: 98.0, 2048: 60.0}
    made: list[int] = []

    def make(size: int) -> benchmarks.MatrixProduct:
        made.append(size)
        return benchmarks.MatrixProduct(size=size, run=lambda: size, element_bytes=4)

    def timer(run: Callable[[], object], calls: int) -> float:
        size = run()
        return calls * 2 * size**3 / rates[size]  # type: ignore[operator,index]

    makers: list[Callable[[], benchmarks.MatrixProduct]] = [
        functools.partial(make, size) for size in SIZES
    ]
    assert benchmarks.choose_product(makers, math.inf, timer).size == 1024
    assert made == [256, 512, 1024, 2048]
    made.clear()
    seconds = 2 * 512**3 / 100.0
    benchmarks.choose_product(makers, 7 * seconds, timer)  # the next takes longer
    assert made == [256, 512]


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_by_torch_are_those_of_the_type_that_is_named(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    product = benchmarks.torch_product(dtype, 64)
    out = product.run()
    kind = "int32" if dtype == "int8" else benchmarks.TORCH_DTYPES[dtype]
    assert out.dtype == getattr(torch, kind)  # type: ignore[attr-defined]
    assert tuple(out.shape) == (64, 64)  # type: ignore[attr-defined]
    assert out.any()  # type: ignore[attr-defined]
    assert product.operations == 524_288


# --- the GPU ----------------------------------------------------------------------------------


def test_memory_is_measured_by_torch_on_a_device() -> None:
    torch = pytest.importorskip("torch")
    bench, events = a_bench(Clock(), array_bytes=MIB, seconds=0.0)
    bench.timer = lambda work, calls: work() is None or calls * 1e-3
    with torch.inference_mode():
        benchmarks._measure_memory(bench, benchmarks._make_torch_accesses(bench))
    names = [data["name"] for _, data in events]
    assert names == ["memory.read", "memory.write", "memory.copy"]


def cuda_is_here() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


@pytest.mark.gpu
def test_a_gpu_is_measured(tmp_path: Path) -> None:
    if not cuda_is_here():
        pytest.skip("torch finds no CUDA device here")
    out = tmp_path / "gpu.json"
    done = CliRunner().invoke(
        grader, ["calibrate", "--quick", "--device", "cuda", "--out", str(out)]
    )
    assert done.exit_code == 0, done.output
    profile = read_profile(out)
    assert profile.gpu is not None
    on_gpu = {figure.name for figure in profile.figures if figure.device == "cuda"}
    assert {"matmul.fp32", "matmul.bf16", "memory.copy", "launch.enqueue"} <= on_gpu
    least = roofline_seconds(profile, flops=1e12, bytes_moved=0, dtype="bf16", device="cuda")
    assert least > 0


# --- the command ------------------------------------------------------------------------------


def names_of(profile: MachineProfile) -> set[str]:
    return {figure.name for figure in profile.figures}


def sections(text: str) -> Iterator[str]:
    for line in text.splitlines():
        assert len(line) <= 80, line
        assert "…" not in line, line
        yield line.strip()


@pytest.mark.thorough
def test_a_quick_run_measures_everything_and_keeps_it(tmp_path: Path) -> None:
    """One real run: every figure is there, positive, in its unit, and in the file."""
    pytest.importorskip("torch")
    out = tmp_path / "new" / "machine.json"
    done = CliRunner().invoke(grader, ["calibrate", "--quick", "--json", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert done.stdout == out.read_text()
    profile = read_profile(out)
    assert profile.id in done.stderr
    assert profile.quick
    assert profile.software.torch

    seen = profile.hardware
    told = {left.what for left in profile.left_out}
    assert len(profile.figures) + len(told) >= count_figures(
        plan_assignments(seen, "cpu", quick=True)
    )
    wanted = {
        *(f"matmul.{dtype}" for dtype in DTYPES),
        *(f"memory.{kind}" for kind in ("read", "write", "copy")),
        "call.python", "dispatch.numpy", "dispatch.torch",
    }  # fmt: skip
    assert wanted - names_of(profile) == set(), told
    for figure in profile.figures:
        assert figure.median > 0
        assert figure.count >= FEWEST
        assert figure.how.endswith(".")
        assert figure.unit == unit_of(figure.name)
    for kind in ("memory.read", "memory.copy", "matmul.fp32"):
        threads = {f.threads for f in profile.figures if f.name == kind}
        assert threads == {1, seen.usable_cpus}
    assert roofline_seconds(profile, flops=1e9, bytes_moved=1e6) > 0


@pytest.mark.thorough
def test_without_torch_numpy_is_measured_and_the_rest_is_named() -> None:
    heard: list[str] = []
    profile = calibrate(quick=True, torch=False, on_figure=lambda f: heard.append(f.name))
    assert heard == [f.name for f in profile.figures]
    assert {"matmul.fp64", "matmul.fp32", "memory.copy", "call.python"} <= names_of(profile)
    assert not names_of(profile) & {"matmul.bf16", "dispatch.torch"}
    assert {f.threads for f in profile.figures if f.name == "matmul.fp32"} == {
        1, profile.hardware.usable_cpus,
    }  # fmt: skip
    torch = [left for left in profile.left_out if "torch" in left.fix]
    assert ["dispatch.torch" in left.what for left in torch] == [True]
    assert profile.software.torch is None
    assert len(profile.figures) == count_figures(
        plan_assignments(profile.hardware, "cpu", quick=True, torch=False)
    )


def test_another_file_is_not_overwritten_and_nothing_is_measured_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibrating, "_run_worker", None)  # measuring would be a TypeError
    mine = tmp_path / "notes.json"
    mine.write_text('{"my": "notes"}')
    text = fails(capsys, "calibrate", "--out", mine)
    assert "would be overwritten" in text
    assert "--out" in text
    assert mine.read_text() == '{"my": "notes"}'


@pytest.mark.thorough
def test_a_gpu_that_is_not_there_is_an_error_before_all_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if cuda_is_here():
        pytest.skip("there is a CUDA device here")
    text = fails(capsys, "calibrate", "--device", "cuda", "--out", tmp_path / "machine.json")
    assert "the GPU can't be measured" in text
    assert "--device cuda" in text
    assert not list(tmp_path.iterdir())


@pytest.mark.thorough
def test_a_worker_that_dies_costs_its_figures_only(monkeypatch: pytest.MonkeyPatch) -> None:
    killed = "import os; os.kill(os.getpid(), 9)"
    real = calibrating._PROGRAM
    runs = iter([killed, real])
    base = MeasuringTask(quick=True, array_bytes=MIB)
    both = [base, dataclasses.replace(base, threads=2)]
    monkeypatch.setattr(calibrating, "plan_assignments", lambda *_, **__: both)
    run = calibrating._run_worker

    def one(assignment: MeasuringTask) -> Iterator[tuple[str, object]]:
        monkeypatch.setattr(calibrating, "_PROGRAM", next(runs))
        return run(assignment)

    monkeypatch.setattr(calibrating, "_run_worker", one)
    profile = calibrate(quick=True, torch=False)
    assert {f.threads for f in profile.figures} == {2}
    gone = [left for left in profile.left_out if left.what.endswith("with 1 threads")]
    assert [left.why for left in gone] == ["the measuring process ended with -9"]


def test_where_nothing_can_be_measured_there_is_no_profile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibrating, "_PROGRAM", "raise SystemExit('no can do')")
    text = fails(capsys, "calibrate", "--quick", "--out", tmp_path / "machine.json")
    assert "nothing could be measured: no can do" in text
    assert not list(tmp_path.iterdir())


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_stopping_it_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    mark = f"calibrate-{os.getpid()}-{time.monotonic_ns()}"
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    command = subprocess.Popen(
        [sys.executable, "-m", "grader", "calibrate", "--out", tmp_path / "machine.json"],
        env={**os.environ, "MARK": mark, "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
        text=True,
    )

    def ours() -> list[str]:
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in path.read_text(errors="replace"):
                    found.append(path.parent.name)
            except OSError:
                continue
        return found

    end = time.monotonic() + 60
    while len(ours()) < 2 and time.monotonic() < end:  # the command and its first worker
        time.sleep(0.05)
    assert len(ours()) >= 2
    command.send_signal(signal.SIGINT)
    _, said = command.communicate(timeout=60)
    assert command.returncode == 130
    assert "Traceback" not in said
    while ours() and time.monotonic() < end:
        time.sleep(0.05)
    assert ours() == []
    assert list(temporary.iterdir()) == []
    assert not (tmp_path / "machine.json").exists()


# --- the table --------------------------------------------------------------------------------


def a_wide_profile() -> MachineProfile:
    """One figure of every kind, with the longest names and numbers that there are."""
    names_ = [
        *(f"matmul.{dtype}" for dtype in (*DTYPES, "tf32")), "memory.triad",
        "launch.round-trip", "dispatch.numpy",
    ]  # fmt: skip
    made = [
        a_figure(name, value, threads=128, working_set=3 << 29, device=device, count=2000,
                 settled=False, q1=value / 9, q3=value * 99,
                 low=value / 20, high=value * 300,
                 best=value / 30 if unit_of(name) == "s" else value * 400)
        for name in names_ for device in ("cpu", "cuda")
        for value in [999.4e12 if unit_of(name) != "s" else 9.994e-7]
    ]  # fmt: skip
    made.append(a_figure("sweep.read", unit="B/s", best=110 * GB, threads=1))  # of version 0.1
    return a_profile(
        *made,
        device="cuda",
        gpu=Gpu(
            name="NVIDIA X", capability="9.0", memory_bytes=140 << 30,        ),
        hardware=dataclasses.replace(a_profile().hardware, load=3.0),
        left_out=(LeftOut(what="loopback", why="it is closed\x1b[2J", fix="open it"),),
    )  # fmt: skip


def test_the_table_fits_80_columns_and_hides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(calibrating, "calibrate", lambda *_, **__: a_wide_profile())
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(grader, ["calibrate"])
    assert done.exit_code == 0, done.output
    assert read_profile(tmp_path / "machine.json") == a_wide_profile()
    lines = list(sections(done.output))
    for section in ("Matrix products", "Matrix products (GPU)", "Memory", "Overheads"):
        assert section in lines
    assert "Test (R) [bold]CPU, x86_64" in lines  # not taken for markup
    assert any(line.startswith("fp32") and "999 TFLOP/s" in line for line in lines)
    assert "Other figures" in lines
    text = " ".join(lines)
    assert "The machine was busy (load 3.0 on 4 CPUs)" in text
    assert "could not be measured to within 3%" in text
    assert "not measured: loopback" in text
    assert "fix: open it" in text
    assert "\x1b" not in done.output


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (97.94e9, "FLOP/s", "97.9 GFLOP/s"),
        (999.6e3, "B/s", "1.00 MB/s"),
        (12.0, "B/s", "12.0 B/s"),
        (1.272e-6, "s", "1.27 µs"),
        (0.9996e-3, "s", "1.00 ms"),
        (3e-10, "s", "0.30 ns"),
        (2.5, "s", "2.50 s"),
    ],
)
def test_quantities_have_three_digits_and_a_prefix(value: float, unit: str, text: str) -> None:
    from grader.cli.profile_table import format_quantity

    assert format_quantity(value, unit) == text
