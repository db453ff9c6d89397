"""Sends signed messages whose parts have wrong types: lists, numbers, nothing, odd dates.

earns: honest
"""

# %%
import hmac
import json
import os
import struct

from IPython import get_ipython

kernel = get_ipython().kernel
session, stream = kernel.session, kernel.iopub_socket
good = kernel.get_parent("shell")["header"]
bad = [[], 7, None, "text", {}, {"msg_id": 7}, {"date": "yesterday"}, {"msg_id": good["msg_id"]}]
bad += [{"kind": kind, "to": good["msg_id"]} for kind in ("status", "stream", [], None)]
for parent in bad:
    for header in bad:
        for content in ([], {"execution_state": ["idle"]}, {"data": [], "text": {}}):
            if hasattr(stream, "send_multipart"):
                parts = [session.pack(part) for part in (header, parent, {}, content)]
                stream.send_multipart([b"x", b"<IDS|MSG>", session.sign(parts), *parts])
                continue
            head, body = json.dumps(header).encode(), json.dumps(content).encode()
            tag = hmac.digest(session.key, head + body, "sha256")
            os.write(stream.fileno(), struct.pack("!II", len(head), len(body)) + tag + head + body)
