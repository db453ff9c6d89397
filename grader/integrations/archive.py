"""Zip archives with the same bytes for the same files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping

_DATE = (1980, 1, 1, 0, 0, 0)


def make_zip(files: Mapping[str, bytes], mode: Callable[[str], int] = lambda _: 0o644) -> bytes:
    """Returns a zip of *files*; a name that ends in a slash is a folder."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in files:
            entry = zipfile.ZipInfo(name, _DATE)
            entry.create_system = 3  # Unix, so that the permissions apply
            entry.external_attr = (0o100000 | mode(name)) << 16
            folder = name.endswith("/")
            entry.compress_type = zipfile.ZIP_STORED if folder else zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name])
    return target.getvalue()
