"""Asks for far more memory than there is, in one piece, by every library.

earns: honest
"""

# %%
x = "x" * 10**13

# %%
import numpy as np

y = np.ones((10**6, 10**6))

# %%
z = [0] * 10**11

# %%
import ctypes

w = ctypes.create_string_buffer(2**40)
