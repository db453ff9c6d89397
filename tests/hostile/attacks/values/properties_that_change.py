"""Answers with values that are another at every look, in a namespace that computes them.

earns: nothing
"""

# %%
import itertools
import sys
import types

count = itertools.count()


class Changing(types.ModuleType):
    q1_per_gpu = property(lambda self: next(count))
    q3_per_token = property(lambda self: float(next(count)))


sys.modules["__main__"].__class__ = Changing
for name in ("q1_per_gpu", "q3_per_token"):
    globals().pop(name, None)
