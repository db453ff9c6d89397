"""Is encoded as Latin-1, with an umlaut in a comment.

earns: refused
says: not UTF-8
"""


def make(notebook):
    """One byte that is no UTF-8."""
    return notebook.replace(b'"source": [', b'"source": [\n"# \xfc\\n",', 1)
