"""Lies in the zip twice under the same name, and once under that of an honest student.

earns: honest
"""

import warnings


def pack(notebook, archive, student):
    """The last one counts, as it does when a zip is unpacked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        archive.writestr(f"{student}.ipynb", b"{}")
        archive.writestr(f"{student}.ipynb", notebook)
        archive.writestr(f"{student}/s000.ipynb", notebook)
