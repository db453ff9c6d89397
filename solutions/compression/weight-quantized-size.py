"""Writes one group out as a string of bits, counts them, and adds up the groups of the model."""

from fractions import Fraction

OPTIONS = {
    # what is stored for weights, for activations, and the width of a product's operands
    "widened": ("weight", "activation", "activation"),
    "narrow_products": ("weight", "activation", "weight"),
    "exchanged": ("activation", "weight", "activation"),
    "activations_too": ("weight", "weight", "weight"),
    "fewer_operations": ("weight", "activation", None),
}


def group_of_bits(given):
    """All bits of one group, one character each: codes, then scale, then zero point."""
    codes = "".join("c" * given["weight_bits"] for _ in range(given["group"]))
    return codes + "s" * 16 + "z" * given["zero_bits"]


def solve(given):
    bits = len(group_of_bits(given))
    quantized = Fraction(str(given["billions"])) - Fraction(str(given["kept"]))
    groups = quantized * 10**9 / given["group"]
    kept_bits = Fraction(str(given["kept"])) * 10**9 * 16
    total = (groups * bits + kept_bits) / 8
    plain = Fraction(str(given["billions"])) * 10**9 * 2

    # W is the storage of weights, A that of activations; the narrower operand is widened.
    wider = max(("weight", "activation"), key=lambda name: given[f"{name}_bits"])
    meant = ("weight", "activation", wider)
    # How many tokens fit into a second, read for read.
    seconds = total / Fraction(str(given.fact(given["gpu"], "memory_bandwidth", "B/s")))
    return {
        "decode": float(1 / seconds),
        "effective_bits": float(Fraction(bits, given["group"])),
        "stored": float(total / 10**9),
        "smaller_by": float(plain / total),
        "arithmetic": next(name for name, claim in OPTIONS.items() if claim == meant),
    }
