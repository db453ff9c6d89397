"""Answers NaN, infinities, negative zero and numbers at the ends of their range.

earns: nothing
"""

# %%
q1_per_gpu = float("nan")
q1_fits = float("-inf")
q2_loader_workers = float("inf")
q2_start_methods = {n: float("nan") for n in range(1, 6)}
q3_per_token = -0.0

# %%
q1_per_gpu = 1.7976931348623157e308
q2_loader_workers = 5e-324
q3_per_token = complex("nan+infj")
