"""Answers with objects of classes whose name, module and checks are code.

earns: nothing
"""


# %%
class Meta(type):
    def __getattribute__(cls, name):
        return Name("x" * 10**7) if name in ("__module__", "__qualname__") else 1 / 0

    __instancecheck__ = __subclasscheck__ = lambda *_: True
    __eq__ = lambda *_: True
    __hash__ = lambda _: hash(float)


class Name(str):
    def __add__(self, other):
        while True:
            pass

    __radd__ = __getitem__ = __add__


class Odd(metaclass=Meta):
    pass


for name in ANSWERS:
    globals()[name] = Odd()
