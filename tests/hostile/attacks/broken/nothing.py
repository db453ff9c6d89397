"""Is empty.

earns: refused
says: empty
"""


def make(notebook):
    """No bytes at all."""
    return b""
