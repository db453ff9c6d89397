"""Goes through a batch tile by tile, and tries batch sizes one after the other."""


def solve(given):
    gpu, group = given["gpu"], given["group"]
    peak = given.fact(gpu, "bf16_dense", "FLOP/s")
    cores = given.fact(gpu, "fp32", "FLOP/s")
    bandwidth = given.fact(gpu, "memory_bandwidth", "B/s")
    count = round(given["billions"] * 1e9)
    groups = count / group
    packed = groups * (sum(4 for _ in range(group)) + 16 + 4) / 8
    wide = count * 16 / 8

    def sixteen(batch):
        return max(wide / bandwidth, sum(2 * count for _ in range(batch)) / peak)

    def four(batch):
        arithmetic = unpacking = 0.0
        while batch > 0:
            rows = min(batch, given["tile"])
            unpacking += given["operations"] * count / cores
            arithmetic += rows * 2 * count / peak
            batch -= rows
        return max(packed / bandwidth, arithmetic) + unpacking

    batch = 1
    while four(batch) <= sixteen(batch):
        batch += 1
    tokens = given["prompt_tokens"]
    expanded = packed / bandwidth + wide / bandwidth + sixteen(tokens)
    return {
        "size": (packed + given["tables"] * 1e9 * 2) / 1e9,
        "gain": [[sixteen(b) / four(b)] for b in (1, given["middle"], given["large"])],
        "slower": batch,
        "prefill": 1e3 * min(expanded, four(tokens)),
        # Advice, which can't be computed: scales and zero points are stored (the GPTQ and AWQ
        # papers), products run in bf16, and model cards name the base model and its license.
        "check": {"kernels", "accuracy", "base"}
        if given["asks"] == 1
        else {"calibration", "integer-units", "optimizer"},
    }
