"""Registers exit handlers and finalizers that look for results to change when all is done.

earns: nothing
stopped by: files
"""

# %%
import atexit
import os
import pathlib
import threading


def change():
    try:
        for path in pathlib.Path(os.readlink(f"/proc/{os.getppid() or 1}/cwd")).glob(
            "results/**/*"
        ):
            print("BROKE: can see", path)
    except OSError as error:
        print(error)


change()
atexit.register(change)
threading._register_atexit(change)
