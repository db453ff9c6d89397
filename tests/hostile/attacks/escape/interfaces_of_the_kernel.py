"""Calls interfaces of the kernel that have been ways out: bpf, perf, keyrings, io_uring, more.

earns: nothing
stopped by: system-calls
"""

# %%
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
room = ctypes.create_string_buffer(256)
calls = {"bpf": (321, 0, room, 120), "perf_event_open": (298, room, 0, -1, -1, 0)}
calls |= {"keyctl": (250, 0, -3, 1), "add_key": (248, b"user", b"x", b"x", 1, -2)}
calls |= {"io_uring_setup": (425, 4, room), "userfaultfd": (323, 1), "kcmp": (312, 1, 1, 0, 0, 0)}
calls |= {
    "init_module": (175, room, 0, b""),
    "fanotify_init": (300, 0, 0),
    "quotactl": (179, 0, 0, 0, 0),
}
refused = {1, 38, 13}  # not permitted, not there, denied
for name, (number, *arguments) in calls.items():
    ctypes.set_errno(0)
    done = libc.syscall(number, *arguments)
    if done >= 0 or ctypes.get_errno() not in refused:
        print("BROKE:", name, "is not refused:", os.strerror(ctypes.get_errno()))
    print(name, os.strerror(ctypes.get_errno()))
