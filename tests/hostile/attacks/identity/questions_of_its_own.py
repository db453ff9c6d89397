"""Adds answers for problems and parts that it was never given.

earns: nothing
"""

# %%
for number in range(-1, 30):
    for part in ("per_gpu", "fits", "loader_workers", "bonus", "points", "score", "total"):
        globals()[f"q{number}_{part}_extra"] = 100
        globals()[f"Q{number}_{part}"] = 100
globals()["q1_per_gpu "] = globals()["q1_per_gpu\u0000"] = "1 GB"
