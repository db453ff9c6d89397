"""Takes open files out of its parent, by pidfd_getfd and by /proc.

earns: nothing
stopped by: processes, system-calls
"""

# %%
import ctypes
import os

PIDFD_OPEN, PIDFD_GETFD = 434, 438
libc = ctypes.CDLL(None, use_errno=True)
for pid in {os.getppid() or 1, 1} - {os.getpid()}:
    handle = libc.syscall(PIDFD_OPEN, pid, 0)
    for number in range(3, 40):
        if handle >= 0 and libc.syscall(PIDFD_GETFD, handle, number, 0) >= 0:
            print("BROKE: took descriptor", number, "of", pid)
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            print("BROKE: can see", os.readlink(f"/proc/{pid}/fd/{name}"))
    except OSError as error:
        print(pid, error)
