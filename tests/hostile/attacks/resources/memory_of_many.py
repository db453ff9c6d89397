"""Lets ten processes take 120 MB each, in large pages, and keep it until all of them have it.

earns: honest
stopped by: cgroup
"""

# %%
import ctypes
import mmap
import os
import select
import time

SIZE = 120_000_000
ready, said = os.pipe()
wait, go = os.pipe()
children = []
for _ in range(10):
    children.append(os.fork())
    if children[-1] == 0:
        taken = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        taken.madvise(mmap.MADV_HUGEPAGE)
        ctypes.memset(ctypes.addressof(ctypes.c_char.from_buffer(taken)), 1, SIZE)
        os.write(said, b"x")
        os.close(go)
        os.read(wait, 1)
        # Only who has not been ended to make room for another can say so twice.
        os.write(said, b"y" if taken[0] else b"")
        time.sleep(4)
        os._exit(0)


def said_by(count):
    # Until the cell's time is up, or somebody has been ended.
    end = time.monotonic() + 1.7
    while count < 10 and time.monotonic() < end:
        if select.select([ready], [], [], 0.1)[0]:
            count += len(os.read(ready, 10))
        elif any(os.waitpid(child, os.WNOHANG)[0] for child in children):
            break
    return count


have = said_by(0)

# %%
have = said_by(have)

# %%
have = said_by(have)
print(have, "processes had 120 MB each")
os.write(go, b"." * 10)

# %%
have = said_by(0)
print(have, "processes have 120 MB each")
if have == 10:
    print("BROKE: ten processes have 1.2 GB of memory")
