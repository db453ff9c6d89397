"""Answers with objects whose every method raises.

earns: nothing
"""


# %%
class Never:
    def fail(self, *_, **__):
        raise BaseException("no")

    __repr__ = __str__ = __float__ = __int__ = __index__ = __bool__ = __len__ = __iter__ = fail
    __eq__ = __lt__ = __hash__ = __getattr__ = __getattribute__ = __reduce__ = __format__ = fail
    __contains__ = __getitem__ = __call__ = __array__ = __complex__ = __round__ = fail


for name in ANSWERS:
    globals()[name] = Never()
