"""Is a symbolic link to an honest student's notebook.

earns: refused
says: symbolic link
"""


def place(notebook, folder, student):
    """A relative one, which stays inside."""
    other = folder / "s000.ipynb"  # the first student is an honest one
    (folder / f"{student}.ipynb").symlink_to(other.name)
