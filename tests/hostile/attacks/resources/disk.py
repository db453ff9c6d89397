"""Fills the disk with files, in every folder that it may write to.

earns: honest
stopped by: files
"""

# %%
import os
import pathlib
import time

total, folder = 0, pathlib.Path.cwd().parent
try:
    for place in ("work", "home", "tmp", "wire", "."):
        for number in range(2):
            with open(folder / place / f"big-{number}", "wb") as file:
                os.posix_fallocate(file.fileno(), 0, 60_000_000)
                total += 60_000_000
except OSError as error:
    print(place, error)

# %%
for place in ("wire", ".", "tmp", "home"):
    try:
        with open(folder / place / "more", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 100_000_000)
            total += 100_000_000
    except OSError as error:
        print(place, error)
print("wrote", total)
time.sleep(1)  # where a guard counts, it has counted by then
if total > 900_000_000:
    print("BROKE: has", total, "bytes of files")
