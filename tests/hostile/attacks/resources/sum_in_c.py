"""Sums a range that takes hours, in C.

earns: honest
says: ran longer than 2 s
"""

# %%
x = sum(range(10**13))
