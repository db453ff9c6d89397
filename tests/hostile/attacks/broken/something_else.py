"""Is a program, a picture and an archive, called a notebook.

earns: refused
"""

import gzip
import pickle


def make(notebook):
    """All in one file."""
    return b"\x7fELF\x02" + pickle.dumps(print) + gzip.compress(notebook) + b"\x89PNG\r\n"
