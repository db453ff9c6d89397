"""Takes memory by a shared mapping, which the limit on data does not count.

earns: honest
stopped by: cgroup
"""

# %%
import mmap

taken = []
for _ in range(30):
    taken.append(mmap.mmap(-1, 100_000_000, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS))
    for page in range(0, 100_000_000, 4096):
        taken[-1][page] = 1
print("BROKE: has 3 GB of shared memory")
