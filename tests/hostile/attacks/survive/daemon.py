"""Leaves a daemon behind: forked twice, in a session of its own.

earns: honest
"""

# %%
import os
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("/proc/self/comm", "w").write(TOKEN)
        time.sleep(60)
    os._exit(0)
os.wait()
