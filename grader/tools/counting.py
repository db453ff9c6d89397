"""What a piece of PyTorch code does, counted rather than timed: FLOPs, bytes, operators.

A FLOP is one addition or one multiplication. Counts are the same on every machine.
"""

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

# Operators that do arithmetic on every element, with FLOPs an element (of the result, or of the
# input where that is reduced); PyTorch's own counter leaves them out.
_ELEMENTWISE = {
    "add", "sub", "rsub", "mul", "div", "neg", "abs", "relu", "maximum", "minimum", "exp", "log",
    "sqrt", "rsqrt", "tanh", "sigmoid", "gelu", "silu", "pow", "reciprocal", "square", "clamp",
    "add_", "sub_", "mul_", "div_", "exp_", "relu_", "erf", "sin", "cos", "where", "threshold",
}  # fmt: skip
_REDUCING = {"sum", "mean", "amax", "amin", "max", "min", "prod", "var", "std", "norm", "cumsum"}
_VECTOR = {"dot": 2, "mv": 2, "vdot": 2}
# These only look at tensors in another way, and move no byte.
_VIEWS = {
    "view", "_unsafe_view", "reshape", "t", "transpose", "permute", "expand", "slice", "select",
    "squeeze", "unsqueeze", "detach", "alias", "as_strided", "split", "chunk", "unbind", "narrow",
    "lift_fresh", "_reshape_alias", "unfold", "diagonal",
}  # fmt: skip


def _tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _bytes(tensor):
    return tensor.numel() * tensor.element_size()


class Counter(TorchDispatchMode):
    """Counts what is dispatched inside `with Counter() as counter:`.

    `kernels` are operators that are no views; `read` and `written` bytes of their operands and
    results, each counted whole; `elementwise` FLOPs of operators that work element by element;
    `largest` is the most elements that any result had; `names` how often each operator ran.
    """

    def __init__(self):
        super().__init__()
        self.kernels = self.read = self.written = self.elementwise = self.largest = 0
        self.names = {}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name = function.overloadpacket.__name__
        self.names[name] = self.names.get(name, 0) + 1
        if name in _VIEWS:
            return result
        inputs = list(_tensors([args, kwargs or {}]))
        results = list(_tensors(result))
        self.kernels += 1
        self.read += sum(map(_bytes, inputs))
        self.written += sum(map(_bytes, results))
        self.largest = max([self.largest, *(r.numel() for r in results)])
        if name in _ELEMENTWISE:
            self.elementwise += sum(r.numel() for r in results)
        elif name in _REDUCING and inputs:
            self.elementwise += inputs[0].numel()
        elif name in _VECTOR:
            self.elementwise += _VECTOR[name] * inputs[0].numel()
        return result


def count(function, *args):
    """What `function(*args)` does, as a dict of counts."""
    with FlopCounterMode(display=False) as products, Counter() as counter:
        function(*args)
    return {
        "flops": products.get_total_flops() + counter.elementwise,
        "product_flops": products.get_total_flops(),
        "kernels": counter.kernels,
        "bytes_read": counter.read,
        "bytes_written": counter.written,
        "largest": counter.largest,
    }


def count_flops(function, *args):
    """FLOPs of `function(*args)`, elementwise operators and reductions included."""
    return count(function, *args)["flops"]


def saved_bytes(function, *args):
    """Bytes of the distinct storages that autograd keeps for the backward pass of
    `function(*args)`, parameters (leaves that require a gradient) left out."""
    kept = {}

    def pack(tensor):
        if not (tensor.is_leaf and tensor.requires_grad):
            storage = tensor.untyped_storage()
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = function(*args)
    total = sum(kept.values())
    del result
    return total


def page_faults(function, *args):
    """Pages that `function(*args)` made the system map for the first time."""
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    function(*args)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
