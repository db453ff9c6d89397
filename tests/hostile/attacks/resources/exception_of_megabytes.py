"""Raises errors whose text is huge, hangs, or raises, and groups of errors in groups.

earns: honest
slow: yes
"""

# %%
raise ValueError("x" * 50_000_000)

# %%
group = ExceptionGroup("x", [ValueError(1)])
for _ in range(90):
    group = ExceptionGroup("x" * 1000, [group, ValueError("y" * 1000)])
raise group


# %%
class Odd(Exception):
    def __str__(self):
        raise self

    __repr__ = __str__


Odd.__name__ = "x" * 100_000
raise Odd


# %%
class Slow(Exception):
    def __str__(self):
        while True:
            pass


raise Slow
