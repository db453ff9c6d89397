"""Reads the folders in which other students' kernels work at this moment.

earns: nothing
stopped by: files
"""

# %%
import pathlib
import re
import time

mine = pathlib.Path.cwd().parent
end = time.monotonic() + 1.2
while time.monotonic() < end:
    for root in {mine.parent, pathlib.Path("/tmp")}:
        for path in root.glob("grader-*/*/*"):
            if not path.is_relative_to(mine) and path.is_file() and path.stat().st_size < 10**6:
                print(re.findall(rb"CANARY-\w+-\w+", path.read_bytes()))
    time.sleep(0.2)
