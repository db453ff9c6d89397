"""Says that the cell is done while it goes on, so that its time is not counted.

earns: nothing
slow: yes
"""

# %%
import time

from IPython import get_ipython

kernel = get_ipython().kernel
parent = kernel.get_parent("shell")
idle = {"execution_state": "idle"}
done = {"status": "ok", "execution_count": 1, "user_expressions": {}, "payload": []}
kernel.session.send(kernel.iopub_socket, "status", idle, parent, ident=b"status")
kernel.session.send(
    kernel.shell_stream, "execute_reply", done, parent, ident=kernel._parent_ident["shell"]
)
time.sleep(1.5)
while True:
    pass
