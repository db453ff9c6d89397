"""Starts with the byte order mark that some editors write.

earns: honest
"""


def make(notebook):
    """EF BB BF."""
    return b"\xef\xbb\xbf" + notebook
