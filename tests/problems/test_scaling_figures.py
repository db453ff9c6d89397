"""Solutions of problems on layouts, scaling laws, and attention against figures that are known."""

from __future__ import annotations

import pytest

from tests.helpers.solutions import solution


@pytest.mark.parametrize(
    ("layers", "pp", "micro", "reductions", "messages"),
    [(80, 4, 16, 1280, 32), (32, 2, 8, 512, 16)],
)
def test_collectives_and_messages_of_a_stage(
    layers: int, pp: int, micro: int, reductions: int, messages: int
) -> None:
    layout = {"tp": 8, "pp": pp, "dp": 8, "micro": micro, "sequences": 1}
    model = {"layers": layers, "billions": 70, "hidden": 8192, "length": 4096}
    found = solution("parallelism/step-of-3d-parallelism").step({**layout, **model})
    assert found["reductions"] == reductions
    assert found["messages"] == messages


@pytest.mark.parametrize(("stages", "state"), [(4, 35), (1, 140)])
def test_model_state_of_70_billion_parameters(stages: int, state: float) -> None:
    module = solution("parallelism/pipeline-and-its-alternatives")
    assert module.state(70, tp=8, pp=stages, dp=1, sharding="plain") == pytest.approx(state)


@pytest.mark.parametrize(
    ("times", "micro", "step", "efficiency"),
    [([10, 10, 10, 14], 16, 254, 0.6929134), ([8, 8, 8, 9], 32, 312, 0.8461538)],
)
def test_step_of_an_unbalanced_pipeline(
    times: list[float], micro: int, step: float, efficiency: float
) -> None:
    module = solution("profiling/unbalanced-pipeline-profile")
    assert module.flow(times, micro) == pytest.approx(step)
    assert module.busy(times, micro) / step == pytest.approx(efficiency)


def test_compute_optimal_size_for_the_budget_of_chinchilla() -> None:
    law = {"floor_loss": 1.8172, "big_a": 482.01, "big_b": 2085.43, "alpha": 0.3478, "beta": 0.3658}
    size = solution("training/scaling-law-fit").best(law, 5.76e23)
    assert size == pytest.approx(70e9, rel=0.1)
    assert 5.76e23 / 6 / size == pytest.approx(1.4e12, rel=0.1)


def test_zig_zag_split_gives_all_ranks_equal_work_in_each_step() -> None:
    steps = solution("parallelism/ring-attention").steps({r: (r, 7 - r) for r in range(4)})
    assert steps == [[3] * 4, [2] * 4, [2] * 4, [2] * 4]


def test_tiled_backward_pass_takes_two_and_a_half_times_the_flops_of_the_forward_pass() -> None:
    sizes = {"heads": 32, "length": 4096}
    vectors = dict.fromkeys(("v1", "v2", "o1", "o2", "g1", "g2"), 1.0)
    hand = {"score": 1.0, "log_sum": 2.0, **vectors}
    found = solution("memory-math/tiled-attention-backward").solve({**sizes, **hand})
    forward = 4 * 32 * 4096**2 * 128 / 1e12
    assert (found["methods"][2][1] - forward) / forward == pytest.approx(2.5)


def test_integer_product_of_two_quantized_vectors() -> None:
    x = [[2.0, 0.9]]
    w = [[0.6, -1.0]]
    found = solution("compression/activation-smoothing").integer_product(x, w)
    assert found == pytest.approx(0.2992125984)


@pytest.mark.parametrize(
    ("stages", "micro", "chunks", "ratio"),
    [(4, 8, 1, 3 / 8), (4, 8, 2, 3 / 16), (8, 64, 4, 7 / 256)],
)
def test_bubble_of_interleaved_stages_in_megatron(
    stages: int, micro: int, chunks: int, ratio: float
) -> None:
    """Narayanan et al. (2021) divide the bubble by the ideal time: (p - 1) / (v m)."""
    share = solution("parallelism/pipeline-bubble").interleaved(stages, micro, chunks)
    assert share / (1 - share) == pytest.approx(ratio)


@pytest.mark.parametrize(("ranks", "factor"), [(2, 1.0), (8, 1.75), (16, 1.875)])
def test_bus_bandwidth_factor_of_an_all_reduce_in_nccl_tests(ranks: int, factor: float) -> None:
    """doc/PERFORMANCE.md of NVIDIA/nccl-tests, "Summary": 2 * (n - 1) / n."""
    sent, _ = solution("parallelism/ring-all-reduce").ring(ranks, 1.0)
    assert sent == pytest.approx(factor)
