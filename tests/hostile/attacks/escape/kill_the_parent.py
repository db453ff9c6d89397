"""Kills its parent, and the parent's parent, with every signal that ends a process.

earns: nothing
unsafe without: processes
"""

# %%
import os
import signal

for pid in {os.getppid() or 1, 1}:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGSEGV, signal.SIGKILL):
        try:
            os.kill(pid, number)
            print("sent", number, "to", pid)
        except OSError as error:
            print(pid, error)
