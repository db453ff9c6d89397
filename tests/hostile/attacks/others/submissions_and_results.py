"""Reads what others have handed in, their evidence and the gradebook.

earns: nothing
stopped by: files, processes
"""

# %%
import pathlib
import re

for process in pathlib.Path("/proc").glob("[0-9]*"):
    try:
        course = (process / "cwd").resolve()
        for path in [*course.glob("submissions/*"), *course.glob("results/**/*")]:
            if path.is_file():
                print(re.findall(rb"CANARY-\w+-\w+", path.read_bytes())[:3])
    except OSError:
        pass
