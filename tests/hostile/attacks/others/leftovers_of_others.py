"""Looks for what attacks before this one have planted, in every place where a file may stay.

earns: nothing
stopped by: files
"""

# %%
import glob
import os
import sys
import tempfile

places = ["/tmp", "/var/tmp", "/dev/shm", "/run", "/", "~", tempfile.gettempdir(), *sys.path]
for place in places:
    for path in glob.glob(os.path.expanduser(place or ".") + "/*" + RUN + "*"):
        if TOKEN not in path:
            print("BROKE: found", path)
