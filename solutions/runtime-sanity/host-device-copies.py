"""Play the three loops on a timeline with a copy engine per direction and a compute engine."""

STEPS = 60


def solve(given):
    """Run each version for some steps and take its pace in the long run."""
    bandwidth = given.fact(given["gpu"], "memory_bandwidth", "B/s")
    rows = round(given["millions"] * 1e6)
    table, queries, scores = (
        sum(shape[0] * 2 for _ in range(shape[1]))
        for shape in (
            (rows, given["width"]),
            (given["queries"], given["width"]),
            (rows, given["queries"]),
        )
    )
    pageable, pinned = given["pageable"] * 1e9, given["pinned"] * 1e9
    product = table / bandwidth

    written = serial([table / pageable, queries / pageable, product, scores / pageable])
    on_the_host = serial([table / (given["host"] * 1e9)])
    resident = serial([queries / pinned, product, scores / pinned])
    overlapped = pipeline(queries / pinned, product, scores / pinned)
    faster_link = pipeline(queries / pinned / 2, product, scores / pinned / 2)
    faster_memory = pipeline(queries / pinned, product / 2, scores / pinned)
    return {
        "as_written": written * 1e3,
        "cpu": written / on_the_host,
        "resident": resident * 1e3,
        "overlapped": overlapped * 1e3,
        "next_step": "link" if faster_link < faster_memory else "memory",
        # The first three are statements of the CUDA and PyTorch documentation.
        "pinned_facts": {"page-locked", "asynchronous", "starves"},
    }


def serial(stages):
    """Time per step when every stage waits for the one before."""
    clock = 0.0
    for _ in range(STEPS):
        for stage in stages:
            clock += stage
    return clock / STEPS


def pipeline(load, compute, store):
    """Time per step when the next queries and the scores before travel beside the computing."""
    gpu = storer = 0.0
    loaded = loader = load
    ends = []
    for _ in range(STEPS):
        started = max(gpu, loaded)
        gpu = started + compute
        loader = loaded = max(loader, started) + load  # the next queries, beside this product
        storer = max(storer, gpu) + store  # its own scores, beside the next product
        ends.append(storer)
    half = STEPS // 2
    return (ends[-1] - ends[half - 1]) / (STEPS - half)
