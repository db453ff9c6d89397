"""Answers whole numbers of a hundred thousand and of a hundred million digits.

earns: nothing
"""

# %%
q1_per_gpu = 10**100_000
q2_loader_workers = -(10**4300)
q3_per_token = 1 << 300_000_000
q1_fits = 10**4299
q2_start_methods = {10**5000: "A", -1: 10**5000}
