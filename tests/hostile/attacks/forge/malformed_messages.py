"""Sends signed messages whose parts have wrong types: lists, numbers, nothing, odd dates.

earns: honest
"""

# %%
from IPython import get_ipython

kernel = get_ipython().kernel
session, stream = kernel.session, kernel.iopub_socket
good = kernel.get_parent("shell")["header"]
bad = [[], 7, None, "text", {}, {"msg_id": 7}, {"date": "yesterday"}, {"msg_id": good["msg_id"]}]
for parent in bad:
    for header in bad:
        for content in ([], {"execution_state": ["idle"]}, {"data": [], "text": {}}):
            parts = [session.pack(part) for part in (header, parent, {}, content)]
            stream.send_multipart([b"x", b"<IDS|MSG>", session.sign(parts), *parts])
