"""The second road goes by a rule for each type of layer; the questions are measured."""

import torch
from torch import nn


def kept_by_layer(model, x):
    seen = {p.untyped_storage().data_ptr() for p in model.parameters()}
    alive, found = [], []

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in seen:
            seen.add(storage.data_ptr())
            alive.append(storage)
            found[-1] += storage.nbytes()
        return tensor.detach()  # an output that its own node keeps would never be freed

    for layer in model:
        found.append(0)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            x = layer(x)
    return found


def kept_by_layer_right_forward_hooks(model, x):
    """One run of the whole model; hooks on the layers say which one is running."""
    weights = [p.data_ptr() for p in model.parameters()]
    kept, now = {}, [0]
    handles = [
        layer.register_forward_pre_hook(lambda *_, i=i: now.__setitem__(0, i))
        for i, layer in enumerate(model)
    ]

    def pack(t):
        address = t.untyped_storage().data_ptr()
        if address not in weights and address not in kept:
            kept[address] = now[0], t.untyped_storage().nbytes(), t
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        model(x)
    for handle in handles:
        handle.remove()
    return [sum(n for layer, n, _ in kept.values() if layer == i) for i in range(len(model))]


def kept_by_layer_right_graph(model, x):
    """Reads what the nodes of the graph hold, after each layer."""
    skip = {id(p) for p in model.parameters()} | {
        p.untyped_storage().data_ptr() for p in model.parameters()
    }
    nodes, total = set(), []
    for layer in model:
        x = layer(x)
        new, waiting = 0, [x.grad_fn]
        while waiting:
            node = waiting.pop()
            if node is None or node in nodes:
                continue
            nodes.add(node)
            waiting += [parent for parent, _ in node.next_functions]
            for name in dir(node):
                held = getattr(node, name) if name.startswith("_saved_") else None
                if isinstance(held, torch.Tensor):
                    storage = held.untyped_storage()
                    if storage.data_ptr() not in skip:
                        skip.add(storage.data_ptr())
                        new += storage.nbytes()
        total.append(new)
    return total


def kept_by_layer_expected(layers, x, of_input):
    """By rule: a current tensor has a name, a size in bytes, and may need a gradient."""
    size, rows = x.element_size(), x.shape[:-1].numel()
    shape = list(x.shape)
    name, needs = "x", of_input
    kept, found = set(), []

    def save(tensor, count):
        if tensor in kept:
            return 0
        kept.add(tensor)
        return count * size

    for i, (kind, trained, *sizes) in enumerate(layers):
        count = torch.Size(shape).numel()
        new = 0
        if kind == "linear":
            new = save(name, count) if trained else 0
            shape = [*shape[:-1], sizes[1]]
            name, needs = f"out {i}", needs or trained
        elif kind == "norm":
            if needs or trained:
                new = save(name, count) + 2 * rows * size
            name, needs = f"out {i}", needs or trained
        elif kind in ("relu", "tanh", "sigmoid"):
            name = f"out {i}"
            new = save(name, count) if needs else 0
        elif kind in ("gelu", "softplus"):
            new = save(name, count) if needs else 0
            name = f"out {i}"
        elif kind == "gate":  # it saves both halves, which are views of one storage
            new = save(name, count) if needs else 0
            shape = [*shape[:-1], shape[-1] // 2]
            name = f"out {i}"
        elif kind == "flatten":
            shape = [shape[0], count // shape[0]]
            rows = shape[0]
        found.append(new)
    return found


def kept_by_layer_cases(rng, given):
    def case(layers, *shape, of_input=False, dtype=torch.float32):
        x = torch.tensor(rng.normal(size=shape)).to(dtype)
        return {"layers": layers, "x": x, "of_input": of_input}

    def linear(fan_in, fan_out, trained=True):
        return ["linear", trained, fan_in, fan_out]

    relu, gelu, tanh = (["relu", True], ["gelu", True], ["tanh", True])
    rows = int(rng.integers(3, 9))
    wide = int(rng.integers(9, 20))
    yield "one layer", case([linear(3, 5)], 2, 3)
    yield "one layer", case([linear(wide, 4)], rows, wide, of_input=True, dtype=torch.float64)
    yield "one layer", case([relu], rows, wide, of_input=True)
    yield "one layer", case([["norm", True, wide]], rows, wide)
    yield "shared", case([linear(6, wide), relu, linear(wide, 3)], rows, 6)
    yield "shared", case([linear(6, wide), gelu, linear(wide, 3)], rows, 6)
    model = [linear(7, wide), tanh, linear(wide, 9), gelu, linear(9, wide), ["sigmoid", True]]
    yield "shared", case([*model, linear(wide, 2)], rows, 7)
    yield "shared", case([linear(5, 8), ["norm", True, 8], relu, linear(8, 4)], rows, 3, 5)
    yield "shared", case([relu, linear(wide, 4), tanh], rows, wide, of_input=True)
    yield "frozen", case([linear(6, wide, False), relu, linear(wide, 3)], rows, 6)
    yield (
        "frozen",
        case([linear(6, wide), relu, linear(wide, 8, False), gelu, linear(8, 2)], rows, 6),
    )
    yield "frozen", case([linear(4, 9, False), gelu, linear(9, 3, False)], rows, 4)
    yield (
        "frozen",
        case(
            [["norm", False, 6], linear(6, 8, False), tanh, linear(8, 3)],
            rows,
            6,
            dtype=torch.float64,
        ),
    )
    yield "other", case([["flatten", True], linear(12, 5), ["identity", True], relu], rows, 3, 4)
    yield "other", case([linear(6, 8), ["softplus", True], linear(8, 2)], rows, 6)
    yield "other", case([linear(6, 8), ["gate", True], linear(4, 2)], rows, 6)


def kept_by_layer_wrong_parameters_too(model, x):
    seen, alive, found = set(), [], []

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in seen:
            seen.add(storage.data_ptr())
            alive.append(storage)
            found[-1] += storage.nbytes()
        return tensor

    for layer in model:
        found.append(0)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            x = layer(x)
    return found


def kept_by_layer_wrong_twice(model, x):
    """What two layers save is counted for both."""
    weights = {p.untyped_storage().data_ptr() for p in model.parameters()}
    found = []

    def pack(tensor):
        if tensor.untyped_storage().data_ptr() not in weights:
            found[-1] += tensor.untyped_storage().nbytes()
        return tensor

    for layer in model:
        found.append(0)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            x = layer(x)
    return found


def kept_by_layer_wrong_elements(model, x):
    seen = {p.untyped_storage().data_ptr() for p in model.parameters()}
    alive, found = [], []

    def pack(tensor):
        if tensor.untyped_storage().data_ptr() not in seen:
            seen.add(tensor.untyped_storage().data_ptr())
            alive.append(tensor)
            found[-1] += tensor.numel()
        return tensor

    for layer in model:
        found.append(0)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            x = layer(x)
    return found


def kept_by_layer_wrong_bytes_of_the_tensor(model, x):
    """A view counts with its own bytes, not with those of its storage."""
    seen = {p.untyped_storage().data_ptr() for p in model.parameters()}
    alive, found = [], []

    def pack(tensor):
        if tensor.untyped_storage().data_ptr() not in seen:
            seen.add(tensor.untyped_storage().data_ptr())
            alive.append(tensor)
            found[-1] += tensor.numel() * tensor.element_size()
        return tensor

    for layer in model:
        found.append(0)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            x = layer(x)
    return found


def kept_by_layer_wrong_views_by_themselves(model, x):
    """Two views that start at different places of one storage count for two storages."""
    weights = {p.untyped_storage().data_ptr() for p in model.parameters()}
    seen, alive, found = set(), [], []

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights and tensor.data_ptr() not in seen:
            seen.add(tensor.data_ptr())
            alive.append(storage)
            found[-1] += storage.nbytes()
        return tensor

    for layer in model:
        found.append(0)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            x = layer(x)
    return found


def kept_by_layer_wrong_outputs(model, x):
    """The bytes of every output, as if all of them were kept."""
    found = []
    for layer in model:
        x = layer(x)
        found.append(x.numel() * x.element_size())
    return found


def kept_by_layer_wrong_inputs(model, x):
    found = []
    for layer in model:
        found.append(x.numel() * x.element_size())
        x = layer(x)
    return found


def kept_by_layer_wrong_leaves_left_out(model, x):
    """Leaves out the model's input along with the parameters."""
    seen = {p.untyped_storage().data_ptr() for p in model.parameters()}
    alive, found = [], []

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in seen and not tensor.is_leaf:
            seen.add(storage.data_ptr())
            alive.append(storage)
            found[-1] += storage.nbytes()
        return tensor

    for layer in model:
        found.append(0)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            x = layer(x)
    return found


def _measured(given, frozen=(), lower=nn.ReLU, upper=nn.GELU):
    inputs, first, second = given["inputs"], given["first"], given["second"]
    sizes = ((inputs, first), (first, second), (second, 10))
    first, second, last = (nn.utils.skip_init(nn.Linear, *size) for size in sizes)
    model = nn.Sequential(first, lower(), second, upper(), last)
    for i in frozen:
        model[i].requires_grad_(False)
    return sum(kept_by_layer(model, torch.zeros(given["batch"], inputs)))


def solve(given):
    everything = _measured(given)
    later = _measured(given, (2 if given["frozen"] == "second" else 4,))
    return {
        "all_trained": everything / 1e3,
        "first_frozen": _measured(given, (0,)) / 1e3,
        "swapped": _measured(given, lower=nn.GELU, upper=nn.ReLU) / 1e3,
        "frozen_later": "same" if later == everything else "less",
    }
