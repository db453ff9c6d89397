"""Recurses in C until the stack of the process is used up.

earns: honest
"""

# %% before
import sys


class Deeper:
    def __repr__(self):
        return repr(self)


sys.setrecursionlimit(10**9)
repr(Deeper())
