"""Reads shared memory, message queues and semaphores that other students use.

earns: nothing
stopped by: ipc, files
"""

# %%
import glob
import re
import time

end = time.monotonic() + 1.2
while time.monotonic() < end:
    for path in glob.glob("/dev/shm/*") + glob.glob("/dev/mqueue/*"):
        try:
            print(re.findall(rb"CANARY-\w+-\w+", open(path, "rb").read(10**6)))
        except OSError as error:
            print(error)
    time.sleep(0.2)
