"""Says that a cell has failed, in a text that some searches take minutes for.

earns: honest
"""

# %%
import hmac
import json
import os
import struct

from IPython import get_ipython

kernel = get_ipython().kernel
session, stream, parent = kernel.session, kernel.iopub_socket, kernel.get_parent("shell")


def say(kind, content):
    if hasattr(stream, "send_multipart"):
        channel = kernel.shell_stream if kind == "execute_reply" else stream
        session.send(channel, kind, content, parent=parent, ident=kernel._parent_ident["shell"])
        return
    head = json.dumps({"kind": kind, "to": parent["header"]["msg_id"]}).encode()
    body = json.dumps(content).encode()
    tag = hmac.digest(session.key, head + body, "sha256")
    whole = struct.pack("!II", len(head), len(body)) + tag + head + body
    os.set_blocking(stream.fileno(), True)
    while whole:
        whole = whole[os.write(stream.fileno(), whole) :]


error = {"status": "error", "ename": "E", "evalue": " (<ipython-input-" * 50_000}
say("execute_reply", {**error, "traceback": ["\x1b[" * 10_000, "Cell In[" * 5_000]})
say("status", {"execution_state": "idle"})

# %%
error["evalue"] = " (<ipython-input-" * 460_000
parent = kernel.get_parent("shell")
say("execute_reply", error)
say("status", {"execution_state": "idle"})
