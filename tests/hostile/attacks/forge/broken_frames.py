"""Sends frames that are no messages: wrong signatures, no JSON, deep JSON, too few, too many.

earns: honest
"""

# %%
from IPython import get_ipython

kernel = get_ipython().kernel
session, stream = kernel.session, kernel.iopub_socket
deep = b"[" * 200_000
for parts in ([b"{}"] * 4, [b"\xff\xfe"] * 4, [deep] * 4, [b"{}"] * 2, [b"{}"] * 3 + [b"x"] * 50):
    stream.send_multipart([b"<IDS|MSG>", session.sign(parts), *parts])
    stream.send_multipart([b"<IDS|MSG>", b"0" * 64, *parts])
    stream.send_multipart(parts)
    kernel.shell_stream.send_multipart([*kernel._parent_ident["shell"], b"<IDS|MSG>", *parts])
