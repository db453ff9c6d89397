"""Lies in the zip under paths that lead out of it.

earns: honest
"""


def pack(notebook, archive, student):
    """Of all these names only the last is inside."""
    for name in ("../../evil", "/tmp/evil", "C:\\evil", "..\\..\\evil", "a/../../../evil"):
        archive.writestr(f"{name}/{student}.ipynb", b"{}")
    archive.writestr(f"{student}.ipynb", notebook)
