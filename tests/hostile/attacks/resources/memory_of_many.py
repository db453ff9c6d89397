"""Lets ten processes take 150 MB each, in large pages, and keep it until all of them have it.

earns: honest
stopped by: cgroup
"""

# %%
import mmap
import os
import select
import time

ready, said = os.pipe()
wait, go = os.pipe()
for _ in range(10):
    if os.fork() == 0:
        taken = mmap.mmap(-1, 150_000_000, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        taken.madvise(mmap.MADV_HUGEPAGE)
        for page in range(0, 150_000_000, 4096):
            taken[page] = 1
        os.write(said, b"x")
        os.close(go)
        os.read(wait, 1)
        # Only who has not been ended to make room for another can say so twice.
        os.write(said, b"y" if taken[0] else b"")
        os.read(wait, 1)
        os._exit(0)
end = time.monotonic() + 1.7


def all_said():
    count = 0
    while count < 10 and time.monotonic() < end:
        if select.select([ready], [], [], 0.1)[0]:
            count += len(os.read(ready, 10))
    return count


print(all_said(), "processes had 150 MB each")
os.write(go, b"." * 10)
count = all_said()
print(count, "processes have 150 MB each")
if count == 10:
    print("BROKE: ten processes have 1.5 GB of memory")
