"""Waits in the C library with the interpreter's lock held, and all signals blocked.

earns: honest
says: ran longer than 2 s
"""

# %%
import ctypes
import signal

signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
ctypes.PyDLL(None).sleep(10**6)
