"""Hands in more files under names that only look like an honest student's.

earns: honest
"""


def place(notebook, folder, student):
    """Names with spaces, case, marks, look-alikes and a number, as a second download has."""
    other = "s000"  # the first student is an honest one
    for name in (f"{other} (1)", f"{other} ", f".{other}", f"{other}\u200b", f"ѕ{other[1:]}"):
        (folder / f"{name}.ipynb").write_bytes(notebook.replace(b"q1_", b"q9_"))
    (folder / f"{student}.ipynb").write_bytes(notebook)
