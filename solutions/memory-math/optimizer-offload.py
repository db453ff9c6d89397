"""Lists the tensors on each side, and plays copies and update chunk by chunk as events."""

ON_GPU = {"weights": 2, "gradients": 2}
ON_HOST = {"master weights": 4, "first moment": 4, "second moment": 4, "buffer": 2}
READ = ("buffer", "master weights", "first moment", "second moment")
WRITTEN = ("master weights", "first moment", "second moment", "buffer")


def solve(given):
    count = given["billions"]  # so that bytes are GB
    traffic = sum(ON_HOST[name] * count for name in (*READ, *WRITTEN))
    update = traffic / given["host"]
    copy = ON_GPU["gradients"] * count / given["copy"]

    clock = 0.0
    for _ in range(given["micro"]):
        clock += given["compute"]
    computed = clock
    for stage in (copy, update, copy):
        clock += stage

    chain = play([copy, update, copy], given["chunks"])
    fewest = 0
    while fewest * given["compute"] < chain:
        fewest += 1

    def delayed(faster):
        stages = [copy, update, copy]
        for place in {"link": (0, 2), "memory": (1,), "gpu": ()}[faster]:
            stages[place] *= 0.98
        return max(computed * (0.98 if faster == "gpu" else 1), play(stages, given["chunks"]))

    return {
        "gpu_state": sum(each * count for each in ON_GPU.values()),
        "host_state": sum(each * count for each in ON_HOST.values()),
        "update": update,
        "in_sequence": clock,
        "pipelined": chain,
        "accumulation": fewest,
        "bottleneck": min(("gpu", "link", "memory"), key=delayed),
        "techniques": {
            "zero": "gradients",
            "saved": "activations",
            "fsdp": "shards",
            "paged": "pages",
        },
    }


def play(stages, chunks):
    """When the last chunk leaves the last stage; a stage handles one chunk at a time, in order."""
    free = [0.0] * len(stages)
    for _ in range(chunks):
        ready = 0.0
        for place, time in enumerate(stages):
            ready = free[place] = max(ready, free[place]) + time / chunks
    return free[-1]
