"""Fills the caches of a batch tensor by tensor and admits sequences until one no longer fits."""


def grown(tokens, given):
    """Bytes of one sequence's cache: a key and a value tensor in every layer."""
    held = 0
    for _ in range(given["layers"]):
        for _tensor in ("key", "value"):
            shape = (given["kv_heads"], tokens, given["head_size"])
            held += shape[0] * shape[1] * shape[2] * given["element_bytes"]
    return held


def smaller(change, given):
    """Whether a change shrinks the cache of a token, or of a request with all its tokens."""

    def cache(known):
        tokens = known["prompt_tokens"] + known["output_tokens"]
        return grown(1 if known["of_token"] else tokens, known)

    return cache({**given, **change}) < cache(given)


def state_bytes(given):
    """Bytes of the fp32 states of one sequence, one square matrix per layer and head."""
    held = 0
    for _ in range(given["layers"]):
        for _head in range(given["heads"]):
            held += 4 * given["head_size"] * given["head_size"]
    return held


def solve(given):
    tokens = given["prompt_tokens"] + given["output_tokens"]
    one = grown(tokens, given)
    free = given["memory"] * 1e9 - given["overhead"] * 1e9
    for _ in range(2):  # a 16-bit weight is two bytes
        free -= given["billions"] * 1e9

    admitted = 0
    while one <= free:
        free -= one
        admitted += 1

    length, filled = 0, 0
    token, state = grown(1, given), state_bytes(given)
    while filled < state:
        length, filled = length + 1, filled + token

    changes = {
        "fewer_kv_heads": {"kv_heads": given["kv_heads"] / 2},
        "fewer_query_heads": {"heads": given["heads"] / 2},
        "narrower_elements": {"element_bytes": given["element_bytes"] / 2},
        "narrower_weights": {"weight_bits": 4},
        "shorter_prompt": {"prompt_tokens": given["prompt_tokens"] / 2},
        "fewer_layers": {"layers": given["layers"] // 2},
    }
    return {
        "per_token": (grown(tokens, given) - grown(tokens - 1, given)) / 1e3,
        "batch": sum(one for _ in range(given["sequences"])) / 1e9,
        "most_sequences": admitted,
        "smaller_cache": {name for name, change in changes.items() if smaller(change, given)},
        "overtakes": length,
    }
