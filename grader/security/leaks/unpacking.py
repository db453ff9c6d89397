"""Unpacks archives, compressed streams, notebooks and pickles within bounds."""

from __future__ import annotations

import bz2
import dataclasses
import io
import json
import lzma
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from grader.security.leaks.records import LATE, Budget, Piece

_MOST_STREAMS = 5_000
"""Compressed streams unpacked in one file, such as a PDF."""
_MOST_OPERATIONS = 200_000


def unpacked(piece: Piece, budget: Budget) -> Iterator[Piece]:
    """Everything inside *piece*, one level down."""
    data = piece.data
    if piece.depth >= budget.bounds.depth:
        if _opener(data) is not None:
            budget.skip(piece.path, "its archives are nested too deeply")
        return
    open_it = _opener(data)
    if open_it is not None:
        try:
            yield from open_it(piece, budget)
        except Exception as error:  # noqa: BLE001 - the libraries raise all sorts of things
            budget.skip(piece.path, f"{_BROKEN}: {type(error).__name__}")
    elif (closed := _closed(data)) is not None:
        budget.skip(piece.path, f"{closed} archives are not searched")
    else:
        yield from _inside(piece, budget)
    if data[:1] == b"{" or data.lstrip()[:1] == b"{":
        yield from notebook_texts(piece)
    if data[:1] == b"\x80" or data[:1] in b"(]}clIFSV":
        yield from _pickle(piece, budget)
    if data[:6] == b"\x93NUMPY":
        yield from _array(piece)


_BROKEN, _CUT_OFF = "can't be unpacked", "it ends too early"
DAMAGED = (_BROKEN, _CUT_OFF)
"""How a reason begins if the bytes may only look like an archive."""
_CLOSED = (
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
    (b"Rar!\x1a\x07", "RAR"),
    (b"\x28\xb5\x2f\xfd", "Zstandard"),
    (b"\x04\x22\x4d\x18", "LZ4"),
)
_Open = Callable[[Piece, Budget], Iterator[Piece]]


def _closed(data: bytes) -> str | None:
    """The name of an archive format that can't be opened here; None for other bytes."""
    return next((name for magic, name in _CLOSED if data.startswith(magic)), None)


def _opener(data: bytes) -> _Open | None:
    for magic, at, open_it in _FORMATS:
        if data[at : at + len(magic)] == magic:
            return open_it
    # A zip may follow arbitrary bytes.
    return _zip if b"PK\x05\x06" in data[-70_000:] and b"PK\x03\x04" in data else None


def _zip(piece: Piece, budget: Budget) -> Iterator[Piece]:
    with zipfile.ZipFile(io.BytesIO(piece.data)) as archive:
        if archive.comment:
            yield _made(piece, "comment", archive.comment)
        for info in archive.infolist():
            path = f"{piece.path} > {info.filename}"
            if not budget.entry(path):
                return
            yield _made(piece, info.filename, info.filename.encode(), is_name=True)
            if info.comment or info.extra:
                yield _made(piece, info.filename, info.comment + b"\n" + info.extra)
            if info.is_dir():
                continue
            if info.flag_bits & 1:
                budget.skip(path, "it is encrypted")
                continue
            try:
                if info.compress_type in _BOUNDED_BY_ZIPFILE:
                    with archive.open(info) as member:
                        yield from _bounded(piece, info.filename, member, budget)
                else:
                    yield from _bounded(piece, info.filename, _Packed(piece.data, info), budget)
            except Exception as error:  # noqa: BLE001 - as above
                budget.skip(path, f"{_BROKEN}: {type(error).__name__}")


_BOUNDED_BY_ZIPFILE = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
"""Other methods can unpack a few bytes to gigabytes at once, however few were requested."""
_LOCAL = struct.Struct("<26xHH")
_HAS_END_MARK = 2


class _Packed:
    """A member packed with bzip2 or LZMA, unpacked only as far as requested."""

    def __init__(self, data: bytes, info: zipfile.ZipInfo):
        """*data* is the whole zip. Raises NotImplementedError for other compression methods."""
        name, extra = _LOCAL.unpack_from(data, info.header_offset)
        start = info.header_offset + _LOCAL.size + name + extra
        self._rest = data[start : start + info.compress_size]
        self._unpack: bz2.BZ2Decompressor | lzma.LZMADecompressor
        if info.compress_type == zipfile.ZIP_BZIP2:
            self._unpack = bz2.BZ2Decompressor()
        elif info.compress_type == zipfile.ZIP_LZMA:
            # Four bytes specific to zip, then the header of an LZMA file without the size.
            size = -1 if info.flag_bits & _HAS_END_MARK else info.file_size
            head = self._rest[4:9] + struct.pack("<q", size)
            self._rest = head + self._rest[9:]
            self._unpack = lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=2**28)
        else:
            raise NotImplementedError

    def read(self, size: int, /) -> bytes:
        """The first *size* bytes; can be called only once."""
        return self._unpack.decompress(self._rest, size)


def _tar(piece: Piece, budget: Budget) -> Iterator[Piece]:
    with tarfile.open(fileobj=io.BytesIO(piece.data), mode="r:") as archive:
        for info in archive:
            path = f"{piece.path} > {info.name}"
            if not budget.entry(path):
                return
            names = f"{info.name}\n{info.linkname}\n{info.uname}\n{info.pax_headers or ''}"
            yield _made(piece, info.name, names.encode("utf-8", "replace"), is_name=True)
            member = archive.extractfile(info) if info.isreg() else None
            if member is not None:
                yield from _bounded(piece, info.name, member, budget)


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def _bounded(piece: Piece, name: str, member: _Readable, budget: Budget) -> Iterator[Piece]:
    room = budget.room
    data = member.read(room + 1)
    if len(data) > room:
        budget.skip(f"{piece.path} > {name}", "it is too large to be unpacked completely")
        data = data[:room]
    budget.unpacked(len(data))
    yield _made(piece, name, data)


def _stream(how: str, make: Callable[[], Any]) -> _Open:
    """An opener for formats that hold one or several consecutive streams."""

    def open_it(piece: Piece, budget: Budget) -> Iterator[Piece]:
        rest, parts, room = piece.data, [], budget.room
        while rest and room > 0:
            one = make()
            part = one.decompress(rest, room + 1)
            parts.append(part[:room])
            room -= len(part)
            if not one.eof:
                if room >= 0:
                    budget.skip(piece.path, _CUT_OFF)
                break
            rest = one.unused_data.lstrip(b"\0")
            if parts and rest[:2] != piece.data[:2]:
                break
        if room < 0:
            budget.skip(piece.path, "it is too large to be unpacked completely")
        data = b"".join(parts)
        budget.unpacked(len(data))
        yield Piece(
            path=piece.path,
            data=data,
            how=(*piece.how, how),
            line=piece.line,
            depth=piece.depth + 1,
        )
        if rest and rest[:2] != piece.data[:2]:
            yield Piece(path=piece.path, data=rest, how=piece.how, depth=piece.depth + 1)

    return open_it


_FORMATS: tuple[tuple[bytes, int, _Open], ...] = (
    (b"PK\x03\x04", 0, _zip),
    (b"PK\x05\x06", 0, _zip),
    (b"\x1f\x8b", 0, _stream("gzip", lambda: zlib.decompressobj(31))),
    (b"BZh", 0, _stream("bzip2", bz2.BZ2Decompressor)),
    (b"\xfd7zXZ\0", 0, _stream("xz", lambda: lzma.LZMADecompressor(memlimit=2**28))),
    (b"\x5d\x00\x00", 0, _stream("lzma", lambda: lzma.LZMADecompressor(memlimit=2**28))),
    (b"ustar", 257, _tar),
)

_ZLIB = re.compile(rb"\x78[\x01\x5e\x9c\xda]|\x1f\x8b\x08")


def _inside(piece: Piece, budget: Budget) -> Iterator[Piece]:
    """Compressed streams anywhere in the bytes, such as texts in a PNG or pages of a PDF."""
    whole, number = memoryview(piece.data), 0
    for found in _ZLIB.finditer(piece.data):
        if budget.late:
            budget.skip(piece.path, LATE)
            return
        stream = zlib.decompressobj(47)  # either header
        try:
            data = stream.decompress(whole[found.start() :], budget.room or 1)
        except zlib.error:
            continue
        if len(data) >= 8:
            number += 1
            if number > _MOST_STREAMS:
                budget.skip(piece.path, f"it has more than {_MOST_STREAMS} compressed parts")
                return
            budget.unpacked(len(data))
            if not stream.eof and stream.unconsumed_tail:
                budget.skip(piece.path, "a compressed part is too large to be unpacked completely")
            yield Piece(
                path=piece.path,
                data=data,
                how=(*piece.how, "zlib"),
                line=piece.line,
                depth=piece.depth + 1,
            )


def notebook_texts(piece: Piece) -> Iterator[Piece]:
    """The cells of a notebook as text, and the contents of their outputs and attachments."""
    try:
        tree = json.loads(piece.data)
    except (ValueError, RecursionError):
        return
    cells = tree.get("cells") if isinstance(tree, dict) else None
    if not isinstance(cells, list):
        return
    listed = [(n, cell) for n, cell in enumerate(cells, start=1) if isinstance(cell, dict)]
    yield _together(piece, [(f"cell {n}", _text(cell.get("source"))) for n, cell in listed])
    others = [
        (f"cell {n}, {part}", text)
        for n, cell in listed
        for part in ("outputs", "attachments")
        for text in _leaves(cell.get(part))
    ]
    if others:
        yield _together(piece, others)


def _together(piece: Piece, texts: list[tuple[str, str]]) -> Piece:
    """Several texts joined, to find secrets that are split over them."""
    sections, lines = [], 1
    for name, text in texts:
        sections.append((lines, name))
        lines += text.count("\n") + 1
    data = "\n".join(text for _, text in texts).encode("utf-8", "replace")
    return dataclasses.replace(
        piece, data=data, depth=piece.depth + 1, sections=() if piece.line else tuple(sections)
    )


def _text(value: object) -> str:
    if isinstance(value, list):
        return "".join(one for one in value if isinstance(one, str))
    return value if isinstance(value, str) else ""


def _leaves(tree: object, depth: int = 0) -> Iterator[str]:
    """The texts of outputs and attachments, with lists joined as Jupyter does."""
    if depth > 8:
        return
    if isinstance(tree, str) or (
        isinstance(tree, list) and tree and all(isinstance(one, str) for one in tree)
    ):
        yield _text(tree)
    elif isinstance(tree, list | dict):
        for one in tree.values() if isinstance(tree, dict) else tree:
            yield from _leaves(one, depth + 1)


def _pickle(piece: Piece, budget: Budget) -> Iterator[Piece]:
    """The plain values in a pickle, read without loading it."""
    import pickletools

    found: list[str] = []
    try:
        for number, (_, value, _at) in enumerate(pickletools.genops(piece.data)):
            if isinstance(value, bytes):
                found.append(value.decode("latin-1"))
            elif isinstance(value, str | int | float):
                found.append(str(value))
            if number > _MOST_OPERATIONS:
                budget.skip(piece.path, f"it has more than {_MOST_OPERATIONS} pickle operations")
                break
    except Exception:  # noqa: BLE001 - whatever is no pickle, and pickletools says so in many ways
        return
    yield _made(piece, "pickle", " : ".join(found).encode("utf-8", "replace"))


def _array(piece: Piece) -> Iterator[Piece]:
    import numpy as np

    try:
        array = np.load(io.BytesIO(piece.data), allow_pickle=False)
    except Exception:  # noqa: BLE001 - what its head says need not be true, nor fit in memory
        return
    listed = array.ravel()[:50_000].tolist()
    yield _made(piece, "array", " ".join(map(str, listed)).encode("utf-8", "replace"))


def _made(piece: Piece, name: str, data: bytes, *, is_name: bool = False) -> Piece:
    return Piece(
        path=f"{piece.path} > {name}",
        data=data,
        how=piece.how,
        line=piece.line,
        depth=piece.depth + 1,
        is_name=is_name,
    )


_STRINGS = re.compile(rb"[\x20-\x7e\t\n\r]{4,}")
_WIDE = (
    (re.compile(rb"(?:[\x20-\x7e\t\n\r]\0){4,}"), "utf-16-le"),
    (re.compile(rb"(?:\0[\x20-\x7e\t\n\r]){4,}"), "utf-16-be"),
    (re.compile(rb"(?:[\x20-\x7e\t\n\r]\0\0\0){4,}"), "utf-32-le"),
)


def texts(data: bytes) -> Iterator[tuple[str, str]]:
    """The text of *data* with the name of its encoding: all of it, or its legible parts."""
    if b"\0" not in data:
        try:
            yield data.decode("utf-8-sig"), ""
            return
        except UnicodeDecodeError:
            pass
    for pattern, name in _WIDE:
        found = [one[0].decode(name, "ignore") for one in pattern.finditer(data)]
        if found:
            yield "\n".join(found), name
    legible = [one[0].decode("ascii") for one in _STRINGS.finditer(data)]
    if legible:
        yield "\n".join(legible), ""
