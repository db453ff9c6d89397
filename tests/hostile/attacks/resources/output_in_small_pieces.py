"""Prints single characters as fast as it can, each sent at once, from several threads.

earns: honest
"""

# %%
import sys
import threading


def write():
    while True:
        sys.stdout.write("x")
        sys.stdout.flush()
        sys.stderr.write("y")


for _ in range(4):
    threading.Thread(target=write, daemon=True).start()
write()
