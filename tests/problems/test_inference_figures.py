"""Solutions of problems on inference and training loops against figures that are known."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.solutions import solution


class Given(dict[str, Any]):
    """What a solution is given, on a GPU with round numbers."""

    def __init__(self, facts: dict[str, float], **values: Any) -> None:
        super().__init__({"gpu": "any", **values})
        self.facts = facts

    def fact(self, item: str, field: str, unit: str) -> float:
        return self.facts[field]


def test_a_product_that_turns_memory_bound_in_bf16() -> None:
    facts = {"fp32": 19.5e12, "tf32_dense": 156e12, "bf16_dense": 312e12, "memory_bandwidth": 2e12}
    found = solution("runtime-sanity/precision-and-the-roofline").solve(
        Given(
            facts,
            tokens=64,
            d_in=4096,
            d_out=4096,
            products=70,
            elementwise=0,
            billions=7,
            cached=2000,
            batch=1,
        )
    )
    times = [time for (time,) in found["by_format"]]
    assert times[0] == pytest.approx(110.12737)
    assert times[2] == pytest.approx(17.301504)
    assert times[0] / times[2] == pytest.approx(6.3651904)
    assert found["limits"] == "changes-early"


@pytest.mark.parametrize(("batch", "speedup"), [(1, 3.8787879), (100, 1.5), (256, 1.0)])
def test_four_bit_weights_help_small_batches(batch: int, speedup: float) -> None:
    facts = {"bf16_dense": 300e12, "fp32": 1e30, "memory_bandwidth": 2e12}
    found = solution("runtime-sanity/w4a16-by-batch").solve(
        Given(
            facts,
            billions=7,
            tables=0,
            group=160,  # 4.125 bits per weight
            operations=1,
            tile=1024,
            middle=batch,
            large=batch,
            prompt_tokens=1,
            asks=1,
        )
    )
    assert found["gain"][1] == [pytest.approx(speedup)]


@pytest.mark.parametrize(
    ("billions", "tokens", "steps", "seconds", "tflop"),
    [
        (2, 1024, 50, (2.048, 0.68266667), (4.096, 204.8)),
        (1, 256, 1000, (0.256, 1.7066667), (0.512, 512)),
    ],
)
def test_diffusion_trades_work_for_fewer_passes(
    billions: float,
    tokens: int,
    steps: int,
    seconds: tuple[float, float],
    tflop: tuple[float, float],
) -> None:
    found = solution("runtime-sanity/diffusion-and-autoregression")
    facts = {"bf16_dense": 300e12, "memory_bandwidth": 2e12}
    given = Given(
        facts,
        efficiency=1,
        share=1,
        billions=billions,
        tokens=tokens,
        steps=steps,
        replicas=1,
        batch=1,
        queue=1,
    )
    rows = found.solve(given)["single"]
    assert [row[0] / 1e3 for row in rows] == [pytest.approx(s, rel=1e-6) for s in seconds]
    assert [row[1] for row in rows] == [pytest.approx(t, rel=1e-6) for t in tflop]


def test_a_batch_below_the_ridge_takes_as_long_as_half_of_it() -> None:
    facts = {"bf16_dense": 312e12 / 0.7, "memory_bandwidth": 2e12 / 0.85}
    given = Given(
        facts,
        billions=1,
        wbytes=2,
        arrivals=100_000,
        deadline=8,
        shrink=4,
        before=128,
        after=64,
        regime=1,
    )
    module = solution("runtime-sanity/batch-under-a-deadline")
    assert module.solve(given)["smaller"] == "useless"
    assert module.solve(given)["ridge"] == 157  # 156 takes as long for both
    assert module.solve(Given(facts, **{**given, "before": 512, "after": 256}))["smaller"] == "free"


def test_sums_of_gradients_that_are_never_cleared() -> None:
    pytest.importorskip("torch")
    module = solution("training/training-loop-faults")
    for rate, gradient, updates, right, moved in [
        (0.1, 1, 4, 0.4, 1.0),
        (0.01, 2.5, 10, 0.25, 1.375),
    ]:
        found = module.solve(
            {
                "rate": rate,
                "gradient": gradient,
                "m": 4,
                "updates": updates,
                "billions": 1,
                "samples": 60_000,
                "micro": 125,
                "epochs": 3,
                "first": 1,
                "second": 1,
                "adam_asks": 1,
                "between_asks": 1,
            }
        )
        assert found["moved"][1] == [pytest.approx(moved)]
        assert found["moved"][0] == [pytest.approx(4 * right)]
        assert found["steps"] == 360
        assert found["memory"][2] == [pytest.approx(16)]


def test_the_expected_tokens_of_a_round() -> None:
    # Leviathan, Kalman, and Matias (2023): (1 - a^(k + 1)) / (1 - a)
    module = solution("runtime-sanity/speculative-decoding")
    for rate, k in [(0.5, 1), (0.6, 2), (0.8, 5), (0.9, 10)]:
        assert module.mean_tokens(rate, k) == pytest.approx((1 - rate ** (k + 1)) / (1 - rate))


@pytest.mark.thorough
def test_compilations_that_a_counting_backend_sees() -> None:
    pytest.importorskip("torch")
    module = solution("runtime-sanity/graph-breaks-and-recompilation")
    four = tuple((n, 32) for n in (4, 4, 5, 6, 6))
    assert module.compilations(four, False) == 3
    assert module.compilations((*four, (7, 32)), None) == 2
    assert module.graphs(4, 2, 4) == 2
