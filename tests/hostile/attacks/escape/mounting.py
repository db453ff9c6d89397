"""Mounts, unmounts and changes its root, to see what lies below.

earns: nothing
unsafe without: system-calls, files
"""

# %%
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
os.makedirs("inner", exist_ok=True)
here = os.fsencode(os.path.abspath("inner"))
tried = {
    "mount a file system": lambda: libc.mount(b"none", here, b"tmpfs", 0, None),
    "bind the root": lambda: libc.mount(b"/", here, None, 4096 | 16384, None),
    "make the root writable": lambda: libc.mount(None, b"/", None, 32 | 4096, None),
    "unmount /proc": lambda: libc.umount2(b"/proc", 2),
    "unmount the root": lambda: libc.umount2(b"/", 2),
    "change the root": lambda: libc.chroot(here),
    "pivot the root": lambda: libc.syscall(155, here, here),
    "open a file system": lambda: 0 if libc.syscall(430, b"tmpfs", 0) >= 0 else -1,
    "clone a mount": lambda: 0 if libc.syscall(428, -100, b"/", 1 | 0x80000) >= 0 else -1,
}
for name, call in tried.items():
    if call() == 0:
        print("BROKE: could", name)
    print(name, os.strerror(ctypes.get_errno()))
