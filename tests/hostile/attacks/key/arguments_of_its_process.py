"""Reads the command lines of its own process and of those that started it.

earns: nothing
stopped by: processes
"""

# %%
import os
import sys

print(sys.argv, sys.orig_argv)
for pid in (os.getpid(), os.getppid() or 1):
    command = open(f"/proc/{pid}/cmdline", "rb").read().decode("utf-8", "replace")
    if "release.json" in command or "submissions" in command:
        print("BROKE: knows where the release is:", command[:80])
