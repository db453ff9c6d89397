"""Sends the same signed message as fast as it can, faster than anybody reads.

earns: honest
"""

# %%

from IPython import get_ipython

kernel = get_ipython().kernel
sockets = [kernel.iopub_socket, getattr(kernel.iopub_socket, "_socket", None)]
socket = next(s for s in reversed(sockets) if s is not None)
content = {"name": "stdout", "text": "x" * 10}
message = kernel.session.msg("stream", content, parent=kernel.get_parent("shell"))
parts = kernel.session.serialize(message, ident=b"stream.stdout")
while True:
    socket.send_multipart(parts)
