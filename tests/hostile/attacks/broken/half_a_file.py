"""Stops in its middle.

earns: refused
says: not JSON
"""


def make(notebook):
    """As after a full disk."""
    return notebook[: len(notebook) // 2]
