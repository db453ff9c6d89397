"""Starts threads that never wait, and lets them fight for the interpreter.

earns: honest
"""

# %%
import sys
import threading


def spin():
    while True:
        pass


sys.setswitchinterval(100)
for _ in range(50):
    threading.Thread(target=spin, daemon=True).start()
