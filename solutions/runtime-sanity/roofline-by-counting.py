"""Count element by element, walk through the syntax tree, and search for the crossing."""

import ast


class Operators(ast.NodeVisitor):
    """Reads and writes of every operator of an expression."""

    def __init__(self):
        self.moved = self.operators = 0
        self.names = set()

    def operator(self, operands):
        self.operators += 1
        self.moved += 1 + sum(not isinstance(one, ast.Constant) for one in operands)
        for one in operands:
            if isinstance(one, ast.Name):
                self.names.add(one.id)
            self.visit(one)

    def visit_BinOp(self, node):
        self.operator([node.left, node.right])

    def visit_Call(self, node):
        self.operator(node.args)


def intensity(tokens, inputs, outputs):
    flops = sum(outputs * (inputs + inputs) for _ in range(tokens))
    moved = 4 * (tokens * inputs + inputs * outputs + tokens * outputs)
    return flops / moved


def solve(given):
    inputs, outputs = given["inputs"], given["outputs"]
    ridge = given["peak"] / given["bandwidth"]

    def reached(tokens):
        return 2 * tokens * inputs * outputs >= ridge * 4 * (
            tokens * inputs + inputs * outputs + tokens * outputs
        )

    low, high = 0.0, 1.0
    while not reached(high):
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    product = intensity(given["tokens"], inputs, outputs)
    walk = Operators()
    walk.visit(ast.parse(given["expression"]))
    tensors, operators = walk.moved, walk.operators
    elements = given["tokens"] * outputs
    flops = 2 * elements * inputs  # nanoseconds below: GFLOP/s and GB/s are per nanosecond
    time = max(flops / given["peak"], flops / product / given["bandwidth"])

    def after(moved):
        return time + 4 * moved * elements / given["bandwidth"]

    return {
        "product": product,
        "gate": operators / (4 * tensors),
        "sides": "product-compute" if product >= ridge else "both-memory",
        "ridge_tokens": high,
        "saved": 100 * (1 - after(len(walk.names) + 1) / after(tensors)),
    }
