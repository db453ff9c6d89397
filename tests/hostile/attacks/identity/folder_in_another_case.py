"""Puts newer files with an honest student's name into its own folder, spelled in capitals.

earns: honest
"""


def place(notebook, folder, student):
    """A copy of its own notebook in both names, at every depth."""
    other = "s000"  # the first student is an honest one
    own = folder / student.upper()
    for place in (own, own / other, own / f"{other}.ipynb"):
        place.mkdir(parents=True)
        (place / "another.ipynb").write_bytes(notebook)
    (own / other / f"{other}.ipynb").write_bytes(notebook)
