"""Forks, and lets the child go on as a second kernel on the same sockets.

earns: honest
"""

# %%
import os

os.fork()
