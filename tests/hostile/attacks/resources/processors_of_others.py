"""Puts other processes of the same user behind all others, and together on one processor.

earns: honest
stopped by: processes, system-calls
"""

# %%
import os

me = os.getpid()
for pid in {1, os.getppid(), *range(max(me - 300, 1), me), *range(me + 1, me + 50)}:
    try:
        if os.sched_getscheduler(pid) == os.SCHED_OTHER and os.getsid(pid) != os.getsid(0):
            where = os.sched_getaffinity(pid)
            os.sched_setaffinity(pid, where)
            print("BROKE: could say where process", pid, "runs")
            os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0))
            os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))
            print("BROKE: could say when process", pid, "runs")
    except OSError as error:
        print(pid, error)
