"""Answers with truth values, which Python counts among the numbers.

earns: nothing
"""

# %%
q1_per_gpu = q2_loader_workers = q3_per_token = True
q1_fits = False
q2_start_methods = {True: "A", False: "B", None: "C"}
