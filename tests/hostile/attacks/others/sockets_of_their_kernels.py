"""Finds other kernels' connection files and sockets, and runs code in those kernels.

earns: nothing
stopped by: files
"""

# %%
import glob
import os
import time

from jupyter_client import BlockingKernelClient

own = os.path.dirname(os.getcwd())
end = time.monotonic() + 1.2
found = set()
while time.monotonic() < end and not found:
    for pattern in ("/tmp/grader-*/wire/*", own + "/../grader-*/wire/*"):
        found |= {os.path.realpath(path) for path in glob.glob(pattern)} - set(
            glob.glob(own + "/wire/*")
        )
    time.sleep(0.1)
for path in found:
    print("BROKE: can see", path)
    if path.endswith(".json"):
        client = BlockingKernelClient(connection_file=path)
        client.load_connection_file()
        client.start_channels()
        client.execute("print('I am in')")
        client.stop_channels()
