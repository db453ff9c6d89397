"""Starts processes that start processes, three hundred in all, which end after some seconds.

earns: honest
stopped by: cgroup, processes
"""

# %%
import os
import time

read, write = os.pipe()
os.set_blocking(read, False)
for _ in range(300):
    try:
        child = os.fork()
    except OSError as error:
        print(error)
        break
    if child == 0:
        os.write(write, b"x")
        time.sleep(3)
        os._exit(0)
time.sleep(0.2)
if len(os.read(read, 1000)) >= 300:
    print("BROKE: has 300 processes")
