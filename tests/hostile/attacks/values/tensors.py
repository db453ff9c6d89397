"""Answers with tensors without data, with gradients, sparse, nested, quantised and complex.

earns: nothing
needs: torch
"""

# %%
import torch

q1_per_gpu = torch.empty(10**9, 10**9, device="meta")
q1_fits = torch.tensor(1.5, requires_grad=True, dtype=torch.bfloat16) * float("nan")
q2_loader_workers = torch.sparse_coo_tensor([[0], [0]], [1.0], (10**9, 10**9))
q2_start_methods = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8)
q3_per_token = torch.tensor(1 + 1j)

# %%
q1_per_gpu = torch.empty((), device="meta")
q1_fits = torch.ones(1).expand(10**9)
q2_loader_workers = torch.tensor(True)
q3_per_token = torch.nn.Parameter(torch.zeros(()))
