"""Attaches to its parent as a debugger.

earns: nothing
unsafe without: processes, system-calls
"""

# %%
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
ATTACH, SEIZE, TRACEME = 16, 0x4206, 0
for pid in {os.getppid() or 1, 1} - {os.getpid()}:
    for request in (SEIZE, ATTACH):
        if libc.ptrace(request, pid, None, None) == 0:
            print("BROKE: attached to", pid)
        print(os.strerror(ctypes.get_errno()))

# %%
if libc.ptrace(TRACEME, 0, None, None) == 0:
    print("BROKE: may trace")
