"""Dies in the middle of a message to the grader.

earns: honest
"""

# %%
import os
import threading

threading.Timer(0.2, os._exit, (0,)).start()
while True:
    print("x" * 100_000)
