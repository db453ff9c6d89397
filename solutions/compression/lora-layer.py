"""A module with a flag; the second roads keep the old weight, or compute the update as a whole."""

import torch
from torch.utils.flop_counter import FlopCounterMode


class lora_linear(torch.nn.Module):
    def __init__(self, base, rank, alpha):
        super().__init__()
        self.base = base.requires_grad_(False)
        weight = base.weight
        self.A = torch.nn.Parameter(torch.randn(rank, base.in_features).to(weight) / rank)
        self.B = torch.nn.Parameter(torch.zeros(base.out_features, rank).to(weight))
        self.scale = alpha / rank
        self.merged = False

    def forward(self, x):
        y = self.base(x)
        return y if self.merged else y + self.scale * (x @ self.A.T @ self.B.T)

    @torch.no_grad()
    def merge(self):
        if not self.merged:
            self.base.weight += self.scale * (self.B @ self.A)
            self.merged = True

    @torch.no_grad()
    def unmerge(self):
        if self.merged:
            self.base.weight -= self.scale * (self.B @ self.A)
            self.merged = False


class lora_linear_right_keeps_the_old_weight(torch.nn.Module):
    def __init__(self, base, rank, alpha):
        super().__init__()
        self.base = base
        for p in base.parameters():
            p.requires_grad = False
        dtype = base.weight.dtype
        self.A = torch.nn.Parameter(torch.empty(rank, base.in_features, dtype=dtype))
        self.B = torch.nn.Parameter(torch.zeros(base.out_features, rank, dtype=dtype))
        torch.nn.init.kaiming_uniform_(self.A, a=5**0.5)
        self.alpha, self.rank, self.old = alpha, rank, None

    def update(self):
        return torch.einsum("or,ri->oi", self.B, self.A) * (self.alpha / self.rank)

    def forward(self, x):
        if self.old is not None:
            return torch.nn.functional.linear(x, self.base.weight, self.base.bias)
        weight = self.base.weight + self.update()
        return torch.nn.functional.linear(x, weight, self.base.bias)

    def merge(self):
        if self.old is None:
            self.old = self.base.weight.detach().clone()
            self.base.weight.data += self.update().detach()

    def unmerge(self):
        if self.old is not None:
            self.base.weight.data.copy_(self.old)
            self.old = None


class lora_linear_right_new_parameter(torch.nn.Module):
    def __init__(self, base, rank, alpha):
        super().__init__()
        self.base = base
        self.base.weight.requires_grad = False
        if self.base.bias is not None:
            self.base.bias.requires_grad = False
        down = torch.nn.Linear(base.in_features, rank, bias=False, dtype=base.weight.dtype)
        self.A = down.weight
        self.B = torch.nn.Parameter(base.weight.new_zeros(base.out_features, rank))
        self.sign, self.factor = 1, alpha / rank

    def forward(self, x):
        if self.sign < 0:
            return self.base(x)
        small = torch.nn.functional.linear(x, self.A)
        return self.base(x) + torch.nn.functional.linear(small, self.B) * self.factor

    def _move(self, sign):
        if self.sign == sign:
            changed = self.base.weight + sign * self.factor * self.B @ self.A
            self.base.weight = torch.nn.Parameter(changed.detach(), requires_grad=False)
            self.sign = -sign

    def merge(self):
        self._move(1)

    def unmerge(self):
        self._move(-1)


def lora_linear_cases(rng, given):
    def made(shape, rank, steps, alpha, bias=True, dtype=torch.float32):
        outputs, inputs = shape
        more = {"dtype": dtype}
        return {
            "weight": torch.tensor(rng.normal(size=shape) / inputs**0.5, **more),
            "bias": torch.tensor(rng.normal(size=outputs), **more) if bias else None,
            "a": torch.tensor(rng.normal(size=(rank, inputs)) / inputs**0.5, **more),
            "b": torch.tensor(rng.normal(size=(outputs, rank)) / rank**0.5, **more),
            "alpha": alpha,
            "x": torch.tensor(rng.normal(size=(3, inputs)), **more),
            "steps": steps,
        }

    rank, alpha = given["rank"], given["alpha"]
    yield "start", made((5, 7), 2, ["start", "trained"], alpha)
    yield "start", made((24, 40), rank, ["start", "trained"], alpha, bias=False)
    yield "start", made((6, 4), 3, ["start", "trained"], 1, dtype=torch.float64)
    yield "forward", made((1, 1), 1, ["load", "output", "gradients"], alpha)
    yield "forward", made((24, 40), rank, ["load", "output", "gradients"], alpha)
    yield "forward", made((40, 24), 3, ["load", "output"], alpha, bias=False, dtype=torch.float64)
    batched = made((12, 9), 2, ["load", "output"], 3)
    batched["x"] = torch.tensor(rng.normal(size=(2, 3, 9)), dtype=torch.float32)
    yield "forward", batched
    once = ["load", "merge", "weight", "output", "unmerge", "weight", "output"]
    twice = ["load", "merge", "merge", "weight", "output", "unmerge", "unmerge", "weight", "output"]
    early = ["load", "unmerge", "weight", "output", "gradients"]
    again = ["load", "merge", "unmerge", "gradients", "trained", "merge", "output", "weight"]
    for steps in (once, twice, early, again):
        yield "merging", made((24, 40), rank, steps, alpha)
    yield "merging", made((7, 5), 2, twice, 5, bias=False, dtype=torch.float64)


class lora_linear_wrong_scaled_by_alpha(lora_linear):
    def __init__(self, base, rank, alpha):
        super().__init__(base, rank, alpha * rank)


class lora_linear_wrong_base_not_frozen(lora_linear):
    def __init__(self, base, rank, alpha):
        super().__init__(base, rank, alpha)
        base.requires_grad_(True)


class lora_linear_wrong_bias_not_frozen(lora_linear):
    def __init__(self, base, rank, alpha):
        super().__init__(base, rank, alpha)
        if base.bias is not None:
            base.bias.requires_grad_(True)


class lora_linear_wrong_both_random(lora_linear):
    def __init__(self, base, rank, alpha):
        super().__init__(base, rank, alpha)
        torch.nn.init.normal_(self.B)


class lora_linear_wrong_both_zero(lora_linear):
    def __init__(self, base, rank, alpha):
        super().__init__(base, rank, alpha)
        torch.nn.init.zeros_(self.A)


class lora_linear_wrong_merged_counts_twice(lora_linear):
    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.A.T @ self.B.T)


class lora_linear_wrong_merges_again(lora_linear):
    @torch.no_grad()
    def merge(self):
        self.base.weight += self.scale * (self.B @ self.A)
        self.merged = True

    @torch.no_grad()
    def unmerge(self):
        self.base.weight -= self.scale * (self.B @ self.A)
        self.merged = False


class lora_linear_wrong_nonlinear(lora_linear):
    def forward(self, x):
        y = self.base(x)
        return y if self.merged else y + self.scale * (torch.relu(x @ self.A.T) @ self.B.T)


class lora_linear_wrong_scales_the_whole(lora_linear):
    def forward(self, x):
        y = self.base(x)
        return y if self.merged else (y + x @ self.A.T @ self.B.T) * self.scale


def solve(given):
    """Counts what torch would train, and looks at the gradients of a first step."""
    with torch.device("meta"):
        base = torch.nn.Linear(given["inputs"], given["outputs"], bias=False)
        down = torch.nn.Linear(given["inputs"], given["rank"], bias=False)
        up = torch.nn.Linear(given["rank"], given["outputs"], bias=False)
    base.requires_grad_(False)
    layers = torch.nn.ModuleList([base, down, up])
    trained = sum(p.numel() for p in layers.parameters() if p.requires_grad)

    # FLOPs as torch counts them, with tensors that hold no numbers.
    x = torch.empty(1, given["inputs"], device="meta")
    counts = []
    for run in (lambda: base(x), lambda: up(down(x))):
        with FlopCounterMode(display=False) as counter:
            run()
        counts.append(counter.get_total_flops())

    # The alpha that gives two adapters with a constant update the same output.
    ones = torch.ones(1, 4, dtype=torch.float64)
    outputs = {}
    for rank in (given["rank"], given["times"] * given["rank"]):
        layer = lora_linear(torch.nn.Linear(4, 3, bias=False, dtype=torch.float64), rank, 1)
        with torch.no_grad():
            layer.A.fill_(1 / rank)
            layer.B.fill_(1)
            outputs[rank] = (layer(ones) - layer.base(ones)).mean().item()
    first, second = outputs.values()

    small = lora_linear_right_keeps_the_old_weight(torch.nn.Linear(6, 5), 2, 4)
    if not given["usual"]:
        with torch.no_grad():
            small.A.zero_()
            small.B.fill_(0.5)
    small(torch.arange(12.0).reshape(2, 6)).square().sum().backward()
    moved = (bool(small.A.grad.any()), bool(small.B.grad.any()))
    names = {(True, True): "both", (True, False): "a-only", (False, True): "b-only"}
    return {
        "trained": trained,
        "overhead": 100 * counts[1] / counts[0],
        "second_alpha": round(given["alpha"] * first / second),
        "first_step": names.get(moved, "neither"),
    }
