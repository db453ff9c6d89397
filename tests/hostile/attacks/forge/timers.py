"""Lets timers, threads and signal handlers change the answers while they are asked for.

earns: nothing
"""

# %%
import itertools
import signal
import sys
import threading

values = itertools.cycle(["A", "B", 1, 2.0, float("inf"), None, "correct"])


def change(*_):
    globals().update((name, next(values)) for name in ("q1_per_gpu", "q3_per_token"))


def for_ever():
    while True:
        change()


signal.signal(signal.SIGALRM, change)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
threading.Thread(target=for_ever, daemon=True).start()
sys.setswitchinterval(1e-6)
