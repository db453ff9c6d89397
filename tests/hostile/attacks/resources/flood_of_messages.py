"""Sends the same signed message as fast as it can, faster than anybody reads.

earns: honest
"""

# %%
import hmac
import os
import struct

from IPython import get_ipython

kernel = get_ipython().kernel
stream, session, parent = kernel.iopub_socket, kernel.session, kernel.get_parent("shell")
if hasattr(stream, "send_multipart"):
    sockets = [stream, getattr(stream, "_socket", None)]
    socket = next(s for s in reversed(sockets) if s is not None)
    message = session.msg("stream", {"name": "stdout", "text": "x" * 10}, parent=parent)
    parts = session.serialize(message, ident=b"stream.stdout")
    while True:
        socket.send_multipart(parts)
os.set_blocking(stream.fileno(), True)
head = b'{"kind": "stream", "to": "%s"}' % parent["header"]["msg_id"].encode()
body = b'{"name": "stdout", "text": "xxxxxxxxxx"}'
tag = hmac.digest(session.key, head + body, "sha256")
whole = struct.pack("!II", len(head), len(body)) + tag + head + body
while True:
    os.write(stream.fileno(), whole)
