"""Solutions of problems on CUDA, integers, and block formats against figures that are known."""

from __future__ import annotations

import numpy as np
import pytest

from grader.bank.folders import Bank
from grader.draw import draw, sample_seed
from grader.kinds.hidden.solutions import Given
from grader.kinds.plan import PlanKey
from tests.helpers.solutions import solution


def test_architectures_that_cubins_and_ptx_run_on() -> None:
    images = solution("cuda-threading/cuda-builds-and-contexts").images
    cubins, sources = images("8.0+PTX")
    assert 86 in cubins
    assert 90 not in cubins
    assert 90 in sources
    cubins, sources = images("8.6+PTX")
    assert 80 not in cubins | sources


@pytest.mark.parametrize("seed", range(12))
def test_a_launch_is_refused_exactly_if_no_block_is_resident(seed: int) -> None:
    bank, module = Bank.open(), solution("cuda-threading/tile-and-launch")
    problem = bank.problem("tile-and-launch")
    key = draw(problem, sample_seed(problem.id, seed), bank.facts).keys["launch"]
    assert isinstance(key, PlanKey)
    given = Given(key.draw.parameters, bank.facts)
    for judged in key.judged_plans:
        assert judged.feasible == (module.run(given, **judged.plan) is not None), judged.plan


def test_chunks_in_three_engines() -> None:
    module = solution("cuda-threading/streams-and-async-collectives")
    batch = {"load": 12, "compute": 20, "store": 8, "fixed": 0}
    chunks = module.chunk_program(batch, 4)
    assert module.makespan(chunks)[-1] == 25
    assert module.makespan([("one", *rest) for _, *rest in chunks])[-1] == 40


@pytest.mark.parametrize(("forward", "reduce", "longer"), [(30, 20, 30), (12, 20, 20)])
def test_overlap_of_an_all_reduce(forward: int, reduce: int, longer: int) -> None:
    module = solution("cuda-threading/streams-and-async-collectives")
    step = {"forward": forward, "reduce": reduce, "after": 0, "call": 0.02}
    assert module.gloo(step)[0] == longer
    assert module.nccl(step) == [pytest.approx(0.04), longer]


def test_numbers_of_e2m1() -> None:
    module = solution("numerics/microscaling-formats")
    magnitudes = module.numbers(2, 1, 1)
    assert magnitudes == [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    ties = {0.25: 0, 0.75: 1, 2.5: 2, 3.5: 4, 5: 4, 7.9: 6}
    for x, rounded in ties.items():
        assert magnitudes[module.nearest(x, magnitudes)] == rounded


@pytest.mark.parametrize(
    ("block", "scale", "back"),
    [
        ([0.1, -0.7, 2.3, 5.0, -11.0, 0.02, 3.3, 0.9], 2, [0, -1, 2, 4, -12, 0, 3, 1]),
        ([7.9, 1.0, 0.3], 1, [6, 1, 0.5]),
    ],
)
def test_blocks_of_the_microscaling_specification(
    block: list[float], scale: float, back: list[float]
) -> None:
    module = solution("numerics/microscaling-formats")
    x = np.zeros(32, dtype=np.float32)
    x[: len(block)] = block
    codes, exponents = module.mx_quantize(x)
    assert 2.0 ** int(exponents[0]) == scale
    magnitudes = np.array(module.numbers(2, 1, 1))
    found = np.where(codes < 8, 1, -1) * magnitudes[codes % 8] * scale
    assert found[: len(block)].tolist() == back


def test_a_symmetric_product_of_two_weights() -> None:
    module = solution("numerics/integer-matrix-products")
    w, x = np.array([[76, -127]], dtype=np.int8), np.array([[127], [57]], dtype=np.int8)
    codes, result = module.symmetric_product(w, x, np.array([1 / 127], dtype=np.float32), 2 / 127)
    assert codes.tolist() == [[2413]]
    assert result[0, 0] == pytest.approx(0.2992125984)


def test_an_affine_product_of_three_weights() -> None:
    module = solution("numerics/integer-matrix-products")
    w = np.array([[10, -20, 30]], dtype=np.int8)
    x = np.array([[100], [50], [200]], dtype=np.uint8)
    raw = w.astype(np.int32) @ x.astype(np.int32)
    product = module.affine_product
    assert product.finish(raw, x, 5, product.ahead(w, 5, 64)).tolist() == [[3930]]


@pytest.mark.parametrize(
    ("low", "high", "bits", "step"), [(-1.2, 2, 4, 0.2133333333), (0, 6, 8, 0.02352941176)]
)
def test_affine_steps(low: float, high: float, bits: int, step: float) -> None:
    module = solution("numerics/integer-matrix-products")
    vectors = {"inner": 3, "sum_w": 20, "sum_x": 350, "dot": 6000, "zw": 5, "zx": 64}
    scales = {"scale_w": 0.02, "scale_x": 0.05}
    codes = {"weight_type": "int8", "input_type": "int8", "accumulator": 32}
    activations = {"low": low, "high": high, "bits": bits, "situation": ""}
    found = module.solve({**vectors, **scales, **codes, **activations})
    assert found["steps"][1] == [pytest.approx(step)]
    assert found["by_hand"] == pytest.approx(3.93)
    assert found["longest"] == 131071
