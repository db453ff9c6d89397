"""Runs the passes on a list of operations, and tries rewrites on numbers in PyTorch."""

import torch

REDUCTIONS = {"sum", "max"}


def solve(given):
    program, result = lines(given)
    counts = [len(program)]
    for change in (without_dead, without_repeated, without_constants):
        program = change(program, result)
        counts.append(len(program))
    groups = fused(program)
    counts.append(len(groups))
    tensor = 2 * given["tokens"] * given["width"] / 1e6
    written, _ = lines(given)
    before = transfers(written, [[name] for name in written], result)
    after = transfers(program, groups, result)
    return {
        "kernels": [[count] for count in counts],
        "traffic": [[before * tensor], [after * tensor]],
        "preserves": preserved(given),
        "rounding": rounded(given),
    }


def lines(given):
    """The program as a dict from names to operations with their operands."""
    program = {"c1": ("exp", "log_scale")}
    if given["constants"] > 1:
        program["c2"] = ("mul", "c1", "half")
    if given["constants"] > 2:
        program["c3"] = ("sqrt", "c2")
    program |= {
        "h": ("matmul", "x", "W"),
        "hb": ("add", "h", "bias"),
        "a": (given["activation"], "hb"),
        "k": ("matmul", "x", "W"),
        "kb": ("add", "k", "bias" if given["shared"] == 2 else "gate_bias"),
        "g": ("sigmoid", "kb"),
        "p": ("exp", "kb"),
    }
    if given["unused"] > 1:
        program["q"] = ("mul", "p", "a")
    if given["unused"] > 2:
        program["r"] = ("sum", "q")
    program["m"] = ("mul", "a", "g")
    program["n"] = ("mul", "m", f"c{given['constants']}")
    if given["normal"] == 2:
        program |= {
            "t": ("max", "n"),
            "u": ("sub", "n", "t"),
            "e": ("exp", "u"),
            "s": ("sum", "e"),
            "o": ("div", "e", "s"),
        }
    else:
        program |= {"s": ("sum", "n"), "o": ("div", "n", "s")}
    if given["projected"]:
        program |= {"y": ("matmul", "o", "V"), "z": ("add", "y", "out_bias")}
        return program, "z"
    return program, "o"


def without_dead(program, result):
    while True:
        used = {operand for _, *operands in program.values() for operand in operands} | {result}
        kept = {name: line for name, line in program.items() if name in used}
        if len(kept) == len(program):
            return kept
        program = kept


def without_repeated(program, result):
    seen, same, kept = {}, {}, {}
    for name, (operation, *operands) in program.items():
        line = (operation, *(same.get(operand, operand) for operand in operands))
        if line in seen:
            same[name] = seen[line]
        else:
            seen[line] = name
            kept[name] = line
    return kept


def without_constants(program, result):
    varying, kept = {"x"}, {}
    for name, (operation, *operands) in program.items():
        if varying & set(operands):
            varying.add(name)
            kept[name] = (operation, *operands)
    return kept


def elementwise(line):
    return line[0] not in {"matmul", *REDUCTIONS}


def fused(program):
    """Merges connected kernels as long as no path leaves a kernel and returns to it."""
    groups = [[name] for name in program]
    while True:
        for one in groups:
            for other in groups:
                if one is not other and mergeable(program, groups, one, other):
                    groups = [g for g in groups if g is not one and g is not other]
                    groups.append(one + other)
                    break
            else:
                continue
            break
        else:
            return groups


def mergeable(program, groups, one, other):
    both = set(one + other)
    if not all(elementwise(program[name]) for name in both):
        return False
    if not any(operand in one for name in other for operand in program[name][1:]):
        return False
    outside = {  # what depends on the merged kernel
        name for name in program if name not in both and reaches(program, both, name)
    }
    return not any(operand in outside for name in both for operand in program[name][1:])


def reaches(program, sources, name):
    return any(
        operand in sources or (operand in program and reaches(program, sources, operand))
        for operand in program[name][1:]
    )


def transfers(program, groups, result):
    """The tensors of the shape of x that kernels read and write."""
    large = {"x"}
    for name, (operation, *operands) in program.items():
        if operation not in REDUCTIONS and large & set(operands):
            large.add(name)
    total = 0
    for group in groups:
        read = {operand for name in group for operand in program[name][1:]} - set(group)
        outside = {
            operand for name in program if name not in group for operand in program[name][1:]
        } | {result}
        if len(program) == len(groups):
            outside |= set(group)  # a kernel that nobody needs writes its result, too
        total += len(read & large) + len(set(group) & outside & large)
    return total


def numbers():
    random = torch.Generator().manual_seed(7)
    return [
        torch.randn(8, 8, generator=random, dtype=torch.float64) * 2 + shift
        for shift in (0.0, 0.3, -0.4)
    ]


def pool(x, reduce):
    return reduce(x.reshape(4, 2, 4, 2).transpose(1, 2).reshape(4, 4, 4), -1)


def biggest(x, dim):
    return x.amax(dim)


def plain_norm(x):
    return (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)


def preserved(given):
    x, w, v = numbers()
    relu, c, row = torch.relu, 2.5, torch.arange(8.0, dtype=torch.float64)[:, None]
    pairs = {
        "normalization": [
            (torch.softmax(x + row, 1), torch.softmax(x, 1)),
            (torch.softmax(c * x, 1), torch.softmax(x, 1)),
            (plain_norm(c * x), plain_norm(x)),
        ][given["p1"] - 1],
        "activation": [
            (relu(c * x), c * relu(x)),
            (relu(-c * x), -c * relu(x)),
            (relu(x + c), relu(x) + c),
        ][given["p2"] - 1],
        "pooling": [
            (pool(relu(x), biggest), relu(pool(x, biggest))),
            (pool(relu(x), torch.mean), relu(pool(x, torch.mean))),
            (pool(-x, biggest), -pool(x, biggest)),
        ][given["p3"] - 1],
        "transposition": [
            ((x @ w).T, x.T @ w.T),
            ((x @ w).T, w.T @ x.T),
            (relu(x).T, relu(x.T)),
        ][given["p4"] - 1],
        "product": [
            ((x @ w).sum(0), x.sum(0) @ w),
            (relu(x) @ w, relu(x @ w)),
            ((x @ w) @ v, x @ (w @ v)),
        ][given["p5"] - 1],
        "arg_max": [
            (torch.softmax(x, 1).argmax(1), x.argmax(1)),
            (torch.tanh(x).argmax(1), x.argmax(1)),
            (x.abs().argmax(1), x.argmax(1)),
        ][given["p6"] - 1],
    }
    return {name for name, (one, other) in pairs.items() if torch.allclose(one, other)}


def rounded(given):
    """The rewrites that change a bit of some result in fp32."""
    x, w, v = (each.float() for each in numbers())
    c = torch.tensor(0.7)
    fma = (x.double() * w.double() + v.double()).float()  # rounded once
    once = x @ w
    narrow = torch.bfloat16
    pairs = {
        "harmless": [
            (x @ w + torch.relu(x @ w), once + torch.relu(once)),
            (x.T.T @ w, x @ w),
            (x @ w, x @ w),
        ][given["r1"] - 1],
        "reordered": [
            ((x @ w) * c, x @ (w * c)),
            ((x @ w) @ v, x @ (w @ v)),
            (x * w + v, fma),
        ][given["r2"] - 1],
        "reciprocal": [(x / 8, x * 0.125), (x / 10, x * 0.1)][given["r3"] - 1],
        "exchanged": [
            (pool(torch.relu(x), biggest), torch.relu(pool(x, biggest))),
            (torch.softmax(x + 0.7, 1), torch.softmax(x, 1)),
        ][given["r4"] - 1],
        "registers": (
            torch.relu((x.to(narrow) * w.to(narrow)) + v.to(narrow)),
            torch.relu(x.to(narrow).float() * w.to(narrow).float() + v.to(narrow).float()).to(
                narrow
            ),
        ),
    }
    return {name for name, (one, other) in pairs.items() if not torch.equal(one, other)}
