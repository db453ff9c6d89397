"""What a piece of PyTorch code does, counted rather than timed: FLOPs, bytes, kernels, memory.

Counts are the same on every machine. The rules:

- A FLOP is one addition or one multiplication; any other function of one element (a comparison, an
  exponential, a GELU) counts as one FLOP too. A product of m x k by k x n has 2 m k n.
- A kernel is an operator that computes or copies something. Looking at a tensor in another way
  (`x.T`, `x[0]`, `x.view(...)`), allocating without writing, and `.item()` are none.
- An operator reads each of its operands once and writes its result once, all of it. Broadcasting
  repeats nothing, and `x * x` reads x once. Picking rows reads what is picked, and the indices.
"""

import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry, sdpa_backward_flop_count, sdpa_flop_count

# Products that PyTorch's own counter leaves out.
_PRODUCTS = {
    "mv": lambda a, x: 2 * a.numel(),
    "addmv": lambda y, a, x: 2 * a.numel(),
    "dot": lambda x, y: 2 * x.numel(),
    "_scaled_dot_product_flash_attention_for_cpu":
        lambda q, k, v, *_: sdpa_flop_count(q.shape, k.shape, v.shape),
    "_scaled_dot_product_flash_attention_for_cpu_backward":
        lambda g, q, k, v, *_: sdpa_backward_flop_count(g.shape, q.shape, k.shape, v.shape),
}  # fmt: skip
# One FLOP for every element of the result; in-place versions (`add_`) are the same operators.
_ONE = {
    "add", "sub", "rsub", "mul", "div", "neg", "abs", "pow", "sqrt", "rsqrt", "reciprocal", "sign",
    "exp", "log", "log2", "log1p", "sin", "cos", "erf", "tanh", "sigmoid", "relu", "gelu", "silu",
    "elu", "softplus", "threshold", "threshold_backward", "maximum", "minimum", "clamp", "where",
    "clamp_min", "clamp_max", "masked_fill", "eq", "ne", "lt", "le", "gt", "ge", "floor", "ceil",
    "round", "remainder", "logical_and", "logical_or", "logical_not",
}  # fmt: skip
# More than one: softmax takes the largest, subtracts, exponentiates, sums and divides.
_EACH = dict.fromkeys(_ONE, 1) | {
    "_softmax": 5, "_log_softmax": 5, "_softmax_backward_data": 4, "_log_softmax_backward_data": 4,
    "addcmul": 2, "addcdiv": 2, "lerp": 3, "sigmoid_backward": 3, "tanh_backward": 3,
}  # fmt: skip
# FLOPs for every element of the operand that is reduced (var: mean, subtract, square, sum).
_REDUCING = {
    "sum": 1, "mean": 1, "amax": 1, "amin": 1, "max": 1, "min": 1, "prod": 1, "cumsum": 1, "var": 4,
    "argmax": 1, "argmin": 1, "std": 4, "linalg_vector_norm": 2, "logsumexp": 4, "mse_loss": 3,
}  # fmt: skip
_PICKING = {"index", "gather", "embedding", "index_select", "take"}
_FILLING = {"copy_", "fill_", "zero_", "normal_", "uniform_", "random_", "bernoulli_"}
_MOVING = _PICKING | _FILLING | {
    "clone", "_to_copy", "cat", "stack", "zeros", "zeros_like", "new_zeros", "ones", "ones_like",
    "full", "full_like", "new_ones", "eye", "arange", "scalar_tensor", "rand", "randn", "randint",
    "scatter", "index_put", "flip", "roll", "tril", "triu", "sort", "topk", "nll_loss_forward",
}  # fmt: skip


def _tensors(value):
    """Every tensor in it, each once."""
    found, left = {}, [value]
    while left:
        item = left.pop()
        if isinstance(item, torch.Tensor):
            found[item.data_ptr(), item.shape, item.stride(), item.dtype] = item
        elif isinstance(item, (list, tuple)):
            left += reversed(item)
    return list(found.values())


def _bytes(tensor):
    """Of its elements; those that broadcasting repeats count once."""
    total = tensor.element_size() * bool(tensor.numel())
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        total *= size if stride else 1
    return total


class Counter(TorchDispatchMode):
    """Counts what is dispatched inside `with Counter() as counter:`.

    `kernels`; bytes `read` and `written`; FLOPs of `products` and of all others (`elementwise`);
    elements of the `largest` result; bytes newly `allocated` for results, and the `peak` of those
    alive at a time. By operator: `names`, how often it ran; `written_by`, the bytes that it wrote;
    `unknown`, those of which no FLOPs are known, and none counted.
    """

    def __init__(self):
        super().__init__()
        self.kernels = self.read = self.written = self.products = self.elementwise = 0
        self.largest = self.allocated = self.peak = self._alive = 0
        self.names, self.written_by, self.unknown = {}, {}, set()

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # PyTorch would import its compiler, which takes more than a second

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        with self:  # of operators that are made of others, those others are counted
            result = function.decompose(*args, **kwargs)
        if result is not NotImplemented:
            return result
        result = function(*args, **kwargs)
        name = function.overloadpacket.__name__
        self.names[name] = self.names.get(name, 0) + 1
        if function.is_view or torch.Tag.inplace_view in function.tags or name == "_unsafe_view":
            return result
        others = [value for key, value in kwargs.items() if key != "out"]
        results = _tensors(result)
        self._new([args, list(kwargs.values())], results)
        if name.startswith(("empty", "new_empty", "_local_scalar")):
            return result
        unread = name in _FILLING or name.endswith("_like") or name.startswith("new_")
        inputs = _tensors([args[1:] if unread else args, others])
        if name in _PICKING:
            inputs = [*results, *(t for t in inputs if not t.dtype.is_floating_point)]
        self.kernels += 1
        self.read += sum(map(_bytes, inputs))
        self.written += (written := sum(map(_bytes, results)))
        self.written_by[name] = self.written_by.get(name, 0) + written
        self.largest = max([self.largest, *(r.numel() for r in results)])
        product = _product(function.overloadpacket, args, kwargs, result)
        flops = _flops(name, args, kwargs, results)
        self.products += product or 0
        self.elementwise += flops or 0
        if product is flops is None:
            self.unknown.add(name)
        return result

    def _new(self, old, results):
        known = {tensor.untyped_storage().data_ptr() for tensor in _tensors(old)}
        for tensor in results:
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in known and storage.nbytes():
                known.add(storage.data_ptr())
                self.allocated += storage.nbytes()
                self._lives(storage.nbytes())
                weakref.finalize(storage, self._lives, -storage.nbytes())

    def _lives(self, size):
        self._alive += size
        self.peak = max(self.peak, self._alive)


def _product(operator, args, kwargs, result):
    if operator in flop_registry:
        return flop_registry[operator](*args, **kwargs, out_val=result)
    formula = _PRODUCTS.get(operator.__name__)
    return formula and formula(*args)


def _flops(name, args, kwargs, results):
    plain = name if name in _EACH else name.rstrip("_")
    if plain in _EACH:
        scaled = plain in ("add", "sub") and kwargs.get("alpha", 1) != 1
        return (_EACH[plain] + scaled) * results[0].numel()
    if name in _REDUCING:
        return _REDUCING[name] * args[0].numel()
    if name in ("addmm", "baddbmm", "addmv") or (name == "convolution" and args[2] is not None):
        return results[0].numel()  # to which something is added
    if name == "native_layer_norm":  # mean, subtract, square, sum, scale; then weight and bias
        return (5 + sum(one is not None for one in args[2:4])) * args[0].numel()
    return 0 if plain in _MOVING or name in _MOVING else None


def count(function, *args):
    """What `function(*args)` does, as a dict of counts."""
    with Counter() as counter:
        function(*args)
    return {
        "flops": counter.products + counter.elementwise,
        "product_flops": counter.products,
        "kernels": counter.kernels,
        "bytes_read": counter.read,
        "bytes_written": counter.written,
        "bytes_allocated": counter.allocated,
        "peak_bytes": counter.peak,
        "largest": counter.largest,
    }


def count_flops(function, *args):
    """FLOPs of `function(*args)`, elementwise operators and reductions included."""
    return count(function, *args)["flops"]


def saved_bytes(function, *args):
    """Bytes of the distinct storages that autograd keeps for the backward pass of
    `function(*args)`; parameters (leaves that require a gradient, and views of them) left out."""
    kept = {}

    def pack(tensor):
        root = tensor if tensor._base is None else tensor._base
        if not (root.is_leaf and root.requires_grad):
            storage = tensor.untyped_storage()
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        function(*args)
    return sum(kept.values())
