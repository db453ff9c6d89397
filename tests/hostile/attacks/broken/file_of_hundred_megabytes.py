"""Has a hundred megabytes.

earns: refused
says: MB
"""


def make(notebook):
    """White space is enough."""
    return notebook + b" " * 100_000_000
