"""Sends itself signals that end a process which has no handler for them.

earns: honest
"""

# %% before
import os
import signal

os.kill(os.getpid(), signal.SIGUSR2)

# %%
import signal

signal.alarm(1)
signal.pause()

# %%
import os
import signal

os.kill(os.getpid(), signal.SIGRTMAX)
