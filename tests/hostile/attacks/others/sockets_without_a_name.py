"""Connects to abstract sockets that other students' code listens on.

earns: nothing
stopped by: network, landlock
"""

# %%
import socket
import time

end = time.monotonic() + 1.2
while time.monotonic() < end:
    for line in open("/proc/net/unix").read().splitlines():
        name = line.partition("@")[2]
        if not name:
            continue
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(0.2)
                connection.connect("\0" + name)
                print(name, connection.recv(100))
        except OSError as error:
            print(name, error)
    time.sleep(0.2)
