"""Fills the disk with files that it has removed and keeps open, or only in its memory.

earns: honest
stopped by: files
"""

# %%
import mmap
import os
import time

kept, total = [], 0
for number in range(40):
    try:
        file = os.open(f"gone-{number}", os.O_CREAT | os.O_RDWR)
        os.unlink(f"gone-{number}")
        kept.append(file)
        os.posix_fallocate(file, 0, 40_000_000)
        total += 40_000_000
        if number % 2:
            kept.append(mmap.mmap(file, 40_000_000))
            os.close(file)
    except OSError as error:
        print(number, error)
print("holds", total)
time.sleep(1)  # where a guard counts, it has counted by then
if total > 900_000_000:
    print("BROKE: holds", total, "bytes of files without a name")
