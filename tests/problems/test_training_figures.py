"""Solutions of problems on optimizers and fine-tuning against figures that are known."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from tests.helpers.solutions import solution


def solve(name: str, **values: Any) -> dict[str, Any]:
    found: dict[str, Any] = solution(f"training/{name}").solve(values)
    return found


def test_noise_of_a_batch_256_times_as_large() -> None:
    assert solution("training/gradient-noise").epoch(1, 256, 256)[0] == pytest.approx(1 / 16)


@pytest.mark.parametrize(
    ("rate", "batch", "larger", "scaled"), [(0.1, 128, 4096, 3.2), (0.3, 256, 8192, 9.6)]
)
def test_linear_scaling_of_the_learning_rate(
    rate: float, batch: int, larger: int, scaled: float
) -> None:
    found = solution("training/gradient-noise").learning_rate(rate, 1, 1, batch, larger)
    assert found == pytest.approx(scaled)


@pytest.mark.parametrize(("hidden", "layers", "lora"), [(768, 12, 0.3), (1024, 24, 0.8)])
def test_lora_on_queries_and_values_of_roberta(hidden: int, layers: int, lora: float) -> None:
    found = fine_tuning(hidden=hidden, layers=layers)["counts"]
    assert found[4][0] / 1e3 == pytest.approx(lora, abs=0.05)


def test_adapters_prompts_and_biases_of_bert() -> None:
    found = fine_tuning(hidden=768, layers=12)["counts"]
    assert found[0][0] / 110e3 == pytest.approx(0.0009, abs=0.00005)
    assert found[1][0] == pytest.approx(2379.264)
    assert found[2][0] == pytest.approx(15.36)


def fine_tuning(**shape: int) -> dict[str, list[list[float]]]:
    sizes = {"bottleneck": 64, "rank": 8, "virtual": 20, "classes": 2, "millions": 110}
    run = {"tasks": 1, "tokens": 128, "part": 2}
    found: dict[str, list[list[float]]] = solution(
        "training/parameter-efficient-fine-tuning"
    ).solve({**sizes, **shape, **run})
    return found


@pytest.mark.parametrize(("delay", "limit"), [(1, 1), (2, (math.sqrt(5) - 1) / 2), (4, 0.3472964)])
def test_stable_rates_of_stale_gradients(delay: int, limit: float) -> None:
    assert solution("training/gradient-staleness").largest_stable_rate(delay) == pytest.approx(
        limit
    )


def test_rates_of_stale_gradients() -> None:
    module = solution("training/gradient-staleness")
    assert [module.scaled(0.1, t) for t in (0, 1, 4, 8)] == pytest.approx([0.1, 0.1, 0.025, 0.0125])
    assert module.bounded(0.01, 0.1, (0.3, 0.4)) == pytest.approx(0.04)
    assert module.bounded(0.01, 0.1, (0, 0.1)) == pytest.approx(0.1)


def test_staleness_of_equal_workers() -> None:
    found = solution("training/gradient-staleness").staleness([10] * 8, 100)
    assert [worker[1:] for worker in found] == [[7] * 9] * 8


@pytest.mark.thorough
def test_activations_of_which_a_tenth_stays_fp32() -> None:
    sizes = {"half": 57.6, "kept": 6.4, "masks": 0, "stream": 0, "millions": 1}
    run = {"layers": 1000, "samples": 1, "micro": 1, "percent": 50, "speedup": 2}
    found = solution("training/memory-of-a-training-step").solve({**sizes, **run, "memory": 100})
    assert found["activations"][:2] == [[64.0], [35.2]]


def test_prompt_with_eight_examples() -> None:
    prompt = {"instruction": 40, "example": 120, "question": 60, "shots": 8}
    model = {"billions": 8, "layers": 32, "heads": 8}
    tuning = {"data": 10, "epochs": 1, "batch": 1}
    found = solve("in-context-learning-cost", **prompt, **model, **tuning)
    assert found["prompts"] == [[100, 13.1072], [1060, 138.93632]]
    assert found["prefill"] == pytest.approx(15.36)


def test_updates_of_adaptive_optimizers() -> None:
    updates = solution("training/adaptive-step-sizes").updates
    steady = updates(torch.optim.Adagrad, [3.0] * 100, lr=0.5, eps=0)
    assert steady[-1] == pytest.approx(0.05)
    assert updates(torch.optim.Adagrad, [2.0, 1.0], lr=0.5, eps=0) == pytest.approx(
        [0.5, 0.2236067977]
    )
    assert updates(torch.optim.Adadelta, [1, 0.5], lr=1, rho=0.9, eps=1e-6) == pytest.approx(
        [0.003162261849, 0.002085129862]
    )
    limit = {"lr": 0.1, "eps": 0, "betas": (0.0, 1 - 1e-9)}
    adam = updates(torch.optim.Adam, [1, -2, 0.5, 1.5], **limit)
    assert adam[-1] == pytest.approx(0.1095445115)
    adagrad = updates(torch.optim.Adagrad, [1, -2, 0.5, 1.5], lr=0.1, eps=0)
    assert adagrad[-1] == pytest.approx(0.05477225575)


def test_two_steps_of_momentum() -> None:
    shape = {"curvature": 3, "product": 0.3, "mu": 0.9, "start": 1.0}
    found = solve("momentum-on-a-quadratic", **shape, steps=5, other=0.9, cut=10)
    assert found["two_steps"] == [
        pytest.approx([0.7, 0.22]),
        pytest.approx([0.7, 0.301]),
        pytest.approx([0.43, -0.0581]),
    ]
    assert found["plain"] == pytest.approx(0.33614 / 2)
    assert solution("training/momentum-on-a-quadratic").accumulated(0.9, 1) == pytest.approx(10)
