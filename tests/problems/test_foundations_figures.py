"""Solutions of problems on foundations and number formats against figures that are known."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.helpers.solutions import solution


def solve(path: str, **values: Any) -> dict[str, Any]:
    found: dict[str, Any] = solution(path).solve(values)
    return found


def test_norms_of_gpt_2() -> None:
    model = {"hidden": 768, "ffn": 3072, "layers": 12, "placement": "pre-norm"}
    machine = {"rate": 400, "bandwidth": 3, "per_element": 8, "smaller": True}
    found = solve("foundations/transformer-block-structure", **model, **machine)
    assert found["norm_parameters"] == 25 * 2 * 768


def test_attention_over_two_orthogonal_keys() -> None:
    vectors = {"q1": 2**0.5, "q2": 0, "q3": 0, "q4": 0}  # √2 / √4 is the score of 1 / √2
    keys: dict[str, float] = {f"{name}{i}": 0 for name in "abc" for i in range(1, 5)}
    keys |= {"a1": 1, "b2": 1, "c1": -1e9}  # the third position has no weight
    values = {"x1": 1, "y1": 2, "x2": 3, "y2": 4, "x3": 0, "y3": 0}
    layer = {"hidden": 8192, "heads": 64, "ranks": 8, "query_sd": 1, "key_sd": 1}
    found = solve(
        "foundations/scaled-dot-product-attention",
        flaw_kind="width",
        **vectors,
        **keys,
        **values,
        **layer,
    )
    assert found["weights"] == [
        [pytest.approx(66.97615493)],
        [pytest.approx(33.02384507)],
        [pytest.approx(0)],
    ]
    assert found["output"] == [[pytest.approx(1.660476901)], [pytest.approx(2.660476901)]]
    assert found["rows"] == 1024
    assert found["ratio"] == pytest.approx(0.01104854 / 0.08838835)


@pytest.mark.slow
def test_first_loss_of_gpt_2() -> None:
    run = {"later": 3, "deviation": 2, "tokens": 1024, "micro_batches": 8}
    found = solve(
        "foundations/loss-at-initialization", vocabulary=50257, depth=10, weight=1.5, **run
    )
    assert found["first_loss"] == pytest.approx(10.824905)
    assert found["gradient"] == [
        [pytest.approx(math.log10(5.499367e-05))],
        [pytest.approx(math.log10(57.66504))],
    ]


def test_merged_layers_and_a_shared_kernel() -> None:
    module = solution("foundations/linear-and-nonlinear-layers")
    assert module.rank([512, 2048, 64, 2048, 512]) == 64
    assert module.fewest([512, 2048, 64, 2048, 512]) == 2 * 512 * 64
    assert module.as_matrix(32, 3)[0] == pytest.approx(9 / 1024)


def test_limits_of_normally_distributed_weights() -> None:
    module = solution("numerics/quantization-range-setting")
    assert module.best_limit(4, grid=(1.5, 2, 2.5, 3, 3.5), points=2000) == 2.5


def test_a_range_from_batch_normalization() -> None:
    data = {"x1": -0.9, "x2": -0.2, "x3": 0.1, "x4": 0.8, "x5": 0, "outlier": 12, "clip": 1}
    logits = {"z1": 3, "z2": 1, "z3": 0.2, "u1": 2.5, "u2": 1, "u3": 0, "v1": 3, "v2": 1, "v3": 0.2}
    norm = {"beta1": 0.5, "gamma1": 1, "beta2": -0.2, "gamma2": 0.8, "beta3": 0, "gamma3": 0}
    found = solve(
        "numerics/quantization-range-setting", bits=4, count=1, alpha=6, **data, **logits, **norm
    )
    assert found["logits"] == [
        [pytest.approx(0.29), pytest.approx(0.5631780514)],
        [0, pytest.approx(0.5477372538)],
    ]
    assert found["least"] == pytest.approx(0.5477372538)
    assert found["from_norm"] == pytest.approx(12 / 255)
    assert found["relu"] == pytest.approx(12 / 6.5)


def test_finite_patterns_of_bf16_and_fp16() -> None:
    module = solution("numerics/positions-in-16-bits")
    counts = {
        name: int(module.patterns(kind).isfinite().sum()) for name, kind in module.FORMATS.items()
    }
    assert counts == {"bf16": 65280, "fp16": 63488}


def test_limits_of_fp16() -> None:
    module = solution("numerics/infinities-and-nan")
    assert module.threshold(lambda a: a * a) == pytest.approx(255.96875, rel=1e-6)
    assert module.threshold(lambda a: a) == pytest.approx(65520)
    assert module.outcome(module.half(6e-8)) == "finite"
    assert module.outcome(module.half(1e-8)) == "zero"


@pytest.mark.parametrize(
    ("rounding", "step", "error"),
    [(2.220446e-16, 6.0554545e-06, 3.6668529e-11), (1.1920929e-07, 0.0049215666, 2.4221818e-05)],
)
def test_best_step_of_a_central_difference(rounding: float, step: float, error: float) -> None:
    least = solution("foundations/gradient-check").least
    found = least(lambda h: h**2 / 2 + rounding / h)
    assert found[0] == pytest.approx(step, rel=1e-4)
    assert found[1] == pytest.approx(1.5 * error)
