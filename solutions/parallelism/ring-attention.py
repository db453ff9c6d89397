"""Moves keys and values around the ring, counts tiles of a causal mask, and searches for lengths."""


def solve(given):
    ranks, last = given["ranks"], given["ranks"] - 1
    contiguous = {rank: (2 * rank, 2 * rank + 1) for rank in range(ranks)}
    zig_zag = {rank: (rank, 2 * ranks - 1 - rank) for rank in range(ranks)}
    even = steps(contiguous), steps(zig_zag)
    rows = [[sum(step[rank] for step in split) for split in even] for rank in (0, ranks // 2, last)]
    times = [sum(durations(split, given["exchange"])) for split in even]
    # Of the steps in which something is sent, the one with the fewest tiles decides.
    least_tiles = min(min(step) for step in even[1][:-1])
    grouped = given["kv_heads"] < given["heads"]
    if given["variant"] != 2:
        sharing = {"kv_heads": given["kv_heads"] / (2 if grouped else 4)}
    else:
        sharing = {"kv_heads": given["heads"]} if grouped else {"heads": given["heads"] / 2}
    changes = {
        "groups": sharing,
        "narrow": {"bandwidth": given["bandwidth"] * 2},
        "fewer": {"ranks": ranks * 2 if given["variant"] == 1 else ranks / 2},
        "faster": {"rate": given["rate"] * 2},
        "wide": {"width": 256},
        "flash": {"heads": 2 * given["heads"], "kv_heads": 2 * given["kv_heads"]},
    }
    now = length(given, least_tiles)
    return {
        "volume": sum(sent(given, given["block"]) for _ in range(last)) / 1e6,
        "least_block": length(given, 4) / ranks,
        "tiles": rows,
        "gain": times[0] / times[1],
        "least_length": now,
        "shorter": {
            name
            for name, change in changes.items()
            if length({**dict(given.items()), **change}, least_tiles) < 0.999 * now
        },
    }


def steps(split):
    """The tiles that each rank computes in each ring step."""
    ranks = len(split)
    found = []
    for step in range(ranks):
        tiles = []
        for rank in range(ranks):
            keys = split[(rank - step) % ranks]
            tiles.append(sum(key <= query for query in split[rank] for key in keys))
        found.append(tiles)
    return found


def durations(split, exchange):
    """How long each ring step takes in tiles: until the last rank has computed and sent."""
    for number, tiles in enumerate(split):
        sending = exchange if number + 1 < len(split) else 0
        yield max(max(computed, sending) for computed in tiles)


def sent(given, tokens):
    """The bytes of keys and values of these tokens."""
    return sum(2 * tokens * given["kv_heads"] * given.get("width", 128) for _ in ("keys", "values"))


def length(given, tiles):
    """The shortest sequence for which computing so many tiles takes as long as sending a block."""
    low, high = 0.0, 1e9
    for _ in range(200):
        tokens = (low + high) / 2
        scores = tiles * (tokens / 2) ** 2 * given["heads"]
        flops = sum(2 * scores * given.get("width", 128) for _ in ("scores", "values"))
        computing = flops / (given["rate"] * 1e12)
        hidden = computing >= sent(given, tokens) / (given["bandwidth"] * 1e9)
        low, high = (low, tokens) if hidden else (tokens, high)
    return given["ranks"] * high
