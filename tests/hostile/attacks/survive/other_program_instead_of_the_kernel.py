"""Replaces the kernel's process by another program.

earns: honest
says: ran longer than 2 s
"""

# %%
import os

os.execvp("sleep", [TOKEN, "60"])
