"""Answers with plain types that have been derived from, and with what looks like them.

earns: nothing
"""

# %%
import collections
import decimal
import enum
import fractions


class Count(enum.IntEnum):
    MANY = -7


class Sheet(dict):
    items = keys = __iter__ = lambda self: iter([(n, "A") for n in range(10**9)])


q1_per_gpu = decimal.Decimal("sNaN")
q1_fits = collections.UserString("AB")
q2_loader_workers = Count.MANY
q2_start_methods = Sheet()
q3_per_token = fractions.Fraction(1, 10**5000)

# %%
q1_per_gpu = decimal.Decimal("1e999999999")
q3_per_token = fractions.Fraction(10**5000, 1)
