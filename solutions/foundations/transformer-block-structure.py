"""Runs PyTorch's encoder layer and records what is called, and counts its parameters and FLOPs."""

import functools

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode


def solve(given):
    width, inner, layers = given["hidden"], given["ffn"], given["layers"]
    pre = given["placement"] == "pre-norm"
    with torch.device("meta"):
        layer = nn.TransformerEncoderLayer(width, 8, inner, batch_first=True, norm_first=pre)
        stack = nn.TransformerEncoder(
            layer, layers, norm=nn.LayerNorm(width) if pre else None, enable_nested_tensor=False
        )
        kept = [module for module in stack.modules() if isinstance(module, nn.LayerNorm)]
        matrices = [p for p in layer.parameters() if p.dim() == 2]
        with FlopCounterMode(display=False) as counter:
            for matrix in matrices:
                torch.empty(1, matrix.shape[1]) @ matrix.T
    products = counter.get_total_flops()
    norms = sum(
        given["per_element"] * width for m in layer.children() if isinstance(m, nn.LayerNorm)
    )
    moved = [torch.empty(width, dtype=torch.bfloat16, device="meta") for _ in range(2 * 2)]
    norm_time = sum(each.nbytes for each in moved) / (given["bandwidth"] * 1e12)
    product_time = products / (given["rate"] * 1e12)

    def share(width=1, tokens=1, rate=1, blocks=1):
        small = norm_time * width * tokens * blocks
        return small / (small + product_time * width**2 * tokens * blocks / rate)

    changed = {
        "wider": share(width=2),
        "tokens": share(tokens=2),
        "faster": share(rate=2),
        "blocks": share(blocks=2),
    }
    return {
        "block": recorded(),
        "heads": dispatched(),
        "trainable": trainable(),
        "norm_parameters": sum(p.numel() for module in kept for p in module.parameters()),
        "flop_share": 100 * norms / (norms + products),
        "time_share": 100 * share(),
        "halve": (min if given["smaller"] else max)(changed, key=changed.__getitem__),
    }


@functools.cache
def recorded():
    """The operations of a small pre-norm layer in the order in which PyTorch calls them."""
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, norm_first=True)
    order, inputs, outputs = [], {}, {}

    def hook(name):
        def record(module, arguments, result):
            order.append(name)
            inputs[name] = arguments[0]
            outputs[name] = result[0] if isinstance(result, tuple) else result

        return record

    names = {"norm1": "norm-1", "self_attn": "attention", "norm2": "norm-2", "dropout2": "mlp"}
    for attribute, name in names.items():
        getattr(layer, attribute).register_forward_hook(hook(name))
    x = torch.randn(1, 3, 8, generator=torch.Generator().manual_seed(0))
    result = layer(x)
    middle = x + outputs["attention"]
    if torch.allclose(inputs["norm-2"], middle):
        order.insert(order.index("norm-2"), "add-1")
    if torch.allclose(result, middle + outputs["mlp"], atol=1e-6):
        order.append("add-2")
    return order


class Dispatched(TorchDispatchMode):
    """Records the names of the operators that PyTorch dispatches."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        self.names.append(operator.overloadpacket.__name__)
        return operator(*args, **(kwargs or {}))


@functools.cache
def dispatched():
    """The steps of causal attention in the order of PyTorch's operators, without fused kernels."""
    layer = nn.MultiheadAttention(8, 2, bias=False, batch_first=True)
    x, mask = torch.randn(1, 3, 8), torch.full((3, 3), -torch.inf).triu(1)
    with sdpa_kernel(SDPBackend.MATH), Dispatched() as mode:
        layer(x, x, x, attn_mask=mask, need_weights=False)
    products = [i for i, name in enumerate(mode.names) if name in ("mm", "addmm", "bmm")]
    project, scores, values, output = products
    found = {"project": project, "scores": scores, "values": values, "output": output}
    found["mask"] = next(i for i, name in enumerate(mode.names) if i > scores and name == "add")
    found["softmax"] = next(i for i, name in enumerate(mode.names) if "softmax" in name)
    # The heads are joined by the first copy after the values.
    found["concatenate"] = next(i for i, n in enumerate(mode.names) if i > values and n == "clone")
    return sorted(found, key=found.__getitem__)


@functools.cache
def trainable():
    attention = nn.MultiheadAttention(8, 2)
    modules = {
        "output": attention.out_proj,
        "rms": nn.RMSNorm(8),
        "positions": nn.Embedding(16, 8),
        "gelu": nn.GELU(),
    }
    found = {name for name, module in modules.items() if list(module.parameters())}
    # What is left of attention and of a whole layer besides projections, MLP, and normalizations.
    layer = nn.TransformerEncoderLayer(8, 2, 16)
    projections = {"in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"}
    if {name for name, _ in attention.named_parameters()} - projections:
        found.add("core")
    named = {name.split(".")[0] for name, _ in layer.named_parameters()}
    if named - {"self_attn", "linear1", "linear2", "norm1", "norm2"}:
        found.add("residual")
    # Rotary embeddings rotate by fixed angles (Su et al., RoFormer, section 3.2.2).
    return sorted(found)
