"""Is a symbolic link in the zip.

earns: refused
says: symbolic link
"""

import zipfile


def pack(notebook, archive, student):
    """To a file of the system."""
    member = zipfile.ZipInfo(f"{student}.ipynb")
    member.external_attr = 0o120777 << 16
    archive.writestr(member, "/etc/passwd")
