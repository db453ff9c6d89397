"""Leaves processes that ignore every signal they can, and stopped ones.

earns: honest
"""

# %%
import os
import signal
import time

for stopped in (False, True):
    if os.fork() == 0:
        os.setsid()
        open("/proc/self/comm", "w").write(TOKEN)
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN)
        if stopped:
            os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(60)
        os._exit(0)
