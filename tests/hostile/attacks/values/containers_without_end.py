"""Answers with generators, ranges and mappings that have no end or claim to have none.

earns: nothing
"""

# %%
import collections
import itertools

q1_per_gpu = itertools.count()
q1_fits = (letter for letter in itertools.cycle("AB"))
q2_loader_workers = range(10**18)
q2_start_methods = collections.defaultdict(lambda: "A")
q3_per_token = {n: n for n in range(10**6)}
