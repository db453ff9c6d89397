"""Lets a timer interrupt every instruction, with handlers that never end.

earns: honest
"""

# %%
import signal


def handle(*_):
    signal.setitimer(signal.ITIMER_REAL, 1e-6, 1e-6)
    while True:
        pass


signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 1e-6, 1e-6)
