"""The second road is PyTorch's autograd, in float64; the scalar one is a difference quotient."""

import math

import torch


class tracked:
    def __init__(self, data, parents=()):
        self.data, self.parents, self.grad = data, parents, 0.0

    @staticmethod
    def of(x):
        return x if isinstance(x, tracked) else tracked(x)

    def __add__(self, other):
        other = self.of(other)
        return tracked(self.data + other.data, ((self, 1.0), (other, 1.0)))

    def __mul__(self, other):
        other = self.of(other)
        return tracked(self.data * other.data, ((self, other.data), (other, self.data)))

    def __pow__(self, n):
        return tracked(self.data**n, ((self, n * self.data ** (n - 1)),))

    def __neg__(self):
        return self * -1.0

    def __sub__(self, other):
        return self + (-self.of(other))

    def __rsub__(self, other):
        return self.of(other) - self

    __radd__, __rmul__ = __add__, __mul__

    def relu(self):
        return tracked(max(self.data, 0.0), ((self, float(self.data > 0)),))

    def tanh(self):
        t = math.tanh(self.data)
        return tracked(t, ((self, 1 - t * t),))

    def exp(self):
        e = math.exp(self.data)
        return tracked(e, ((self, e),))

    def backward(self):
        order, seen, stack = [], set(), [(self, False)]
        while stack:
            node, done = stack.pop()
            if done:
                order.append(node)
            elif node not in seen:
                seen.add(node)
                stack.append((node, True))
                stack += [(parent, False) for parent, _ in node.parents]
        found = dict.fromkeys(order, 0.0)
        found[self] = 1.0
        for node in reversed(order):
            for parent, slope in node.parents:
                found[parent] += slope * found[node]
        for node in order:
            node.grad += found[node]


class tracked_right_tape:
    """Values are numbered as they are made; going back by number is a right order."""

    made = 0

    def __init__(self, data):
        self.data = data
        self.grad = 0.0
        self.hand_on = None
        self.came_from = ()
        tracked_right_tape.made += 1
        self.number = tracked_right_tape.made

    def _new(self, data, came_from, hand_on):
        out = tracked_right_tape(data)
        out.came_from, out.hand_on = came_from, hand_on
        return out

    def __add__(self, other):
        if not isinstance(other, tracked_right_tape):
            return self._new(self.data + other, (self,), lambda g: (g,))
        return self._new(self.data + other.data, (self, other), lambda g: (g, g))

    def __mul__(self, other):
        if not isinstance(other, tracked_right_tape):
            return self._new(self.data * other, (self,), lambda g: (g * other,))
        a, b = self.data, other.data
        return self._new(a * b, (self, other), lambda g: (g * b, g * a))

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other

    def __neg__(self):
        return self._new(-self.data, (self,), lambda g: (-g,))

    def __sub__(self, other):
        return self + (-other)

    def __rsub__(self, other):
        return (-self) + other

    def __pow__(self, n):
        a = self.data
        return self._new(a**n, (self,), lambda g: (g * n * a ** (n - 1),))

    def relu(self):
        a = self.data
        return self._new(a if a > 0 else 0.0, (self,), lambda g: (g if a > 0 else 0.0,))

    def tanh(self):
        t = math.tanh(self.data)
        return self._new(t, (self,), lambda g: (g * (1 - t**2),))

    def exp(self):
        e = math.exp(self.data)
        return self._new(e, (self,), lambda g: (g * e,))

    def backward(self):
        reached, waiting = {self.number: self}, [self]
        while waiting:
            for node in waiting.pop().came_from:
                if node.number not in reached:
                    reached[node.number] = node
                    waiting.append(node)
        passing = dict.fromkeys(reached, 0.0)
        passing[self.number] = 1.0
        for number in sorted(reached, reverse=True):
            node = reached[number]
            node.grad += passing[number]
            if node.hand_on is not None:
                for parent, part in zip(node.came_from, node.hand_on(passing[number]), strict=True):
                    passing[parent.number] += part


def tracked_expected(inputs, program, outputs, times=1):
    leaves = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in inputs]
    nodes = list(leaves)

    def operand(o):
        return o[1] if isinstance(o, (list, tuple)) else nodes[o]

    ways = {
        "+": lambda a, b: a + b,
        "-": lambda a, b=None: -a if b is None else a - b,
        "*": lambda a, b: a * b,
        "**": lambda a, b: a**b,
    }
    for name, *operands in program * times:
        given = [operand(o) for o in operands]
        nodes.append(ways[name](*given) if name in ways else getattr(torch, name)(*given))
    for number in outputs:
        nodes[number].backward(retain_graph=True)
    return {
        "data": [nodes[number].item() for number in outputs],
        "grad": [0.0 if leaf.grad is None else leaf.grad.item() for leaf in leaves],
    }


def tracked_cases(rng, given):
    def case(count, program, outputs=None, low=0.3, high=1.5):
        signs = rng.choice([-1.0, 1.0], size=count)
        inputs = [float(x) for x in rng.uniform(low, high, size=count) * signs]
        last = count + len(program) - 1
        return {"inputs": inputs, "program": program, "outputs": outputs or [last]}

    yield "operations", case(2, [["*", 0, 1]])
    yield "operations", case(3, [["+", 0, 1], ["*", 3, 2], ["tanh", 4]])
    yield "operations", case(2, [["-", 0, 1], ["exp", 2], ["**", 3, ["plain", 2]]])
    yield "operations", case(2, [["-", 0], ["relu", 2], ["relu", 0], ["+", 3, 4], ["*", 5, 1]])
    yield (
        "operations",
        {"inputs": [0.0, 2.0], "program": [["relu", 0], ["*", 2, 1]], "outputs": [3]},
    )
    yield "shared", case(1, [["*", 0, 0]])
    yield "shared", case(1, [["+", 0, 0], ["*", 1, 0], ["+", 2, 1], ["tanh", 3]])
    # One value reaches the output over a short way and over a long one.
    yield "shared", case(2, [["*", 0, 1], ["tanh", 2], ["exp", 3], ["+", 4, 2], ["*", 5, 3]])
    drawn = [
        [str(rng.choice(["+", "*", "-"])), *(int(n) for n in rng.integers(0, 3 + i, 2))]
        for i in range(9)
    ]
    yield "shared", case(3, [*drawn, ["tanh", 11]])
    yield (
        "numbers",
        case(1, [["+", ["plain", 2], 0], ["*", ["plain", 3.0], 1], ["-", ["plain", 1], 2]]),
    )
    yield (
        "numbers",
        case(
            2,
            [
                ["*", 0, ["plain", 0.5]],
                ["-", 2, ["plain", 4]],
                ["+", 3, 1],
                ["**", 4, ["plain", 3]],
            ],
        ),
    )
    # Doubled again and again: there are 2 to the power of 40 paths.
    yield "long", case(1, [["+", i, i] for i in range(40)] + [["*", 40, ["plain", 2.0**-40]]])
    chain = case(2, [["*", -1, ["plain", 0.999]], ["+", -1, 0]], outputs=[-1])
    yield "long", {**chain, "times": 2500}
    yield "outputs", case(2, [["*", 0, 1], ["+", 2, 0], ["tanh", 2]], outputs=[3, 4])
    yield "outputs", case(3, [["*", 0, 1], ["exp", 3], ["*", 3, 2], ["+", 5, 3]], outputs=[4, 6, 5])


class _Plain:
    """What the wrong ones share: operations that note their parents and slopes."""

    def __init__(self, data, parents=()):
        self.data, self.parents, self.grad = data, parents, 0.0

    def of(self, x):
        return x if isinstance(x, _Plain) else type(self)(x)

    def make(self, data, *parents):
        return type(self)(data, parents)

    def __add__(self, other):
        other = self.of(other)
        return self.make(self.data + other.data, (self, 1.0), (other, 1.0))

    def __mul__(self, other):
        other = self.of(other)
        return self.make(self.data * other.data, (self, other.data), (other, self.data))

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return self.make(-self.data, (self, -1.0))

    def __sub__(self, other):
        return self + (-self.of(other))

    def __rsub__(self, other):
        return self.of(other) - self

    def __pow__(self, n):
        return self.make(self.data**n, (self, n * self.data ** (n - 1)))

    def relu(self):
        return self.make(max(self.data, 0.0), (self, float(self.data > 0)))

    def tanh(self):
        t = math.tanh(self.data)
        return self.make(t, (self, 1 - t * t))

    def exp(self):
        e = math.exp(self.data)
        return self.make(e, (self, e))

    def order(self):
        order, seen, stack = [], set(), [(self, False)]
        while stack:
            node, done = stack.pop()
            if done:
                order.append(node)
            elif node not in seen:
                seen.add(node)
                stack += [(node, True), *((parent, False) for parent, _ in node.parents)]
        return order[::-1]


class tracked_wrong_assigns(_Plain):
    def backward(self):
        self.grad = 1.0
        for node in self.order():
            for parent, slope in node.parents:
                parent.grad = slope * node.grad


class tracked_wrong_breadth_first(_Plain):
    """Hands on before all that it gets has come in."""

    def backward(self):
        self.grad = 1.0
        waiting, seen = [self], {self}
        while waiting:
            node = waiting.pop(0)
            for parent, slope in node.parents:
                parent.grad += slope * node.grad
                if parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)


class tracked_wrong_recursive_order(_Plain):
    """The usual recursive search, which ends at Python's limit."""

    def backward(self):
        order, seen = [], set()

        def visit(node):
            if node not in seen:
                seen.add(node)
                for parent, _ in node.parents:
                    visit(parent)
                order.append(node)

        visit(self)
        found = dict.fromkeys(order, 0.0)
        found[self] = 1.0
        for node in reversed(order):
            for parent, slope in node.parents:
                found[parent] += slope * found[node]
        for node in order:
            node.grad += found[node]


class tracked_wrong_inner_gradients_kept(_Plain):
    """A second output hands on what the first left in the inner values."""

    def backward(self):
        self.grad = 1.0
        for node in self.order():
            for parent, slope in node.parents:
                parent.grad += slope * node.grad


class tracked_wrong_cleared_each_time(_Plain):
    def backward(self):
        order = self.order()
        for node in order:
            node.grad = 0.0
        self.grad = 1.0
        for node in order:
            for parent, slope in node.parents:
                parent.grad += slope * node.grad


class tracked_wrong_relu_passes_all(_Plain):
    def relu(self):
        return self.make(max(self.data, 0.0), (self, 1.0))

    def backward(self):
        order = self.order()
        found = dict.fromkeys(order, 0.0)
        found[self] = 1.0
        for node in order:
            for parent, slope in node.parents:
                found[parent] += slope * found[node]
            node.grad += found[node]


class tracked_wrong_numbers_on_the_left(_Plain):
    """A number minus a value comes out the wrong way round."""

    def __rsub__(self, other):
        return self - other

    def backward(self):
        order = self.order()
        found = dict.fromkeys(order, 0.0)
        found[self] = 1.0
        for node in order:
            for parent, slope in node.parents:
                found[parent] += slope * found[node]
            node.grad += found[node]


def _gradient_of_matrices(of_first):
    """The expression that agrees with autograd."""
    torch.manual_seed(0)
    x, w3 = torch.randn(4, 1), torch.randn(4, 4)
    w1, w2 = (torch.randn(4, 4, requires_grad=True) for _ in range(2))
    h1 = w1 @ x
    h3 = w3 @ w2 @ h1
    (h3**2).sum().backward()
    g, a, b, h = 2 * h3.detach(), w3.detach(), w2.detach(), h1.detach()
    if of_first:
        gradient, candidates = (
            w1.grad,
            {
                "right": b.T @ a.T @ g @ x.T,
                "order": a.T @ b.T @ g @ x.T,
                "not-transposed": a @ b @ g @ x.T,
                "input-first": x @ g.T @ a @ b,
            },
        )
    else:
        gradient, candidates = (
            w2.grad,
            {
                "right": a.T @ g @ h.T,
                "order": g @ h.T @ a.T,
                "not-transposed": a @ g @ h.T,
                "input-first": h @ g.T @ a,
            },
        )
    (found,) = (
        name
        for name, value in candidates.items()
        if torch.allclose(value, gradient, rtol=1e-4, atol=1e-4)
    )
    return found


def _depends_on_values(operation):
    """Whether the derivatives differ between two points."""
    slopes = []
    for a, b in ((-0.7, 0.4), (1.3, 2.1)):
        leaves = [torch.tensor(v, requires_grad=True) for v in (a, b)]
        found = torch.autograd.grad(operation(*leaves), leaves, allow_unused=True)
        slopes.append([0.0 if g is None else float(g) for g in found])
    return slopes[0] != slopes[1]


def _passes(ins=3, outs=2):
    """Which option counts the passes: each pass of a small function gives a part of its Jacobian."""
    weight = torch.arange(1.0, ins * outs + 1).reshape(outs, ins) / 10
    x = torch.linspace(-1, 1, ins).requires_grad_()
    cotangent = torch.eye(outs)[0].requires_grad_()
    row = torch.autograd.grad(torch.tanh(weight @ x), x, cotangent, create_graph=True)[0]
    # A reverse pass is linear in the cotangent; its own derivative is a forward pass.
    column = torch.autograd.grad(row, cotangent, torch.eye(ins)[0])[0]
    reverse, forward = (ins * outs // part.numel() for part in (row, column))
    options = {(outs, ins): "right", (ins, outs): "swapped", (1, 1): "one-each"}
    return options.get((reverse, forward), "by-inputs")


def solve(given):
    """The loss a little to both sides of the first weight."""

    def loss(w_one):
        h = w_one * given["x"]
        for weight in (given["w_two"], given["w_three"]):
            h = weight * h
        return 0.5 * (h - given["target"]) ** 2

    step = 1e-4
    slope = (loss(given["w_one"] + step) - loss(given["w_one"] - step)) / (2 * step)
    data = {name: torch.tensor(float(given[f"w_{name}"])) for name in ("one", "two", "three")}
    weights = {name: value.double().requires_grad_() for name, value in data.items()}
    for _ in range(2):
        h = given["x"]
        for weight in weights.values():
            h = weight * h
        (0.5 * (h - given["target"]) ** 2).backward()
    before = weights["one"].item()
    torch.optim.SGD(weights.values(), lr=0.05).step()
    operations = {
        "sum": lambda a, b: a + b,
        "product": lambda a, b: a * b,
        "scaled": lambda a, b: 2 * a,
        "difference": lambda a, b: a - b,
        "tanh": lambda a, b: a.tanh(),
        "relu": lambda a, b: a.relu(),
    }
    return {
        "first": slope,
        "update": weights["one"].item() - before,
        "matrices": _gradient_of_matrices(given["of_first"]),
        "passes": _passes(),
        "kept": {name for name, f in operations.items() if _depends_on_values(f)},
    }
