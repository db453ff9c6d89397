"""Answers numbers with ranges, lists and texts that hold every number somewhere.

earns: nothing
"""

# %%
q1_per_gpu = "0 GB to 1000 GB"
q1_fits = ["A", "B"]
q2_loader_workers = set(range(100))
q2_start_methods = "ABCD" * 5
q3_per_token = [float(n) for n in range(2000)]

# %%
q1_per_gpu = "1 GB or 2 GB or 3 GB or 10 GB or 20 GB or 26 GB or 30 GB or 52 GB"
q2_loader_workers = "1..100"
