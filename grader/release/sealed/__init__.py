"""Sealed releases for runners that have the secret. They are opened in memory, never on disk."""

from grader.release.sealed.keys import (
    TOKEN,
    VARIABLE,
    PackKey,
    forget,
    held,
    hold,
    new_key,
    read_key,
    read_key_file,
    take,
)
from grader.release.sealed.pack import (
    MAGIC,
    MOST_BYTES,
    Header,
    header_of,
    is_pack,
    is_pack_file,
    seal,
    unseal,
)

__all__ = [
    "MAGIC",
    "MOST_BYTES",
    "TOKEN",
    "VARIABLE",
    "Header",
    "PackKey",
    "forget",
    "header_of",
    "held",
    "hold",
    "is_pack",
    "is_pack_file",
    "new_key",
    "read_key",
    "read_key_file",
    "seal",
    "take",
    "unseal",
]
