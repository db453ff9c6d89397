"""Sends one frame of 100 MB, and one reply that is larger than anybody reads.

earns: honest
"""

# %%
import os
import struct

from IPython import get_ipython

stream = get_ipython().kernel.iopub_socket
if hasattr(stream, "send_multipart"):
    stream.send_multipart([b"<IDS|MSG>", b"x", b"{}", b"{}", b"{}", b"x" * 100_000_000])
else:
    os.set_blocking(stream.fileno(), True)
    head = b'{"kind": "stream", "to": "1"}'
    whole = struct.pack("!II", len(head), 100_000_000) + b"x" * 32 + head + b"x" * 100_000_000
    sent = 0
    while sent < len(whole):
        sent += os.write(stream.fileno(), whole[sent : sent + 1_000_000])

# %%
print("x" * 30_000_000)
