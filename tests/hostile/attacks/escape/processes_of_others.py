"""Lists processes, and tries whether it may send a signal to one that is not its own.

earns: nothing
stopped by: processes
"""

# %%
import os
import pathlib

for path in pathlib.Path("/proc").glob("[0-9]*"):
    pid = int(path.name)
    try:
        command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        if pid not in (1, os.getpid(), os.getppid() or 1):
            print("BROKE: can see", pid, command[:60])
            os.kill(pid, 0)
            print("BROKE: may signal it")
    except OSError as error:
        print(error)
