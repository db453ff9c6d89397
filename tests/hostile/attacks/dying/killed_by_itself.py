"""Kills itself with SIGKILL.

earns: honest
"""

# %% before
import os

os.kill(os.getpid(), 9)
