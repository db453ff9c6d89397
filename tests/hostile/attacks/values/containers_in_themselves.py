"""Answers with lists and dicts that hold themselves, and with very deep ones.

earns: nothing
"""

# %%
q1_per_gpu = []
q1_per_gpu += [q1_per_gpu, q1_per_gpu]
q1_fits = {}
q1_fits["A"] = q1_fits
q2_start_methods = {n: q1_fits for n in range(1, 6)}
q2_loader_workers = ()
for _ in range(200_000):
    q2_loader_workers = (q2_loader_workers,)
q3_per_token = [[[["A"] * 200] * 200] * 200] * 200
