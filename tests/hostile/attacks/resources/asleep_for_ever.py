"""Sleeps for ever, again and again, whatever wakes it.

earns: honest
"""

# %% before
import signal
import time

while True:
    try:
        signal.pause()
        time.sleep(10**6)
    except BaseException:
        pass
