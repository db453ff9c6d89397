"""Opens files, pipes and sockets until no more may be opened, and keeps them.

earns: honest
"""

# %%
import os
import socket

kept = []
while len(kept) < 200_000:
    kept += [*os.pipe(), *socket.socketpair()]
