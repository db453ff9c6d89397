"""Kills every process that it may, at once, and whole process groups and sessions.

earns: nothing
unsafe without: processes
"""

# %%
import os
import signal

for target in (0, os.getpgid(os.getppid() or 1)):
    try:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(target, signal.SIGTERM)
    except OSError as error:
        print(error)

# %%
for number in (signal.SIGSTOP, signal.SIGKILL):
    try:
        os.kill(-1, number)
    except OSError as error:
        print(error)
