"""Lists what each strategy sends in a step, one collective or message after the other."""


def solve(given):
    job = {name: given[name] for name in ("layers", "hidden", "tokens", "micro")}
    sends = {name: strategy(**job) for name, strategy in STRATEGIES.items()}
    rows = [[len(sends[name]), sum(sends[name]) / 1e9] for name in ("DDP", "FSDP", "TP", "PP")]
    return {
        "traffic": rows,
        "growth": {item: grown(job, *change) for item, change in CHANGES.items()},
        "divided": divided(),
        "placement": placement(job, given["fast"], given["slow"]),
    }


def ring(size, gpus=8):
    """The bytes that a GPU sends in one phase of a ring."""
    return sum(size / gpus for _ in range(gpus - 1))


def layer(hidden):
    """Bytes of the weights of attention (4 h²) and MLP (8 h²)."""
    return 2 * sum([hidden * hidden] * 4 + [hidden * 4 * hidden, 4 * hidden * hidden])


def ddp(layers, hidden, tokens, micro):
    size = ring(layer(hidden))
    return [2 * size for _ in range(layers)]


def fsdp(layers, hidden, tokens, micro):
    calls = ("gather forward", "gather backward", "reduce-scatter")
    micro_batches, size = range(round(micro / 8)), ring(layer(hidden))
    return [size for _ in micro_batches for _ in range(layers) for _ in calls]


def tensor(layers, hidden, tokens, micro):
    calls = [(part, pass_) for part in ("attention", "MLP") for pass_ in ("forward", "backward")]
    size = ring(2 * tokens * hidden)
    return [2 * size for _ in range(round(micro)) for _ in range(layers) for _ in calls]


def pipeline(layers, hidden, tokens, micro):
    return [2 * tokens * hidden for _ in range(round(micro)) for _ in ("next", "previous")]


STRATEGIES = {"DDP": ddp, "FSDP": fsdp, "TP": tensor, "PP": pipeline}
CHANGES = {
    "batches": ("micro", 2),
    "longer": ("tokens", 2),
    "deeper": ("layers", 2),
    "wider": ("hidden", 2),
}
SETS = {
    ("DDP", "FSDP", "TP", "PP"): "all",
    ("FSDP", "TP", "PP"): "not_ddp",
    ("DDP", "FSDP", "TP"): "not_pp",
    ("TP", "PP"): "activations",
    ("DDP", "FSDP"): "weights",
    ("TP",): "tensor",
}


def grown(job, name, factor):
    after = {**job, name: job[name] * factor}
    return SETS[
        tuple(
            strategy
            for strategy, sends in STRATEGIES.items()
            if sum(sends(**after)) >= 1.999 * sum(sends(**job))
        )
    ]


def divided():
    """Peaks of a 1F1B schedule, for 8 stages of one layer each and 16 micro-batches."""
    peaks = []
    for stage in range(8):
        held = peak = 0
        # Warm-up, then one forward and one backward pass in turn, then what is left.
        warm = min(16, 8 - 1 - stage)
        for action in "F" * warm + "FB" * (16 - warm) + "B" * warm:
            held += 1 if action == "F" else -1
            peak = max(peak, held)
        peaks.append(peak)
    found = ["fsdp_state", "tp_weights"]
    if peaks[0] == 8:
        found.append("first_stage")
    if len(set(peaks)) == 1:
        found.append("last_stage")
    return found


def placement(job, fast, slow):
    def total(strategy, **changes):
        return sum(STRATEGIES[strategy](**{**job, **changes})) / 1e9

    # Each GPU has an eighth of the layers, or of every layer, which is as many bytes.
    eighth = {"layers": job["layers"] // 8}
    fewer = {"micro": job["micro"] / 8}
    times = {
        "tensor_data": total("TP", **fewer) / fast + total("DDP", **eighth) / slow,
        "tensor_pipeline": total("TP", **eighth) / fast + total("PP") / slow,
        "data_tensor": total("DDP", **eighth) / fast + total("TP", **fewer) / slow,
        "pipeline_sharded": total("PP", **fewer) / fast + total("FSDP", **eighth) / slow,
    }
    return min(times, key=times.get)
