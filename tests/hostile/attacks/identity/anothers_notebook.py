"""Hands in the notebook of an honest student, who had other numbers.

earns: less
stopped by: files, network, ipc
"""


def place(notebook, folder, student):
    """Copies the first notebook that is there."""
    other = folder / "s000.ipynb"  # the first student is an honest one
    (folder / f"{student}.ipynb").write_bytes(other.read_bytes())
