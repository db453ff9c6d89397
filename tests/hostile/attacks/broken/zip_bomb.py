"""Is small in the zip and has three hundred megabytes when it is unpacked.

earns: refused
says: MB
"""

import zipfile


def pack(notebook, archive, student):
    """White space after a notebook."""
    member = zipfile.ZipInfo(f"{student}.ipynb")
    member.compress_type = zipfile.ZIP_DEFLATED
    with archive.open(member, "w", force_zip64=True) as file:
        file.write(notebook)
        for _ in range(30):
            file.write(b" " * 10_000_000)
