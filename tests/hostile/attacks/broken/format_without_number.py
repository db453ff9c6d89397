"""Gives the format as a truth value, and the cells as an object.

earns: refused
"""


def make(notebook):
    """Python counts True among the numbers."""
    return notebook.replace(b'"nbformat": 4', b'"nbformat": true')
