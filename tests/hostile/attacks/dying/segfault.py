"""Reads, writes and calls at addresses where nothing is.

earns: honest
"""

# %% before
import ctypes

ctypes.string_at(0)

# %%
import ctypes

ctypes.CFUNCTYPE(None)(1)()
