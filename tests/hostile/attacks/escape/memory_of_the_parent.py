"""Reads and writes the memory of its parent, by /proc and by system call.

earns: nothing
stopped by: processes, system-calls
"""

# %%
import ctypes
import os
import re

for pid in {os.getppid() or 1, 1} - {os.getpid()}:
    try:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
            print("BROKE: may read the memory of", pid)
            for line in maps:
                if "heap" in line or "rw-p 00000000 00:00 0" in line:
                    start, end = (int(n, 16) for n in line.split()[0].split("-"))
                    memory.seek(start)
                    print(re.findall(rb"CANARY-\w+-\w+", memory.read(min(end - start, 10**7)))[:3])
    except OSError as error:
        print(pid, error)


# %%
class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


libc = ctypes.CDLL(None, use_errno=True)
room = ctypes.create_string_buffer(8)
here = Piece(ctypes.addressof(room), 8)
there = Piece(ctypes.cast(libc.getpid, ctypes.c_void_p).value, 8)
for call in (libc.process_vm_readv, libc.process_vm_writev):
    if call(os.getppid() or 1, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) > 0:
        print("BROKE: a system call reached the parent's memory")
    print(os.strerror(ctypes.get_errno()))
