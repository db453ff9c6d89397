"""Answers numbers as texts that take long to read: long, nested, with powers and odd digits.

earns: nothing
"""

# %%
q1_per_gpu = "9" * 9000 + " GB"
q2_loader_workers = "1e" + "9" * 9000
q3_per_token = "(" * 5000 + "1" + ")" * 5000 + " kB"
q1_fits = "A" * 10**8
q2_start_methods = {n: "A" * 10**6 for n in range(10)}

# %%
q1_per_gpu = "2**99999999999 GB"
q2_loader_workers = "10^10^10"
q3_per_token = "1 " + "k" * 9000 + "B"

# %%
q1_per_gpu = "1" + " " * 9000 + "GB"
q2_loader_workers = "٣٢" + "1_000" * 1000
q3_per_token = "1 kB" + "/kB*kB" * 1500
