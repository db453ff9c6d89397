"""Assigns bytes to every GPU of a layout, and tries layouts until one fits."""

KINDS = {"weights": 2, "gradients": 2, "optimizer": 4 + 4 + 4}  # bytes per parameter
SHARDED = {
    "plain": (),
    "zero1": ("optimizer",),
    "zero2": ("optimizer", "gradients"),
    "fsdp": ("optimizer", "gradients", "weights"),
}


def solve(given):
    gpus, batch = given["gpus"], given["batch"]

    def fits(**layout):
        return state(given["billions"], **layout) + given["activations"] <= given["memory"]

    layers = given["layers"]
    plain = first(layers, lambda pp: fits(tp=8, pp=pp, dp=gpus / (8 * pp), sharding="plain"))
    zero = first(layers, lambda pp: fits(tp=8, pp=pp, dp=gpus / (8 * pp), sharding="zero1"))
    nodes = 1
    while not fits(tp=1, pp=1, dp=8 * nodes, sharding="fsdp"):
        nodes += 1
    narrow = given["degree_zero"]
    alone = {"zero2": fits(tp=narrow, pp=1, dp=gpus // narrow, sharding="zero2")}
    wide = given["degree"]
    alone["domain"] = fits(tp=wide, pp=1, dp=gpus // wide, sharding="plain")
    alone["hybrid"] = fits(tp=1, pp=1, dp=given["group"], sharding="fsdp")
    alone["nodes"] = fits(tp=8, pp=1, dp=given["some"], sharding="fsdp")
    return {
        "plain": 8 * plain,
        "with_zero": 8 * zero,
        "fsdp_nodes": nodes,
        "without_pipeline": {name for name, found in alone.items() if found},
        "sent": [[with_stages(given, plain, batch)], [with_fsdp(given, batch)]],
    }


def first(layers, works):
    return next(pp for pp in range(1, layers + 1) if layers % pp == 0 and works(pp))


def state(billions, tp, pp, dp, sharding):
    """The GB of model state on a GPU."""
    total = 0.0
    for kind, width in KINDS.items():
        owners = tp * pp * (dp if kind in SHARDED[sharding] else 1)
        total += width * billions / owners
    return total


def with_stages(given, stages, batch):
    replicas = given["gpus"] // 8 // stages
    sent = 0.0
    for sequence in range(batch):
        if sequence % replicas == 0:  # one of the sequences of this GPU's replica
            sent += 2 * given["length"] * given["hidden"]  # to the next stage
            sent += 2 * given["length"] * given["hidden"]  # its gradient, to the stage before
    gradients = 2 * given["billions"] * 1e9 / 8 / stages
    for _ in ("reduce-scatter", "all-gather"):
        sent += sum(gradients / replicas for _ in range(replicas - 1))
    return sent / 1e9


def with_fsdp(given, batch):
    replicas = given["gpus"] // 8
    buffer = 2 * given["billions"] * 1e9 / 8
    sent = 0.0
    for sequence in range(batch):
        if sequence % replicas == 0:
            for _ in ("gather", "gather again", "scatter"):
                sent += sum(buffer / replicas for _ in range(replicas - 1))
    return sent / 1e9
