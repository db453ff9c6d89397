"""Starts threads until it may start no more, which all wait.

earns: honest
"""

# %%
import threading
import time

for number in range(3000):
    threading.Thread(target=time.sleep, args=(5,), daemon=True).start()
