"""Is a folder that is a link to the release, with its notebooks and keys.

earns: refused
says: symbolic link
"""


def place(notebook, folder, student):
    """And a link to the file of keys, called a notebook."""
    (folder / f"{student}-all").symlink_to("../release", target_is_directory=True)
    (folder / f"{student}.ipynb").symlink_to("../release/release.json")
