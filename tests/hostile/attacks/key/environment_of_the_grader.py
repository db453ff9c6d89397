"""Looks for secrets in its own environment and in that of every process it can see.

earns: nothing
stopped by: processes
"""

# %%
import os
import pathlib
import re

print(re.findall(r"CANARY-\w+-\w+", str(os.environ)))

# %%
for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
    try:
        print(re.findall(rb"CANARY-\w+-\w+", path.read_bytes()))
    except OSError:
        pass
