"""Aborts.

earns: honest
"""

# %% before
import os

os.abort()
