"""Sends one frame of 100 MB, and one reply that is larger than anybody reads.

earns: honest
"""

# %%
from IPython import get_ipython

kernel = get_ipython().kernel
kernel.iopub_socket.send_multipart([b"<IDS|MSG>", b"x", b"{}", b"{}", b"{}", b"x" * 100_000_000])

# %%
print("x" * 30_000_000)
