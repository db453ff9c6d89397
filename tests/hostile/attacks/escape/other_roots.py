"""Looks at the file system through the roots and working folders of other processes.

earns: nothing
stopped by: processes, files
"""

# %%
import os
import pathlib
import re

for process in pathlib.Path("/proc").glob("[0-9]*"):
    for name in ("root", "cwd"):
        try:
            if (process / name).samefile(f"/proc/self/{name}") or not os.listdir(process / name):
                continue
            print("BROKE: can look into", process / name, os.listdir(process / name)[:3])
            for path in [*(process / name).glob("*.txt"), *(process / name).glob("release/*.json")]:
                print(re.findall(r"CANARY-\w+-\w+", path.read_text()))
        except OSError as error:
            print(error)
