"""Unpacks archives and notebooks, decodes base64 and hex, and reads bytes as text."""

from __future__ import annotations

import base64
import binascii
import codecs
import contextlib
import dataclasses
import io
import json
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO

from grader.security.leaks.records import Piece, SearchBudget

_TOO_LARGE = "it is too large to be unpacked completely"
_CLOSED = {
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
    b"Rar!\x1a\x07": "RAR",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"\x04\x22\x4d\x18": "LZ4",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
}
_GZIP = b"\x1f\x8b\x08"


def unpack(piece: Piece, budget: SearchBudget) -> Iterator[Piece]:
    """Yields the contents of an archive or a notebook, one level down."""
    data = piece.data
    if data.lstrip()[:1] == b"{":
        yield from _cell_texts(piece)
        return
    closed = next((name for magic, name in _CLOSED.items() if data.startswith(magic)), None)
    if closed is not None:
        budget.skip(piece.path, f"{closed} archives are not searched")
        return
    unpacker = _choose_unpacker(data)
    if unpacker is None:
        return
    if piece.depth >= budget.bounds.depth:
        budget.skip(piece.path, "its archives are nested too deeply")
        return
    try:
        yield from unpacker(piece, budget)
    except Exception as error:  # noqa: BLE001 - the libraries raise all sorts of things
        budget.skip(piece.path, f"can't be unpacked: {type(error).__name__}")


def _choose_unpacker(data: bytes) -> Callable[[Piece, SearchBudget], Iterator[Piece]] | None:
    """Returns the function that unpacks *data*; None if it is not a known archive."""
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _unpack_zip
    if data[257:262] == b"ustar":
        return _unpack_tar
    return _decompress if data.startswith(_GZIP) else None


def _unpack_zip(piece: Piece, budget: SearchBudget) -> Iterator[Piece]:
    """Yields the comment of a zip archive, and the name and the contents of each member."""
    with zipfile.ZipFile(io.BytesIO(piece.data)) as archive:
        yield _member_piece(piece, "comment", archive.comment)
        for info in archive.infolist():
            path = f"{piece.path} > {info.filename}"
            if not budget.count_entry(path):
                return
            yield _member_piece(piece, info.filename, info.filename.encode(), is_name=True)
            if info.is_dir():
                continue
            if info.flag_bits & 1:
                budget.skip(path, "it is encrypted")
            elif info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                # Python's library may unpack gigabytes of the others at once.
                budget.skip(path, "its compression method is neither store nor deflate")
            else:
                try:
                    with archive.open(info) as member:
                        yield _read_bounded(piece, info.filename, member, budget)
                except Exception as error:  # noqa: BLE001 - as above
                    budget.skip(path, f"can't be unpacked: {type(error).__name__}")


def _unpack_tar(piece: Piece, budget: SearchBudget) -> Iterator[Piece]:
    """Yields the name of each member of a tar archive, and the contents of regular files."""
    with tarfile.open(fileobj=io.BytesIO(piece.data), mode="r:") as archive:
        for info in archive:
            if not budget.count_entry(f"{piece.path} > {info.name}"):
                return
            yield _member_piece(
                piece, info.name, info.name.encode("utf-8", "replace"), is_name=True
            )
            member = archive.extractfile(info) if info.isreg() else None
            if member is not None:
                yield _read_bounded(piece, info.name, member, budget)


def _read_bounded(piece: Piece, name: str, member: IO[bytes], budget: SearchBudget) -> Piece:
    """Returns the contents of *member*, or as much as the budget has room for."""
    room = budget.room
    data = member.read(room + 1)
    if len(data) > room:
        budget.skip(f"{piece.path} > {name}", _TOO_LARGE)
    budget.count_unpacked(len(data))
    return _member_piece(piece, name, data[:room])


def _decompress(piece: Piece, budget: SearchBudget) -> Iterator[Piece]:
    """Yields the contents of one or several consecutive gzip streams."""
    rest, data, room = piece.data, b"", budget.room
    while rest.startswith(_GZIP) and len(data) <= room:
        decompressor = zlib.decompressobj(31)
        data += decompressor.decompress(rest, room - len(data) + 1)
        if not decompressor.eof:
            budget.skip(piece.path, _TOO_LARGE if len(data) > room else "it ends too early")
            break
        rest = decompressor.unused_data.lstrip(b"\0")
    budget.count_unpacked(len(data))
    how = (*piece.how, "gzip")
    yield dataclasses.replace(piece, data=data[:room], how=how, depth=piece.depth + 1)


def _member_piece(piece: Piece, name: str, data: bytes, *, is_name: bool = False) -> Piece:
    """Returns *data* from the archive *piece* as a piece one level deeper."""
    return Piece(
        path=f"{piece.path} > {name}",
        data=data,
        how=piece.how,
        line=piece.line,
        depth=piece.depth + 1,
        is_name=is_name,
    )


def _cell_texts(piece: Piece) -> Iterator[Piece]:
    """Yields the cells of a notebook as text, and the contents of outputs and attachments."""
    try:
        tree = json.loads(piece.data)
    except (ValueError, RecursionError):
        return
    cells = tree.get("cells") if isinstance(tree, dict) else None
    if not isinstance(cells, list):
        return
    listed = [(n, cell) for n, cell in enumerate(cells, start=1) if isinstance(cell, dict)]
    texts = [(f"cell {n}", _join_lines(cell.get("source"))) for n, cell in listed]
    texts += [
        (f"cell {n}, {part}", text)
        for n, cell in listed
        for part in ("outputs", "attachments")
        for text in _iter_texts(cell.get(part))
    ]
    sections, lines = [], 1
    for name, text in texts:
        sections.append((lines, name))
        lines += text.count("\n") + 1
    data = "\n".join(text for _, text in texts).encode("utf-8", "replace")
    yield dataclasses.replace(
        piece, data=data, depth=piece.depth + 1, sections=() if piece.line else tuple(sections)
    )


def _join_lines(value: object) -> str:
    if isinstance(value, list):
        return "".join(one for one in value if isinstance(one, str))
    return value if isinstance(value, str) else ""


def _iter_texts(tree: object, depth: int = 0) -> Iterator[str]:
    """Yields the texts of outputs and attachments, with lists joined as Jupyter does."""
    lines = isinstance(tree, list) and tree and all(isinstance(item, str) for item in tree)
    if isinstance(tree, str) or lines:
        yield _join_lines(tree)
    elif isinstance(tree, list | dict) and depth < 8:
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from _iter_texts(item, depth + 1)


_LEGIBLE = re.compile(rb"[\x20-\x7e\t\n\r]{4,}")


def as_text(data: bytes) -> str:
    """Returns *data* as text; only its legible parts if it is neither UTF-8 nor UTF-16."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    if b"\0" not in data:
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            pass
    return "\n".join(match[0].decode("ascii") for match in _LEGIBLE.finditer(data))


# In wrapped base64, the last line is shorter.
_TOKEN = re.compile(
    r"(?:[A-Za-z0-9+/_-]{40,}\r?\n)+[A-Za-z0-9+/_-]*={0,2}|[A-Za-z0-9+/_-]{12,}={0,2}"
)
_HEX = re.compile(r"(?:[0-9A-Fa-f]{2})+")


def iter_tokens(text: str) -> Iterator[tuple[str, int]]:
    """Yields each run of hex or base64 characters and its position.

    Line ends and padding are removed, and the URL-safe alphabet is replaced by the usual one.
    """
    for match in _TOKEN.finditer(text):
        bare = re.sub(r"[\r\n=]", "", match[0])
        yield bare.replace("-", "+").replace("_", "/"), match.start()


def decode_tokens(text: str) -> Iterator[tuple[bytes, int, str]]:
    """Yields what each token of *text* decodes to, its position, and the encoding: hex or base64.

    A token of hex digits is yielded in both encodings.
    """
    for token, at in iter_tokens(text):
        if _HEX.fullmatch(token):
            yield bytes.fromhex(token), at, "hex"
        with contextlib.suppress(binascii.Error):
            rest = token[:-1] if len(token) % 4 == 1 else token
            yield base64.b64decode(rest + "=" * (-len(rest) % 4)), at, "base64"


_PRINTABLE = bytes({*range(32, 127), 9, 10, 13})


def is_file(data: bytes) -> bool:
    """Returns whether decoded bytes are text, or begin like a file in which to search further."""
    if not data.translate(None, _PRINTABLE):
        return len(data) >= 9
    return data.startswith((b"PK\x03\x04", b"\x89PNG", _GZIP))
