"""Leaves shared memory of every sort, which outlives processes.

earns: honest
stopped by: ipc, files
"""

# %%
import ctypes
import os

libc = ctypes.CDLL(None)
libc.shmget(0, 1_000_003, 0o1600)
libc.sem_open(f"/{TOKEN}".encode(), os.O_CREAT, 0o600, 1)
handle = libc.shm_open(f"/{TOKEN}-memory".encode(), os.O_CREAT | os.O_RDWR, 0o600)
os.ftruncate(handle, 1_000_000)
