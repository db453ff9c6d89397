"""Takes memory as files that lie in memory: memfd and /dev/shm.

earns: honest
stopped by: cgroup, files
"""

# %%
import os

block, taken = b"x" * 10_000_000, []
for number in range(4):
    taken.append(os.memfd_create(f"part-{number}"))
    for _ in range(75):
        os.write(taken[-1], block)
print("BROKE: has 3 GB in files without a name")

# %%
for number in range(4):
    with open(f"/dev/shm/{TOKEN}-{number}", "wb") as file:
        for _ in range(75):
            file.write(block)
print("BROKE: has 3 GB in /dev/shm")
