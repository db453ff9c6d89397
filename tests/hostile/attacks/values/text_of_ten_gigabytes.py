"""Answers with texts and bytes that claim to have ten gigabytes.

earns: nothing
"""


# %%
class Long(str):
    __len__ = lambda self: 10**10
    __getitem__ = lambda self, key: self
    encode = lambda self, *_: b"x" * 10**10


q1_per_gpu = Long("1")
q1_fits = "A" + "\0" * 100_000_000
q2_loader_workers = bytes(100_000_000)
