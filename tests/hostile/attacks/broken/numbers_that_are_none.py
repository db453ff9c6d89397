"""Holds NaN, infinities, and a number of a hundred thousand digits.

earns: refused
says: too long
"""


def make(notebook):
    """JSON has none of these, and Python reads some."""
    odd = b'"x": NaN, "y": -Infinity, "z": ' + b"9" * 100_000
    return notebook.replace(b'"metadata": {', b'"metadata": {' + odd + b", ", 1)
