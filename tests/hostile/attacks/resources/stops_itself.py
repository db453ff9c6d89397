"""Stops itself with SIGSTOP, and its process group with SIGTSTP.

earns: honest
says: ran longer than 2 s
"""

# %%
import os
import signal

os.kill(os.getpid(), signal.SIGSTOP)
while True:
    os.killpg(0, signal.SIGTSTP)
