"""Leaves a process that makes folders and files while its own folder is being removed.

earns: honest
"""

# %%
import os
import time

home = os.path.expanduser("~")
if os.fork() == 0:
    os.setsid()
    open("/proc/self/comm", "w").write(TOKEN)
    end = time.monotonic() + 20
    number = 0
    while time.monotonic() < end:
        number += 1
        os.makedirs(f"{home}/{number}/{number}", exist_ok=True)
    os._exit(0)
