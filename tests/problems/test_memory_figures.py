"""Solutions of problems on memory, peaks, and compression against figures that are known."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.helpers.solutions import solution


class Given(dict[str, Any]):
    """What a solution is given, with facts under the name of their field."""

    def fact(self, item: str, field: str, unit: str) -> object:
        return self[field]


def solve(path: str, **values: Any) -> dict[str, Any]:
    found: dict[str, Any] = solution(path).solve(Given(values))
    return found


@pytest.mark.parametrize(
    ("experts", "chosen", "tokens", "read"),
    [(8, 2, 1, 2), (8, 2, 8, 7.1990967), (64, 4, 64, 62.971175)],
)
def test_experts_that_a_batch_reads(experts: int, chosen: int, tokens: int, read: float) -> None:
    distinct = solution("memory-math/moe-weight-traffic").distinct
    assert distinct(experts, chosen, tokens) == pytest.approx(read)


def test_parameters_of_mixtral_8x7b() -> None:
    shape = {"layers": 32, "hidden": 4096, "ffn": 14336, "experts": 8, "chosen": 2, "shared": 1.6}
    use = {"width": 2, "gpus": 2, "chip": "any", "goal": 90, "some": 3}
    rates = {"memory_bandwidth": 3.35e12, "bf16_dense": 989.4e12}
    batches = {"first": 1, "second": 2, "third": 8}
    found = solve("memory-math/moe-weight-traffic", **shape, **use, **rates, **batches)
    assert found["stored"] == pytest.approx(2 * 46.7, rel=0.001)
    assert found["active"] == pytest.approx(12.9, rel=0.005)
    assert found["nearly_all"] == 9


def test_offloading_ten_billion_parameters() -> None:
    hardware = {"copy": 25, "host": 100, "chunks": 8}
    found = solve("memory-math/optimizer-offload", billions=10, micro=1, compute=0.5, **hardware)
    assert found["host_state"] == 140
    assert found["in_sequence"] == pytest.approx(0.5 + 0.8 + 2.8 + 0.8)


def test_flops_and_parameters_of_gpt_2_xl() -> None:
    shape = {"layers": 48, "hidden": 1600, "heads": 25, "ffn": 6400, "vocabulary": 50257}
    run = {"gpus": 1, "mfu": 50, "sequences": 1024, "steps": 400_000}
    chip = {"chip": "any", "rate": "fp32", "fp32": 19.5e12, "memory": 80e9}
    found = solve(
        "memory-math/decoder-training-budget", context=1024, same_batch=True, **shape, **run, **chip
    )
    assert found["forward_pass"] == pytest.approx(4.513, rel=0.001)
    norms = (2 * 48 + 1) * 1600
    assert found["model_state"] == pytest.approx(16 * (2_127_057_600 - norms) / 1e9)


@pytest.mark.parametrize(
    ("chip", "fp32", "fp64"),
    [
        ((6, 7, 2, 4, 64, 32, 1.53), 15.7, 7.8),  # V100
        ((8, 8, 2, 20, 64, 32, 1.41), 19.5, 9.7),  # A100
        ((8, 9, 2, 12, 128, 64, 1.98), 66.9, 33.5),  # H100 SXM
        ((8, 9, 2, 30, 128, 64, 1.755), 51.2, 25.6),  # H100 PCIe
        ((7, 6, 2, 2, 128, 2, 1.695), 35.6, 0.556),  # RTX 3090
        ((7, 6, 2, 12, 128, 2, 1.695), 31.2, 0.488),  # A10
        ((12, 6, 2, 2, 128, 2, 2.52), 91.6, 1.431),  # L40S
    ],
)
def test_peaks_of_gpus(chip: tuple[float, ...], fp32: float, fp64: float) -> None:
    names = ("gpcs", "tpcs", "tpc_sms", "disabled", "lanes", "doubles", "gpu_clock")
    cpu = {"cores": 8, "clock": 3, "vector": 256, "units_per_core": 2, "bandwidth": 100}
    numbers = dict(zip(names, chip, strict=True))
    found = solve("memory-math/peak-from-units", degree=16, **cpu, **numbers)
    assert found["gpu_peaks"] == [
        [pytest.approx(fp32, rel=0.006)],
        [pytest.approx(fp64, rel=0.006)],
    ]
    assert found["cpu_peak"] == pytest.approx(768)


def test_what_vectorization_gains() -> None:
    gpu = {"gpcs": 1, "tpcs": 1, "tpc_sms": 1, "disabled": 0, "lanes": 1, "doubles": 1}
    cpu = {"cores": 10, "clock": 2, "vector": 256, "units_per_core": 2, "bandwidth": 200}
    module = "memory-math/peak-from-units"
    assert solve(module, degree=2, gpu_clock=1, **cpu, **gpu)["vector_gain"] == pytest.approx(1.25)
    assert solve(module, degree=200, gpu_clock=1, **cpu, **gpu)["vector_gain"] == pytest.approx(8)


def test_loading_from_many_files() -> None:
    imagenet = {"files": 1_281_167, "size": 110, "iops": 5000, "bandwidth": 0.55, "requests": 1}
    node = {"gpus": 1, "batch": 256, "step": 400, "preparing": 5, "loaders": 4, "first": 10}
    found = solve("memory-math/small-file-input", **imagenet, **node)
    assert found["read_all"] == pytest.approx(256.2334 / 60)
    assert found["workers_needed"] == 4
    quick = {**imagenet, "iops": 1e9, "bandwidth": 1e6}
    one = {"gpus": 1, "batch": 6, "step": 50, "preparing": 5, "loaders": 1, "first": 100}
    assert solve("memory-math/small-file-input", **quick, **one)["first_steps"] == pytest.approx(
        5.03
    )


def test_convolutions_of_resnet() -> None:
    stem = {"side": 224, "inputs": 3, "outputs": 64, "kernel": 7, "stride": 2, "padding": 3}
    block = {"channels": 64, "width": 56, "window": 3, "images": 32, "depth": 3}
    chip = {"chip": "any", "fp16_dense": 312e12, "memory_bandwidth": 2.039e12}
    found = solve("memory-math/convolution-cost", **stem, **block, **chip)
    assert (found["output_side"], found["parameters"]) == (112, 9472)
    assert found["operations"] == pytest.approx(32 * 236027904 / 1e9)
    assert found["groups"] == [
        [pytest.approx(7.398752256), pytest.approx(287.17583)],
        [pytest.approx(0.115605504), pytest.approx(4.4997982)],
    ]
    assert solution("memory-math/convolution-cost").field(3, 1, 4) == 11  # five 3 x 3 layers


def test_a_projector_in_four_bits() -> None:
    shape = {"layers": 1, "hidden": 4096, "ffn": 11008, "rank": 128, "group": 256, "block": 256}
    found = solve("compression/q-galore-memory", **shape, share=0.02, updates=10)
    table = found["tensors"]
    assert isinstance(table, list)
    assert table[0][1] == pytest.approx(270336 / 1e6)
    assert table[0][0] == pytest.approx(4096 * 4096 * 8.125 / 8 / 1e6)


def test_softened_probabilities_and_a_regressor() -> None:
    logits = {"classes": 3, "first": 4, "second": 2, "third": 1, "rest": 0, "temperature": 2}
    layers = {"guided_side": 10, "guided": 32, "hint_side": 8, "hint": 64}
    found = solve("compression/soft-labels", ratio=2, **logits, **layers)
    assert found["softened"] == [
        [
            pytest.approx(84.37947345),
            pytest.approx(11.41951994),
            pytest.approx(0.5242666167 / math.log(2)),
        ],
        [
            pytest.approx(62.85317192),
            pytest.approx(23.12238976),
            pytest.approx(0.9059592565 / math.log(2)),
        ],
    ]
    assert found["regressor"] == 18432
    assert found["dense"] == pytest.approx(13107200 / 18432)


def test_energy_of_a_billion_products() -> None:
    found = solve("compression/energy-of-a-layer", inputs=1000, outputs=1000, count=1000)
    assert found["energy"] == [
        [pytest.approx(4.6), pytest.approx(3 * 0.64)],
        [pytest.approx(0.3), pytest.approx(3 * 0.16)],
    ]


@pytest.mark.parametrize(("stage", "state"), [(0, 120), (1, 31.4), (2, 16.6), (3, 1.88)])
def test_model_state_in_the_first_figure_of_the_zero_paper(stage: int, state: float) -> None:
    """Rajbhandari et al. (2020), arXiv:1910.02054, Figure 1."""
    widths = {"weight": 2, "gradient": 2, "master": 4, "mean": 4, "variance": 4}
    owned = solution("memory-math/model-state-ddp-zero").owned
    assert owned(7_500_000_000, 64, stage, widths) / 1e9 == pytest.approx(state, abs=0.05)


@pytest.mark.parametrize(
    ("heads", "hidden", "attention", "avoided"),
    [(96, 12288, 80, 70), (128, 20480, 64, 65)],
    ids=["GPT-3", "MT-NLG"],
)
def test_selective_recomputation_of_korthikanti(
    heads: int, hidden: int, attention: int, avoided: int
) -> None:
    module = solution("memory-math/activation-memory-checkpointing")
    unit = 2048 * hidden
    scores = module.layer_bytes(2048, 1, hidden, heads, (True,))
    assert scores / unit == attention
    whole = module.layer_bytes(2048, 1, hidden, heads)
    assert 100 * scores / whole == pytest.approx(avoided, abs=0.5)


@pytest.mark.parametrize(
    ("layers", "kv_heads", "kib"),
    [(32, 32, 512), (80, 8, 320), (32, 8, 128)],
    ids=["Llama 2 7B", "Llama 2 70B", "Llama 3 8B"],
)
def test_cache_of_a_token_of_llama(layers: int, kv_heads: int, kib: int) -> None:
    shape = {"layers": layers, "kv_heads": kv_heads, "head_size": 128, "element_bytes": 2}
    assert solution("memory-math/kv-cache-size").grown(1, shape) == kib * 1024


@pytest.mark.parametrize(
    ("params", "ranks", "states"),
    [
        (7_500_000_000, 4, (52.5, 41.3, 30)),
        (7_500_000_000, 16, (35.6, 21.6, 7.5)),
        (128_000_000_000, 64, (536, 284, 32)),
        (1_000_000_000_000, 1024, (4011, 2013, 15.6)),
    ],
)
def test_model_state_in_the_first_table_of_the_zero_paper(
    params: int, ranks: int, states: tuple[float, ...]
) -> None:
    """Rajbhandari et al. (2020), arXiv:1910.02054, Table 1."""
    widths = {"weight": 2, "gradient": 2, "master": 4, "mean": 4, "variance": 4}
    owned = solution("memory-math/model-state-ddp-zero").owned
    for stage, state in enumerate(states, start=1):
        expected = pytest.approx(state, rel=0.003)
        assert owned(params, ranks, stage, widths) / 1e9 == expected


@pytest.mark.parametrize(
    ("layers", "kv_heads", "size"),
    [(40, 40, 800 * 1024), (80, 8, 327_680), (126, 8, 516_096)],
    ids=["OPT 13B", "Qwen 2.5 72B", "Llama 3.1 405B"],
)
def test_cache_of_a_token_in_papers(layers: int, kv_heads: int, size: int) -> None:
    """OPT: Kwon et al. (2023), section 3. The others: Zhao et al. (2025), arXiv:2505.09343,
    Table 1."""
    shape = {"layers": layers, "kv_heads": kv_heads, "head_size": 128, "element_bytes": 2}
    assert solution("memory-math/kv-cache-size").grown(1, shape) == size


@pytest.mark.parametrize(
    ("hidden", "layers", "heads", "kv_heads", "inner", "vocabulary", "billions"),
    [
        (4096, 32, 32, 32, 11008, 32000, 6.738),
        (5120, 40, 40, 40, 13824, 32000, 13.016),
        (6656, 60, 52, 52, 17920, 32000, 32.529),
        (8192, 80, 64, 64, 22016, 32000, 65.286),
        (8192, 80, 64, 8, 28672, 32000, 68.98),
        (4096, 32, 32, 8, 14336, 32000, 7.242),
        (8192, 80, 64, 8, 28672, 128256, 70.554),
        (4096, 32, 32, 8, 14336, 128256, 8.030),
        (16384, 126, 128, 8, 53248, 128256, 405.85),
    ],
    ids=[
        "Llama 2 7B",
        "LLaMA 13B",
        "LLaMA 33B",
        "LLaMA 65B",
        "Llama 2 70B",
        "Mistral 7B",
        "Llama 3 70B",
        "Llama 3 8B",
        "Llama 3.1 405B",
    ],
)
def test_parameters_of_llama_and_mistral(
    hidden: int,
    layers: int,
    heads: int,
    kv_heads: int,
    inner: int,
    vocabulary: int,
    billions: float,
) -> None:
    """The sizes of the published checkpoints, which also contain the norms."""
    shape = {"hidden": hidden, "layers": layers, "heads": heads, "kv_heads": kv_heads}
    rest = {"inner": inner, "vocabulary": vocabulary, "tied": "no"}
    found = solve("memory-math/transformer-parameter-count", **shape, **rest)
    assert found["total_billions"] == pytest.approx(billions, rel=0.0002)


def test_scales_of_qlora_with_and_without_double_quantization() -> None:
    """Dettmers et al. (2023), arXiv:2305.14314, section 3: from 0.5 to 0.127 bits per weight."""
    group_bytes = solution("memory-math/qlora-memory").group_bytes
    single, double = (8 * group_bytes(64, 256, d)[1] / (64 * 256) for d in (False, True))
    assert single == 0.5
    assert double == pytest.approx(0.127, abs=0.0005)
    assert single - double == pytest.approx(0.373, abs=0.0005)
