"""Places tiles on the output and blocks on the SMs one by one."""

CLAIMS = {
    "moves a running block": False,
    "is divided between two SMs": False,
    "takes 100/128 of the time": False,
    "each other's shared memory": False,
    "leaves SMs idle": True,
    "different kernels": True,
    "A new block can start": True,
    "A smaller tile": True,
    "An elementwise kernel in float16": False,
    "Without its tensor cores": True,
}
TENSOR_TYPES = {
    "v100-sxm2-32": {"float16"},
    "a100-sxm-80": {"float16", "bfloat16", "tf32"},
    "h100-sxm": {"float16", "bfloat16", "tf32"},
}


def solve(given):
    slots = int(given.fact(given["gpu"], "sms", "")) * given["resident"]
    tile_rows, tile_columns = given["tile_rows"], given["tile_columns"]

    def place(rows):
        """How many tiles begin inside the output, and how many in its first column."""
        tops = list(range(0, rows, tile_rows))
        lefts = list(range(0, given["width"], tile_columns))
        return len(tops) * len(lefts), len(tops)

    def waves(rows):
        waiting, found = place(rows)[0], 0
        while waiting > 0:
            waiting -= slots
            found += 1
        return found

    batch = given["batch"]
    table = [
        [
            waves(rows),
            100 * rows / (place(rows)[1] * tile_rows),
            100 * place(rows)[0] / (waves(rows) * slots),
        ]
        for rows in (batch, 2 * batch)
    ]
    free = batch
    while waves(free + 1) == waves(batch):
        free += 1
    offered = {
        name: given[key]
        for name, key in zip(
            ("first", "second", "third", "fourth"), ("b1", "b2", "b3", "b4"), strict=True
        )
    }
    types = TENSOR_TYPES[given["gpu"]]
    reached = {
        "half": "bfloat16" if "bfloat16" in given["n1"] else "float16",
        "single": "float32",
        "autocast": "float16",
        "raised": "tf32" if "tf32" in types else "float32",
    }
    return {
        "tiles": place(batch)[0],
        "efficiencies": table,
        "free_rows": free,
        "one_more": waves(free + 1) / waves(batch),
        "best_batch": max(offered, key=lambda name: offered[name] / waves(offered[name])),
        "tensor_cores": [name for name, used in reached.items() if used in types],
        "block_claim": next(held for text, held in CLAIMS.items() if text in given["claim"]),
    }
