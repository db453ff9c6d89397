"""Build the table again, then play the step with fewer calls."""


def solve(given):
    steps, layers = given["steps"], given["layers"]
    tokens, width = given["tokens"], given["width"]
    peak, bandwidth = given["peak"] * 1e9, given["bandwidth"] * 1e9
    products = 2 * steps * layers
    flops = 2 * tokens * width * 4 * width
    moved = sum(4 * tokens * 4 * width for _ in ("read", "written"))
    table = {
        "linear": round(products * 3.1 / 1000, 2),
        "addmm": round(products * flops / (given["product_rate"] * peak) * 1e3),
        "gelu": round(steps * layers * moved / (given["gelu_rate"] * bandwidth) * 1e3, 1),
        "norm": round(products * given["norm_us"] / 1000, 1),
        "add_": round(steps * given["tiny"] * given["tiny_us"] / 1000, 1),
    }
    before = sum(table.values())
    after = sum(time / layers if name == "add_" else time for name, time in table.items())
    gelu_seconds = table["gelu"] / 1e3 / (steps * layers)
    return {
        "share": 100 * table["addmm"] / before,
        "each": table["add_"] / (steps * given["tiny"]) * 1e3,
        "add_cause": "dispatch",
        "gelu": 100 * moved / gelu_seconds / bandwidth,
        "first": "add_",
        "speedup": before / after,
    }
