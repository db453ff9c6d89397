"""Sends frames that are no messages: wrong signatures, no JSON, deep JSON, too few, too many.

earns: honest
"""

# %%
import hmac
import os
import struct

from IPython import get_ipython

kernel = get_ipython().kernel
session, stream = kernel.session, kernel.iopub_socket
deep = b"[" * 200_000
if hasattr(stream, "send_multipart"):
    for parts in (
        [b"{}"] * 4, [b"\xff\xfe"] * 4, [deep] * 4, [b"{}"] * 2, [b"{}"] * 3 + [b"x"] * 50
    ):  # fmt: skip
        stream.send_multipart([b"<IDS|MSG>", session.sign(parts), *parts])
        stream.send_multipart([b"<IDS|MSG>", b"0" * 64, *parts])
        stream.send_multipart(parts)
        kernel.shell_stream.send_multipart([*kernel._parent_ident["shell"], b"<IDS|MSG>", *parts])
else:
    os.set_blocking(stream.fileno(), True)
    for head in (b"{}", b"\xff\xfe", deep[:4_000], b'{"kind": "stream", "to": "1"}', b""):
        for body in (b"{}", b"\xff\xfe", deep, b"[]", b"", b"7"):
            for tag in (hmac.digest(session.key, head + body, "sha256"), b"0" * 32):
                front = struct.pack("!II", len(head), len(body)) + tag
                whole = front + head + body
                while whole:
                    whole = whole[os.write(stream.fileno(), whole) :]
