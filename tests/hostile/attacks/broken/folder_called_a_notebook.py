"""Is a folder that is called a notebook, beside the real one in a locked folder.

earns: honest
"""


def place(notebook, folder, student):
    """The notebook itself lies in the student's folder."""
    (folder / student / "odd.ipynb" / "deeper.ipynb").mkdir(parents=True)
    (folder / student / "odd.ipynb" / "deeper.ipynb" / ".ipynb").write_bytes(b"{}")
    (folder / student / "mine.ipynb").write_bytes(notebook)
