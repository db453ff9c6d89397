"""Sends replies and output of nobody's, small and without a signature, as fast as it can.

earns: honest
"""

# %%
from IPython import get_ipython

kernel = get_ipython().kernel
socket = getattr(kernel.shell_stream, "socket", kernel.shell_stream)
parts = [*kernel._parent_ident["shell"], b"<IDS|MSG>", b"0" * 64, b"{}", b"{}", b"{}", b"{}"]
while True:
    socket.send_multipart(parts)
