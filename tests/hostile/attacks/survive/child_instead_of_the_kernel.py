"""Forks, ends the kernel, and goes on as its child.

earns: honest
"""

# %%
import os

if os.fork():
    os._exit(0)
