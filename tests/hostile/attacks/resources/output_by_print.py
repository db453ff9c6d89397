"""Prints 200 MB.

earns: honest
"""

# %%
for _ in range(20_000):
    print("x" * 10_000)
