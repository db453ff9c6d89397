"""Leaves a message for another student's notebook by signals, locks and named pipes.

earns: nothing
stopped by: files
"""

# %%
import fcntl
import os

for folder in ("/tmp", "/var/tmp", "/dev/shm", os.environ.get("TMPDIR", ".") + "/../.."):
    try:
        os.mkfifo(f"{folder}/{TOKEN}.pipe")
        with open(f"{folder}/{TOKEN}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError as error:
        print(error)
