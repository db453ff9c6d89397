"""Answers with numpy scalars and arrays of every odd type.

earns: nothing
needs: numpy
"""

# %%
import numpy as np

q1_per_gpu = np.longdouble("1e4000")
q1_fits = np.array(["A"])[0]
q2_loader_workers = np.datetime64("2024-01-01")
q2_start_methods = np.array([(1, "A"), (2, "B")], dtype=[("item", "i4"), ("letter", "U1")])
q3_per_token = np.array(None)

# %%
q1_per_gpu = np.broadcast_to(np.float64(28), (10**6, 10**6, 10**5))
q1_fits = np.array([object()] * 3 + [get_ipython()], dtype=object)
q2_loader_workers = np.float16("inf")
q2_start_methods = np.zeros((0,) * 30)
q3_per_token = np.ma.masked
