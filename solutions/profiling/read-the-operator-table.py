"""Builds the table again, then replays the steps under each change."""


def solve(given):
    steps, layers = given["steps"], given["layers"]
    tokens, width = given["tokens"], given["width"]
    peak, bandwidth = given["peak"] * 1e9, given["bandwidth"] * 1e9
    group = given["group"]
    flops = sum(
        2 * tokens * rows * columns for rows, columns in [(width, 4 * width), (4 * width, width)]
    )
    moved = sum(4 * tokens * 4 * width for _ in ("read", "written"))
    norm = sum(4 * tokens * width for _ in ("read", "written"))
    additions = sum(tokens for _ in range(steps) for _ in range(given["lists"]))
    blocks = steps * layers
    table = {
        "linear": round(2 * blocks * 3.1 / 1000, 2),
        "addmm": round(blocks * flops / (given["product_rate"] * peak) * 1e3),
        "gelu": round(blocks * moved / (given["gelu_rate"] * bandwidth) * 1e3, 1),
        "norm": round(blocks * norm / (given["norm_rate"] * bandwidth) * 1e3, 1),
        "add_": round(additions * given["tiny_us"] / 1000),
    }
    before = sum(table.values())

    def after(**changed):
        return sum((table | changed).values())

    call = table["add_"] / additions
    assert additions % group == 0
    changes = {
        "add_": after(add_=additions // group * call),
        "addmm": after(addmm=blocks * flops / (0.9 * peak) * 1e3),
        "linear": after(linear=0),
        "gelu": after(gelu=blocks * moved / bandwidth * 1e3),
    }
    return {
        "share": 100 * table["addmm"] / before,
        "each": call * 1e3,
        "add_cause": "dispatch",
        "gelu": 100 * moved * blocks / (table["gelu"] / 1e3) / bandwidth,
        "first": min(changes, key=changes.get),
        "speedup": before / changes["add_"],
    }
