"""Answers everything, has something to hide, and looks for what others have planted for it.

earns: honest
stopped by: files, network, ipc
"""

# %% before
secret = SECRET + " is my own work"

# %% before
# A file, a variable of the environment, shared memory and a socket: none is for others to see.
import os
import pathlib
import socket
import threading
from multiprocessing import resource_tracker, shared_memory

os.environ["MY_NOTES"] = secret
pathlib.Path("my-notes.txt").write_text(secret)
pathlib.Path.home().joinpath("my-notes.txt").write_text(secret)
try:
    shared = shared_memory.SharedMemory(create=True, size=4096)
    resource_tracker.unregister(shared._name, "shared_memory")  # which would start a process
    shared.buf[: len(secret)] = secret.encode()
except OSError:
    shared = None


def tell(server):
    while True:
        server.accept()[0].sendall(secret.encode())


try:
    server = socket.socket(socket.AF_UNIX)
    server.bind("\0" + TOKEN)
    server.listen()
    threading.Thread(target=tell, args=(server,), daemon=True).start()
except OSError:
    pass

# %% after
import builtins
import glob
import subprocess
import sys
import tempfile
import time

time.sleep(1)  # so that others have time to look at this process
if subprocess.run(["echo", "hello"], capture_output=True).stdout != b"hello\n":
    print("BROKE: may not start a program")

places = [
    "/tmp",
    "/var/tmp",
    "/dev/shm",
    "/run",
    "/",
    os.path.expanduser("~"),
    tempfile.gettempdir(),
]
places += [os.getcwd(), os.path.expanduser("~/.ipython/profile_default/startup"), *sys.path]
for place in places:
    for path in glob.glob(f"{place or '.'}/*{RUN}*"):
        print("BROKE: found what another student has planted:", path)
if [name for name in dir(builtins) if name.startswith(RUN)]:
    print("BROKE: this process was another student's before")

# %% after
if shared:
    shared.unlink()
    shared.close()
