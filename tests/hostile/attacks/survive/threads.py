"""Leaves threads that are no daemons and never end, and exit handlers that wait.

earns: honest
"""

# %%
import atexit
import threading
import time


def for_ever():
    while True:
        time.sleep(0.01)


for _ in range(5):
    threading.Thread(target=for_ever).start()
atexit.register(for_ever)
