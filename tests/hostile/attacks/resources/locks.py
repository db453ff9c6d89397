"""Takes a million locks of single bytes in files.

earns: honest
says: file locks
"""

# %%
import fcntl
import os
import struct
import time

end, taken = time.monotonic() + 20, 0
while time.monotonic() < end and taken < 1_000_000:
    file = os.open(f"locked-{taken}", os.O_RDWR | os.O_CREAT)
    for byte in range(0, 2_000, 2):
        fcntl.fcntl(file, fcntl.F_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, byte, 1, 0))
        taken += 1
print(f"BROKE: has {taken} locks")
