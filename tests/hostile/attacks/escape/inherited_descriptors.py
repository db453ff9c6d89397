"""Looks through its own open files for one that leads out of its folder.

earns: nothing
"""

# %%
import os
import pathlib

allowed = ("/dev/null", "pipe:", "socket:", "anon_inode:", "/dev/urandom", "/memfd:", "/proc/")
mine = str(pathlib.Path.cwd().parent)
for name in os.listdir("/proc/self/fd"):
    try:
        target = os.readlink(f"/proc/self/fd/{name}")
    except OSError:
        continue
    if not target.startswith((*allowed, mine)):
        print("BROKE: holds", target)
