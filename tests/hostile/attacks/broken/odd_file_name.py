"""Has a file name with line breaks, codes for terminals and text that a shell would run.

earns: honest
"""


def place(notebook, folder, student):
    """In a folder with the student's own name."""
    (folder / student).mkdir()
    (folder / student / "a\n\x1b[2J;$(id)`id`'\"<b>\u202e.ipynb").write_bytes(notebook)
