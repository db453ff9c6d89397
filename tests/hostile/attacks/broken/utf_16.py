"""Is encoded as UTF-16.

earns: refused
says: UTF-16
"""


def make(notebook):
    """With a mark at its start, as Windows writes it."""
    return notebook.decode().encode("utf-16")
