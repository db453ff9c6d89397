"""Subclasses, hooks, and rebound methods add the adapters; keys are compared on a real model."""

import torch


class Adapted(torch.nn.Linear):
    """A linear layer that takes over another one's parameters and adds A and B."""

    def __init__(self, old, rank, scale):
        torch.nn.Module.__init__(self)
        self.in_features, self.out_features = old.in_features, old.out_features
        self.weight, self.bias, self.scale = old.weight, old.bias, scale
        weight = old.weight
        self.A = torch.nn.Parameter(torch.randn(rank, old.in_features).to(weight) / rank)
        self.B = torch.nn.Parameter(torch.zeros(old.out_features, rank).to(weight))

    def forward(self, x):
        return super().forward(x) + self.scale * (x @ self.A.T @ self.B.T)


def add_lora(model, targets, rank, alpha):
    model.requires_grad_(False)
    adapters = []
    for name, old in list(model.named_modules()):
        parent, _, own = name.rpartition(".")
        if isinstance(old, torch.nn.Linear) and own in targets:
            new = Adapted(old, rank, alpha / rank)
            setattr(model.get_submodule(parent), own, new)
            adapters += [new.A, new.B]
    return adapters


def add_lora_right_by_hooks(model, targets, rank, alpha):
    for p in model.parameters():
        p.requires_grad = False
    adapters = []

    def hook(module, inputs, output):
        small = torch.nn.functional.linear(inputs[0], module.lora_A)
        return output + torch.nn.functional.linear(small, module.lora_B) * (alpha / rank)

    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear) and name.split(".")[-1] in targets:
            like = {"dtype": module.weight.dtype, "device": module.weight.device}
            a = torch.nn.Parameter(torch.empty(rank, module.in_features, **like))
            b = torch.nn.Parameter(torch.zeros(module.out_features, rank, **like))
            torch.nn.init.kaiming_uniform_(a, a=5**0.5)
            module.register_parameter("lora_A", a)
            module.register_parameter("lora_B", b)
            module.register_forward_hook(hook)
            adapters += [a, b]
    return adapters


def add_lora_right_by_children(model, targets, rank, alpha):
    """Replaces children recursively, and freezes what is not an adapter afterwards."""

    class Layer(torch.nn.Module):
        def __init__(self, linear):
            super().__init__()
            self.weight = linear.weight
            self.register_parameter("bias", linear.bias)
            dtype = linear.weight.dtype
            self.down = torch.nn.Linear(linear.in_features, rank, bias=False, dtype=dtype)
            self.up = torch.nn.Linear(rank, linear.out_features, bias=False, dtype=dtype)
            torch.nn.init.zeros_(self.up.weight)

        def forward(self, x):
            y = torch.nn.functional.linear(x, self.weight, self.bias)
            return y + alpha / rank * self.up(self.down(x))

    found = []

    def visit(module):
        for name, child in module.named_children():
            if isinstance(child, torch.nn.Linear) and name in targets:
                layer = Layer(child)
                module._modules[name] = layer
                found.extend([layer.down.weight, layer.up.weight])
            else:
                visit(child)

    visit(model)
    for p in model.parameters():
        p.requires_grad = any(p is adapter for adapter in found)
    return found


def add_lora_cases(rng, given):
    def case(sizes, targets, rank=2, alpha=8, bias=True, double=False, load=False):
        return {
            "tokens": torch.tensor(rng.integers(0, 7, size=(2, 4))),
            "sizes": list(sizes),
            "bias": bias,
            "double": double,
            "targets": targets,
            "rank": rank,
            "alpha": alpha,
            "seed": int(rng.integers(1 << 30)),
            "load": load,
        }

    yield "adapters", case((6, 8, 2), ["q_proj", "v_proj"])
    yield "adapters", case((6, 8, 2), ["q_proj", "v_proj"], bias=False)
    yield "adapters", case((6, 10, 3), ["k_proj", "q_proj", "v_proj"], rank=3, alpha=4)
    yield "adapters", case((6, 8, 2), ["v_proj"], rank=5, alpha=1, bias=False, double=True)
    yield "adapters", case((4, 6, 2), ["nothing"], bias=False)
    yield "nested", case((6, 8, 2), ["0"])
    yield "nested", case((6, 9, 2), ["v_proj", "2"], rank=3, double=True)
    yield "nested", case((6, 8, 2), ["1", "norm", "embed", "head", "k_proj"])
    yield "nested", case((6, 8, 1), ["pre_q_proj"], rank=1, alpha=3)
    yield "checkpoint", case((8, 6, 1), ["k_proj"], rank=4, alpha=2, load=True)
    yield "checkpoint", case((6, 8, 2), ["q_proj", "0"], double=True, load=True)
    names = ["q_proj", "k_proj", "v_proj", "0", "2"]
    yield "checkpoint", case((4, 4, 2), names, rank=1, alpha=16, bias=False, load=True)


def _with(make, targets_match=None):
    """Build a variant of the reference with another layer, or another choice of layers."""

    def add(model, targets, rank, alpha):
        model.requires_grad_(False)
        adapters = []
        for name, old in list(model.named_modules()):
            parent, _, own = name.rpartition(".")
            match = targets_match(name, targets) if targets_match else own in targets
            if isinstance(old, torch.nn.Linear) and match:
                new = make(old, rank, alpha)
                setattr(model.get_submodule(parent), own, new)
                adapters += [new.A, new.B]
        return adapters

    return add


def add_lora_wrong_stored_as_base(model, targets, rank, alpha):
    class Wrapper(torch.nn.Module):
        def __init__(self, base):
            super().__init__()
            self.base = base
            self.A = torch.nn.Parameter(torch.randn(rank, base.in_features).to(base.weight))
            self.B = torch.nn.Parameter(torch.zeros(base.out_features, rank).to(base.weight))

        def forward(self, x):
            return self.base(x) + alpha / rank * (x @ self.A.T @ self.B.T)

    return _with(lambda old, *_: Wrapper(old))(model, targets, rank, alpha)


def add_lora_wrong_new_layer(model, targets, rank, alpha):
    """Puts a layer with new random weights in place of the pretrained one."""

    def make(old, rank, alpha):
        fresh = torch.nn.Linear(
            old.in_features, old.out_features, old.bias is not None, dtype=old.weight.dtype
        )
        return Adapted(fresh.requires_grad_(False), rank, alpha / rank)

    return _with(make)(model, targets, rank, alpha)


def add_lora_wrong_names_contain(model, targets, rank, alpha):
    def match(name, targets):
        return any(t in name for t in targets)

    make = lambda old, rank, alpha: Adapted(old, rank, alpha / rank)  # noqa: E731
    return _with(make, match)(model, targets, rank, alpha)


def add_lora_wrong_not_frozen(model, targets, rank, alpha):
    adapters = add_lora(model, targets, rank, alpha)
    model.requires_grad_(True)
    return adapters


def add_lora_wrong_norms_trained(model, targets, rank, alpha):
    adapters = add_lora(model, targets, rank, alpha)
    for module in model.modules():
        if not isinstance(module, torch.nn.Linear):
            for p in module.parameters(recurse=False):
                p.requires_grad_(True)
    return adapters


def add_lora_wrong_everything_frozen(model, targets, rank, alpha):
    adapters = add_lora(model, targets, rank, alpha)
    model.requires_grad_(False)
    return adapters


def add_lora_wrong_scaled_by_alpha(model, targets, rank, alpha):
    return add_lora(model, targets, rank, alpha * rank)


def add_lora_wrong_all_parameters(model, targets, rank, alpha):
    add_lora(model, targets, rank, alpha)
    return list(model.parameters())


def add_lora_wrong_top_level(model, targets, rank, alpha):
    model.requires_grad_(False)
    adapters = []
    for name, child in list(model.named_children()):
        if isinstance(child, torch.nn.Linear) and name in targets:
            setattr(model, name, Adapted(child, rank, alpha / rank))
            adapters += [getattr(model, name).A, getattr(model, name).B]
    return adapters


def add_lora_wrong_both_random(model, targets, rank, alpha):
    adapters = add_lora(model, targets, rank, alpha)
    with torch.no_grad():
        for p in adapters:
            p.normal_()
    return adapters


def keys(given, names, nested):
    """Return the missing and unexpected keys of a small model with as many layers."""

    def layer(name):
        return torch.nn.Linear(2, 2, bias=bool(given["biases"]))

    def model():
        layers = [
            torch.nn.ModuleDict({n: layer(n) for n in ("q_proj", "k_proj", "v_proj", "o_proj")})
            for _ in range(given["layers"])
        ]
        return torch.nn.ModuleList(layers)

    checkpoint, changed = model().state_dict(), model()
    if nested:
        for block in changed:
            for name in names:
                base = block[name]
                block[name] = torch.nn.Module()
                block[name].base = base
                block[name].A, block[name].B = (torch.nn.Parameter(torch.zeros(1)) for _ in "AB")
    else:
        add_lora(changed, names, 1, 1)
    found = changed.load_state_dict(checkpoint, strict=False)
    return [len(found.missing_keys), len(found.unexpected_keys)]


def solve(given):
    names = given["targets"].split(", ")
    with torch.device("meta"):
        outputs = {"q_proj": given["hidden"], "k_proj": given["key_value"]}
        outputs["v_proj"] = outputs["k_proj"]
        block = torch.nn.ModuleDict(
            {n: torch.nn.Linear(given["hidden"], size, bias=False) for n, size in outputs.items()}
        ).to(torch.bfloat16)
        adapters = [
            torch.empty(given["rank"], block[n].in_features, dtype=torch.bfloat16).nbytes
            + torch.empty(block[n].out_features, given["rank"], dtype=torch.bfloat16).nbytes
            for n in names
        ]
    return {
        "keys": [keys(given, names, nested=False), keys(given, names, nested=True)],
        "after_load": "wrapped-random",
        "recipe": ["freeze", "load", "wrap", "optimizer", "train", "save"],
        "adapter_size": given["layers"] * sum(adapters) / 1e6,
    }
