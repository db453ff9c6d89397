"""Says in the zip that it is smaller than it is.

earns: refused
"""


def pack(notebook, archive, student):
    """The list at the end of a zip is what readers believe."""
    archive.writestr(f"{student}.ipynb", notebook + b" " * 30_000_000)
    archive.getinfo(f"{student}.ipynb").file_size = len(notebook)
