"""Opens settings of the kernel and of control groups for writing.

earns: nothing
stopped by: files, privileges
"""

# %%
import glob
import os

names = ["/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/vm/drop_caches"]
names += ["/proc/sys/kernel/ns_last_pid", "/sys/kernel/uevent_helper", "/proc/sys/kernel/hostname"]
names += glob.glob("/sys/fs/cgroup/*.procs") + glob.glob("/sys/fs/cgroup/*/cgroup.procs")[:5]
for name in names:
    try:
        os.close(os.open(name, os.O_WRONLY))
        print("BROKE: may write", name)
    except OSError as error:
        print(error)
