"""Closes the kernel's sockets and descriptors under its feet.

earns: honest
"""

# %%
from IPython import get_ipython

kernel = get_ipython().kernel
kernel.shell_stream.close()
kernel.iopub_socket.close()

# %%
import os

os.closerange(0, 1000)
