"""Has a wrong checksum in the zip.

earns: refused
says: damaged
"""


def pack(notebook, archive, student):
    """The checksum of something else."""
    archive.writestr(f"{student}.ipynb", notebook)
    archive.getinfo(f"{student}.ipynb").CRC ^= 1
