"""Makes itself root of namespaces of its own, and enters those of others.

earns: nothing
stopped by: system-calls
"""

# %%
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
flags = {"user": 0x10000000, "mount": 0x20000, "network": 0x40000000, "pid": 0x20000000}
for name, flag in flags.items():
    child = os.fork()
    if child == 0:
        for extra in (0, flags["user"]):
            if libc.unshare(flag | extra) == 0:
                os._exit(7)
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7:
        print("BROKE: has a new namespace of the kind", name)

# %%
for name in ("mnt", "net", "pid", "user"):
    for pid in (1, os.getppid() or 1):
        try:
            handle = os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY)
            if os.readlink(f"/proc/{pid}/ns/{name}") != os.readlink(f"/proc/self/ns/{name}"):
                if libc.setns(handle, 0) == 0:
                    print("BROKE: entered", name, "of", pid)
        except OSError as error:
            print(error)
