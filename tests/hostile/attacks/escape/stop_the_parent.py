"""Stops its parent with SIGSTOP and SIGTSTP, so that nobody watches any more.

earns: honest
unsafe without: processes
"""

# %%
import os
import signal

for pid in {os.getppid() or 1, 1}:
    for number in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN):
        try:
            os.kill(pid, number)
        except OSError as error:
            print(pid, error)

# %%
while True:
    pass
