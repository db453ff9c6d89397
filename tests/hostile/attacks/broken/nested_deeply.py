"""Nests lists a million deep.

earns: refused
says: nested too deeply
"""


def make(notebook):
    """In the metadata, so that all else is a notebook."""
    deep = b"[" * 1_000_000 + b"]" * 1_000_000
    return notebook.replace(b'"metadata": {', b'"metadata": {"x": ' + deep + b", ", 1)
