"""Is a notebook of a format that is yet to come.

earns: refused
says: format 99
"""


def make(notebook):
    """Only the number is changed."""
    return notebook.replace(b'"nbformat": 4', b'"nbformat": 99')
