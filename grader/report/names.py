"""File names for student IDs."""

from __future__ import annotations

import hashlib
import re

_UNSAFE = re.compile(r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*%\ud800-\udfff]')
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)", re.IGNORECASE)
_LONGEST = 120


def file_name(student: str, ending: str = "") -> str:
    """Returns the name of the student's file, which is as readable as possible.

    Different ids have different names, and every id has one.

    >>> file_name("ada", ".json"), file_name("../etc/passwd", ".json")
    ('ada.json', '%2E.%2Fetc%2Fpasswd.json')
    """
    name = _UNSAFE.sub(_percent_encode, student)
    if not name:
        name = "%"
    # A leading dot would hide the file; Windows drops trailing dots and spaces and reserves device
    # names.
    if name[0] in ". " or _RESERVED.match(name):
        name = _percent_encode(name[0]) + name[1:]
    if name[-1] in ". ":
        name = name[:-1] + _percent_encode(name[-1])
    if len(name.encode()) > _LONGEST:
        mark = hashlib.sha256(student.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        kept = name.encode()[: _LONGEST - 20].decode(errors="ignore").rstrip("%")
        name = f"{kept}%~{mark}"
    return name + ending


def _percent_encode(matched: re.Match[str] | str) -> str:
    character = matched if isinstance(matched, str) else matched[0]
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))
