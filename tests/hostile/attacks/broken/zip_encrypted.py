"""Is encrypted in the zip, or says so.

earns: refused
says: encrypted
"""


def pack(notebook, archive, student):
    """Only the mark is set."""
    archive.writestr(f"{student}.ipynb", notebook)
    archive.getinfo(f"{student}.ipynb").flag_bits |= 1
