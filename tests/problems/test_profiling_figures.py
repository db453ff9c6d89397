"""Solutions of problems on profiling against figures that are known."""

from __future__ import annotations

import pytest

from tests.helpers.solutions import solution


def test_cpu_time_of_a_thread_that_mostly_waits() -> None:
    clocks = solution("profiling/cpu-time-and-elapsed-time").Clocks()
    clocks.run([["run"] * 4 + ["wait"] * 6])
    assert (clocks.elapsed, clocks.cpu) == (10, 4)


def test_cpu_time_of_four_threads_that_compute() -> None:
    clocks = solution("profiling/cpu-time-and-elapsed-time").Clocks()
    clocks.run([["run"] * 5] * 4)
    assert (clocks.elapsed, clocks.cpu) == (5, 20)


@pytest.mark.parametrize(
    ("rates", "expected"),
    [([900, 1400, 5000, 1100], 900), ([1800, 1400, 5000, 1100], 1100)],
)
def test_a_faster_disk_exposes_the_gpu(rates: list[float], expected: float) -> None:
    times = [1 / rate for rate in rates]
    assert solution("profiling/input-pipeline-bottleneck").throughput(times) == pytest.approx(
        expected
    )


def test_standard_error_of_500_of_2000_samples() -> None:
    sampling = solution("profiling/sampling-profile")
    assert sampling.standard_error(sampling.recording(2000, 500)) == pytest.approx(0.009682458366)


def test_span_of_two_loaders_that_join() -> None:
    graph = solution("profiling/work-and-span")
    times = {"load": 4, "tok": 2, "fa": 6, "fb": 3, "join": 1}
    inputs = {"load": (), "tok": (), "fa": ("load",), "fb": ("tok",), "join": ("fa", "fb")}
    assert graph.span(inputs, times) == 11
    two = graph.greedy(inputs, times, 2, {task: n for n, task in enumerate(times)})
    assert 11 <= two <= 13.5


@pytest.mark.parametrize(
    ("width", "rate", "share"), [(128, 4096, 0.5), (128, 8192, 1), (64, 4096, 1)]
)
def test_exponentials_against_products_on_hopper(width: int, rate: int, share: float) -> None:
    product, exponentials = solution("profiling/attention-exponentials").tile_clocks(width, rate, 1)
    assert exponentials / product == pytest.approx(share)


def test_overlap_hides_the_shorter_of_two() -> None:
    attention = solution("profiling/attention-exponentials")
    assert attention.overlapped(2048, 1024) == pytest.approx(2048)
    assert attention.overlapped(512, 1024) == pytest.approx(1024)


def test_rate_of_a_measured_product() -> None:
    roofs = solution("profiling/measured-roofs")
    assert roofs.product_flops(1024) / 0.01369 == pytest.approx(156.865e9, rel=1e-4)


def test_l2_bounds_a_kernel_with_little_memory_traffic() -> None:
    roofs = solution("profiling/measured-roofs")
    levels = [(5e11, 15e12), (3e11, 5e12), (5e10, 1.5e12)]
    times = [roofs.time_of(moved, rate) for moved, rate in levels] + [roofs.time_of(1e12, 40e12)]
    assert 1e12 / max(times) == pytest.approx(16.666667e12)
