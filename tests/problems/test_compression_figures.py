"""Solutions of problems on pruning, LoRA, and GaLore against figures that are known."""

from __future__ import annotations

import pytest

from grader.bank.folders import Bank
from grader.figures.placing import explanation_figures
from grader.release.rendering import draw_sample
from tests.helpers.solutions import solution


@pytest.mark.parametrize(
    ("optimizer", "power", "ratio"), [("SGD", 1, 16), ("SGD", 0.5, 1), ("Adam", 1, 1)]
)
def test_first_steps_of_lora_at_rank_4_and_64(optimizer: str, power: float, ratio: float) -> None:
    change = solution("compression/lora-rank-scaling").change
    found = [change(optimizer, 16 / rank**power, rank) for rank in (4, 64)]
    assert found[0] / found[1] == pytest.approx(ratio)


def test_rslora_with_adam_at_16_times_the_rank() -> None:
    change = solution("compression/lora-rank-scaling").change
    assert change("Adam", 2, 64) / change("Adam", 8, 4) == pytest.approx(128 / 32)


@pytest.mark.thorough
def test_half_of_the_channels_of_a_layer() -> None:
    layer = {"c1": 128, "c2": 256, "c3": 256, "s1": 28, "s2": 28, "s3": 28}
    work = solution("compression/channel-pruning").work
    assert work(layer, 0.5)[1] == 57802752
    assert work(layer, 0.5)[1] / work(layer, 1)[1] == 0.25


def test_two_of_six_channels_by_their_scales() -> None:
    scales = dict(enumerate([0.9, -0.02, 0.4, 0.05, -0.7, 0.3]))
    assert solution("compression/channel-selection-criteria").slimmed(scales, 2) == {1, 3}


def test_soft_threshold() -> None:
    soft_threshold = solution("compression/channel-selection-criteria").soft_threshold
    found = [soft_threshold(w, 0.1) for w in (0.5, -0.03, 0.08, -0.9)]
    assert found == pytest.approx([0.4, 0, 0, -0.8])


def test_loss_of_three_channels() -> None:
    losses = solution("compression/channels-by-regression").losses
    found = losses([3, 1], [[1, 2, 0.1], [1, -0.1, 0.2]], [1, 0.5, 0], 1)
    assert found[1] == pytest.approx(2.5025)


def test_missing_keys_of_24_layers() -> None:
    keys = solution("compression/lora-injection").keys
    model = {"layers": 24, "biases": 0}
    assert keys(model, ["q_proj", "v_proj"], nested=False) == [96, 0]
    assert keys({"layers": 1, "biases": 1}, ["q_proj"], nested=True) == [4, 2]


@pytest.mark.parametrize(
    ("m", "n", "rank", "adam", "galore"),
    [(4096, 11008, 256, 90177536, 6684672), (4096, 4096, 128, 33554432, 1572864)],
)
def test_optimizer_state_of_galore(m: int, n: int, rank: int, adam: int, galore: int) -> None:
    assert solution("compression/galore-step").optimizer_state(m, n, rank) == (adam, galore)


def test_svds_and_ranks_of_galore() -> None:
    module = solution("compression/galore-step")
    assert 224 * len(module.projectors(10000, 200)) == 11200
    assert 224 * len(module.projectors(10000, 1000)) == 2240
    assert module.rank_of_change(50 * 200, 200, 8, 512, 8) == 400


def test_gathered_gradient_of_one_matrix() -> None:
    received = solution("parallelism/galore-sharded-gradients").received
    assert received([2 * 4096 * 11008], 0, 8) == 90177536 * 7 / 8


def test_galore_draws_the_shards_of_the_right_answer() -> None:
    bank, drawn = Bank.open(()), set()
    for number in range(8):
        variant = draw_sample(bank, "galore-sharded-gradients", number)
        (figure,) = explanation_figures(variant)
        drawn.add((variant.draw.parameters["from_left"], "blocks of columns" in figure.alt))
    assert drawn == {(True, True), (False, False)}
