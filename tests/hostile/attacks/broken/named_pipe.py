"""Is a named pipe, which nobody ever writes to.

earns: refused
says: not a regular file
"""

import os


def place(notebook, folder, student):
    """To open it is to wait for ever."""
    os.mkfifo(folder / f"{student}.ipynb")
