"""Answers with objects that lie about their class, their length and their content.

earns: nothing
"""


# %%
class Liar:
    __class__ = property(lambda self: next(types))
    __len__ = lambda self: 10**10
    __iter__ = lambda self: iter(lambda: "A", "B")
    __float__ = lambda self: next(numbers)
    __index__ = __int__ = lambda self: 28


import itertools

types = itertools.cycle([float, str, int, dict, bool, list])
numbers = map(float, itertools.count())
for name in ANSWERS:
    globals()[name] = Liar()
