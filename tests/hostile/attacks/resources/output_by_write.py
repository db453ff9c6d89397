"""Writes 200 MB to the descriptors of standard output and standard error.

earns: honest
"""

# %%
import os

for _ in range(100):
    os.write(1, b"x" * 1_000_000)
    os.write(2, b"\n" * 1_000_000)
