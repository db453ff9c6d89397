"""Pads every length, collects the shapes, and searches for the size at which the machines tie."""


def solve(given):
    low, high = float(given["room"]), 1000.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if desktop(given, middle) < laptop(given, middle) else (low, middle)
        )

    def power(length):
        padded = 64
        while padded < length:
            padded *= 2
        return padded

    schemes = (
        lambda length: length,
        lambda length: -(-length // given["multiple"]) * given["multiple"],
        power,
        lambda length: given["longest"],
    )
    rows = []
    for scheme in schemes:
        shapes = [scheme(length) for length in range(1, given["longest"] + 1)]
        steps = given["repeats"] * sum(shapes) * given["per_token"] / 1e3
        rows.append([len(set(shapes)), (len(set(shapes)) * given["compile"] + steps) / 60])
    return {
        "per_token_time": [
            [1e3 * desktop(given, size), 1e3 * laptop(given, size)]
            for size in (given["small"], given["large"])
        ],
        "equal_weights": high,
        "kinds": {name: name for name in ("unified", "discrete", "coherent")},
        "memory_claims": ["t_memory", "t_port"],
        "lines": {name for name in ("mask", "batch", "cast") if moves(given[name])}
        | ({"log"} if moves(given["logging"]) else set()),
        "schemes": rows,
    }


def desktop(given, size):
    resident = min(size, given["room"])
    copied = size - resident
    on_card = sum(part / given["card_bandwidth"] for part in (resident, copied))
    return on_card + copied / given["link"]


def laptop(given, size):
    """The GPU's share of a second of the memory's traffic, as time for all of its bytes."""
    share = 1 - given["taken"] / given["unified"]
    return size / given["unified"] / share


def moves(line):
    """Whether a line names the device of another accelerator, or needs a value on the host."""
    return any(word in line for word in ("cuda", ".item()", "float(", "print("))
