"""Answers texts with NUL, half characters, marks that turn the direction, codes for terminals.

earns: nothing
"""

# %%
q1_per_gpu = "28\0GB"
q1_fits = "\ud800"
q2_loader_workers = "\u202e82\u202c"
q2_start_methods = {"\x1b[31m1": "A\x07", "１": "Ａ", "\ufeff2": "B\u200d"}
q3_per_token = "a\u0300" * 5000
