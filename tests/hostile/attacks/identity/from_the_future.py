"""Gives its file a time long before or after the deadline.

earns: honest
"""

import os


def place(notebook, folder, student):
    """Two attempts: one of the year 1901, and one of the year 2400."""
    (folder / student).mkdir()
    for name, seconds in (("old", -(2**31)), ("new", 13_569_465_600)):
        path = folder / student / f"{name}.ipynb"
        path.write_bytes(notebook)
        os.utime(path, (seconds, seconds))
