"""Lists every matrix that a kernel touches, with its multiply-adds, and tries the degrees."""


def solve(given):
    gpu = given["gpu"]
    peak = given.fact(gpu, "bf16_dense", "FLOP/s")
    bandwidth = given.fact(gpu, "memory_bandwidth", "B/s")
    batch, hidden, ffn = given["batch"], given["hidden"], given["ffn"]
    kv_width = sum(128 for _ in range(given["kv_heads"]))

    def projection(inputs, outputs):
        return 2 * batch * inputs * outputs, [
            (inputs, outputs),
            (batch, inputs),
            (batch, outputs),
        ]

    def attention(context):
        flops, matrices = 0, []
        for _ in range(batch):
            flops += 2 * context * hidden  # scores of all heads
            flops += 2 * hidden * context  # weighted sums of the values
            matrices += [(context, kv_width), (context, kv_width), (1, hidden), (1, hidden)]
        return flops, matrices

    def times(kernel):
        flops, matrices = kernel
        return flops / peak, sum(2 * rows * columns for rows, columns in matrices) / bandwidth

    def block(context):
        return {
            "qkv": times(projection(hidden, hidden + kv_width + kv_width)),
            "attention": times(attention(context)),
            "output": times(projection(hidden, hidden)),
            "up": times(projection(hidden, ffn + ffn)),
            "down": times(projection(ffn, hidden)),
        }

    kernels = block(given["context"])
    sequential = sum(max(pair) for pair in kernels.values())
    pooled = max(sum(a for a, _ in kernels.values()), sum(m for _, m in kernels.values()))
    degree = 1
    while True:
        arithmetic, memory = times(projection(hidden, 2 * ffn / degree))
        if memory > arithmetic:
            break
        degree += 1
    growth = sum(max(pair) for pair in block(2 * given["context"]).values()) / sequential
    return {
        "by_kernel": [[1e6 * max(pair)] for pair in kernels.values()],
        "too_small": 100 * (1 - pooled / sequential),
        "split": degree,
        "longer": "small"
        if growth < 1.15
        else "medium"
        if growth < 1.35
        else "large"
        if growth < 1.55
        else "most",
    }
