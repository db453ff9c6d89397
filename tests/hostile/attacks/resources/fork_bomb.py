"""Forks in a tree without waiting, up to 256 processes that spin for a second.

earns: honest
"""

# %%
import os
import time

for _ in range(8):
    try:
        os.fork()
    except OSError:
        pass
end = time.monotonic() + 1
while time.monotonic() < end:
    pass
import signal

os.kill(os.getpid(), signal.SIGKILL)
