"""Reads environment, command line and memory of other students' kernels while they run.

earns: nothing
stopped by: processes
"""

# %%
import os
import pathlib
import re
import time

end = time.monotonic() + 1.2
while time.monotonic() < end:
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        if int(process.name) in (os.getpid(), os.getppid() or 1, 1):
            continue
        try:
            print(re.findall(rb"CANARY-\w+-\w+", (process / "environ").read_bytes())[:2])
            lines = (process / "maps").read_text().splitlines()
            with open(process / "mem", "rb", 0) as memory:
                for line in [line for line in lines if "[heap]" in line]:
                    start, stop = (int(number, 16) for number in line.split()[0].split("-"))
                    memory.seek(start)
                    print(set(re.findall(rb"CANARY-\w+-\w+", memory.read(stop - start))))
        except OSError:
            pass
