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
        # Only who has not been ended to make room for another can say so again.
        os.write(said, b"y" if taken[0] else b"")
        time.sleep(60)
        os._exit(0)


def count(had):
    # Until the cell's time is up, or somebody has been ended.
    end = time.monotonic() + 1.7
    while had < 10 and time.monotonic() < end and not ended():
        if select.select([ready], [], [], 0.1)[0]:
            had += len(os.read(ready, 10))
    return had


def ended():
    gone = os.WEXITED | os.WNOHANG | os.WNOWAIT
    return any(os.waitid(os.P_PID, child, gone) for child in children)


had = count(0)

# %%
had = count(had)

# %%
had = count(had)
print(had, "processes had 120 MB each")
have = 0
if had == 10:  # before that nobody is asked again, so who is late is not counted twice
    os.write(go, b"." * 10)
    have = count(0)

# %%
if have:
    have = count(have)
print(have, "processes have 120 MB each")
if have == 10:
    print("BROKE: ten processes have 1.2 GB of memory")
