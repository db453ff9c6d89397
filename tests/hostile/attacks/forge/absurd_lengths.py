"""Announces a message of four gigabytes, and then sends bytes that are none.

earns: nothing
"""

# %%
import os

from IPython import get_ipython

wire = get_ipython().kernel.iopub_socket.fileno()
os.write(wire, b"\xff" * 8 + b"{}" * 10_000)
