"""Puts a file with an honest student's name into its own folder.

earns: honest
"""


def place(notebook, folder, student):
    """Hands in two files: one of its own, and one in the name of another."""
    other = "s000"  # the first student is an honest one
    (folder / student / other).mkdir(parents=True)
    (folder / student / f"{other}.ipynb").write_bytes(notebook)
    (folder / student / other / f"{other}.ipynb").write_bytes(notebook)
