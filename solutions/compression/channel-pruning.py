"""Builds smaller modules; counts the work of meta tensors, and searches for half of it."""

import copy

import torch
from torch.utils.flop_counter import FlopCounterMode

SETTINGS = ("kernel_size", "stride", "padding", "dilation", "padding_mode")


def _convolution(old, weight, bias):
    new = torch.nn.Conv2d(
        weight.shape[1],
        weight.shape[0],
        bias=bias is not None,
        dtype=weight.dtype,
        **{name: getattr(old, name) for name in SETTINGS},
    )
    with torch.no_grad():
        new.weight.copy_(weight)
        if bias is not None:
            new.bias.copy_(bias)
    return new.eval()


def remove_channels(first, norm, second, keep):
    keep = torch.tensor(keep)
    bias = None if first.bias is None else first.bias[keep]
    small = torch.nn.BatchNorm2d(len(keep), eps=norm.eps, dtype=norm.weight.dtype).eval()
    with torch.no_grad():
        for name in ("weight", "bias", "running_mean", "running_var"):
            getattr(small, name).copy_(getattr(norm, name)[keep])
    return (
        _convolution(first, first.weight[keep], bias),
        small,
        _convolution(second, second.weight[:, keep], second.bias),
    )


def remove_channels_right_copies(first, norm, second, keep):
    first, norm, second = copy.deepcopy(first), copy.deepcopy(norm), copy.deepcopy(second)
    order = sorted(keep)

    def cut(module, name, axis):
        old = getattr(module, name)
        if old is None:
            return
        new = old.detach().index_select(axis, torch.tensor(order)).clone()
        if isinstance(old, torch.nn.Parameter):
            new = torch.nn.Parameter(new)
        setattr(module, name, new)

    cut(first, "weight", 0)
    cut(first, "bias", 0)
    for name in ("weight", "bias", "running_mean", "running_var"):
        cut(norm, name, 0)
    cut(second, "weight", 1)
    first.out_channels = norm.num_features = second.in_channels = len(order)
    return first, norm, second


def remove_channels_right_by_mask(first, norm, second, keep):
    mask = torch.zeros(first.out_channels, dtype=torch.bool)
    mask[keep] = True
    result = []
    for module, rows, columns in ((first, True, False), (norm, True, False), (second, False, True)):
        state = {}
        for name, value in module.state_dict().items():
            if value.dim() == 0:
                state[name] = value
                continue
            value = value[mask] if rows else value
            state[name] = value[:, mask] if columns and value.dim() > 1 else value
        if module is norm:
            new = torch.nn.BatchNorm2d(len(keep), eps=norm.eps)
        else:
            outputs, inputs = state["weight"].shape[:2]
            new = torch.nn.Conv2d(
                inputs,
                outputs,
                module.kernel_size,
                module.stride,
                module.padding,
                module.dilation,
                bias="bias" in state,
                padding_mode=module.padding_mode,
            )
        new = new.to(module.weight.dtype)
        new.load_state_dict(state)
        result.append(new.eval())
    return tuple(result)


def remove_channels_cases(rng, given):
    def case(channels, keep, settings=({}, {}), eps=1e-5, size=6, dtype=torch.float32):
        first, second = ({"kernel_size": 3, "padding": 1, **each} for each in settings)
        x = torch.tensor(rng.normal(size=(2, channels[0], size, size)), dtype=dtype)
        return {
            "x": x,
            "channels": list(channels),
            "settings": [first, eps, second],
            "seed": int(rng.integers(1 << 30)),
            "keep": keep,
        }

    def some(count, of, in_order=True):
        found = rng.permutation(of)[:count].tolist()
        return sorted(found) if in_order else found

    yield "plain", case((3, 8, 4), some(4, 8))
    yield "plain", case((3, 8, 4), [0])
    yield "plain", case((5, 6, 6), list(range(6)))
    yield "plain", case((4, 16, 4), some(int(16 * given["kept"]), 16))
    yield "settings", case((3, 8, 5), some(5, 8), ({"bias": False}, {"bias": False}))
    yield "settings", case((3, 7, 5), some(3, 7), ({"stride": 2}, {"padding": 0}), eps=0.1)
    yield "settings", case((3, 7, 5), some(4, 7), ({"dilation": 2, "padding": 2}, {"stride": 3}))
    wide = ({"kernel_size": 1, "padding": 0}, {"kernel_size": 5, "padding": 2})
    yield "settings", case((4, 9, 2), some(5, 9), wide, dtype=torch.float64)
    yield "order", case((3, 9, 4), [7, 1, 4, 0])
    yield "order", case((4, 9, 9), [8, 7, 3, 1, 0], ({"bias": False}, {}))
    yield "order", case((4, 12, 3), some(6, 12, in_order=False))
    yield "order", case((2, 12, 12), some(9, 12, in_order=False), dtype=torch.float64)


def remove_channels_wrong_masked(first, norm, second, keep):
    first, second, norm = (copy.deepcopy(m) for m in (first, second, norm))
    drop = [i for i in range(first.out_channels) if i not in keep]
    with torch.no_grad():
        second.weight[:, drop] = 0
    return first, norm, second


def remove_channels_wrong_default_settings(first, norm, second, keep):
    made = remove_channels(first, norm, second, keep)
    result = []
    for module in (made[0], made[2]):
        outputs, inputs = module.weight.shape[:2]
        new = torch.nn.Conv2d(inputs, outputs, module.kernel_size, padding=module.padding)
        new.load_state_dict(module.state_dict(), strict=False)
        result.append(new.to(module.weight.dtype).eval())
    return result[0], made[1], result[1]


def remove_channels_wrong_statistics_reset(first, norm, second, keep):
    made = remove_channels(first, norm, second, keep)
    made[1].reset_running_stats()
    return made


def remove_channels_wrong_shift_of_others(first, norm, second, keep):
    """Sets the removed outputs of the convolution to 0, where batch norm still shifts them."""
    made = remove_channels(first, norm, second, keep)
    drop = [i for i in range(first.out_channels) if i not in keep]
    with torch.no_grad():
        norm = copy.deepcopy(norm)
        zeros = torch.zeros(1, first.out_channels, 1, 1, dtype=norm.weight.dtype)
        shifts = torch.relu(norm(zeros))[0, drop, 0, 0]
        if made[2].bias is not None:
            made[2].bias += (second.weight[:, drop].sum((2, 3)) * shifts).sum(1)
    return made


def remove_channels_wrong_first_inputs(first, norm, second, keep):
    """Keeps the first channels, as many as are wanted."""
    return remove_channels(first, norm, second, list(range(len(keep))))


def remove_channels_wrong_orders_mixed(first, norm, second, keep):
    made = remove_channels(first, norm, second, keep)
    made[2].weight.data.copy_(second.weight[:, sorted(keep)])
    return made


def remove_channels_wrong_removes_keep(first, norm, second, keep):
    others = [i for i in range(first.out_channels) if i not in keep]
    return remove_channels(first, norm, second, others or keep)


def remove_channels_wrong_changes_the_given(first, norm, second, keep):
    made = remove_channels(first, norm, second, keep)
    with torch.no_grad():
        first.weight.zero_()
    return made


def work(given, share):
    """Return multiply-adds of the three layers with a share of channels, counted by torch."""
    c1, c2 = (max(1, round(share * given[name])) for name in ("c1", "c2"))
    sizes = [(3, c1, given["s1"]), (c1, c2, given["s2"]), (c2, given["c3"], given["s3"])]
    found = []
    for inputs, outputs, size in sizes:
        with torch.device("meta"), FlopCounterMode(display=False) as counter:
            layer = torch.nn.Conv2d(inputs, outputs, 3, padding=1)
            layer(torch.empty(1, inputs, size, size))
        found.append(counter.get_total_flops() // 2)
    return found


def solve(given):
    before, after = work(given, 1), work(given, given["kept"])

    def share_of_work(share):
        sides = [(1, share), (share, share), (share, 1)]
        return sum(w * i * o for w, (i, o) in zip(before, sides, strict=True)) / sum(before)

    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if share_of_work(middle) < 0.5 else (low, middle)
    left = sum(after) / sum(before)
    times = {
        "masked": 1.0,
        "sparse": given["density"] / given["rate"],
        "structured": 1 / given["structured"],
        "channels": left / given["efficiency"],
    }
    readers = {"a": {"b"}, "b": {"c"}, "c": {"sum"}, "d": {"sum"}}
    return {
        "layers": [[old / 1e6, 100 * new / old] for old, new in zip(before, after, strict=True)],
        "total": 100 * left,
        "half_of_work": 100 * high,
        "fastest": min(times, key=times.get),
        "residual": {name for name, into in readers.items() if "sum" not in into},
    }
