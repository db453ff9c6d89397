"""Takes leases on files of the interpreter, so that whoever opens them next has to wait.

earns: nothing
stopped by: system-calls
"""

# %%
import fcntl
import os
import sysconfig

folder, kept = sysconfig.get_path("stdlib"), []
for name in sorted(os.listdir(folder)):
    if name.endswith(".py"):
        try:
            kept.append(os.open(os.path.join(folder, name), os.O_RDONLY))
            fcntl.fcntl(kept[-1], fcntl.F_SETLEASE, fcntl.F_WRLCK)
            fcntl.fcntl(kept[-1], fcntl.F_SETLEASE, fcntl.F_UNLCK)
            print("BROKE: has a lease on", name)
        except OSError as error:
            print(error)
for file in kept:
    os.close(file)
