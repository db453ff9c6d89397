"""Computes a power in C, where no interrupt is looked at.

earns: honest
says: ran longer than 2 s
"""

# %% before
x = 7 ** (10**9)
