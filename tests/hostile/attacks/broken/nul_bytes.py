"""Has NUL bytes in the file.

earns: refused
says: NUL
"""


def make(notebook):
    """In the middle, where a reader in C would stop."""
    half = len(notebook) // 2
    return notebook[:half] + b"\0\0" + notebook[half:]
