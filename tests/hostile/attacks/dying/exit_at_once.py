"""Ends the kernel with os._exit, before and after the answers.

earns: honest
"""

# %% before
import os

os._exit(0)

# %%
import os

os._exit(1)
