"""Raises its priority, asks for real time, and protects itself from the lack of memory.

earns: nothing
stopped by: privileges
"""

# %%
import os
import pathlib
import resource

tried = {
    "raise its priority": lambda: os.nice(-5),
    "ask for real time": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
    "raise a limit": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (2**17, 2**17)),
    "protect itself": lambda: pathlib.Path("/proc/self/oom_score_adj").write_text("-999"),
}
for name, attempt in tried.items():
    try:
        attempt()
        print("BROKE: could", name)
        if "real time" in name:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except (OSError, ValueError) as error:
        print(name, error)
