"""Undoes the encodings in a text step by step, and maps positions back to its lines."""

from __future__ import annotations

import base64
import binascii
import codecs
import contextlib
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

ROUNDS = 3
"""Levels of nested encodings."""
_MOST_BLOBS = 2_000
_SMALLEST_BLOB = 8
_REMEMBERED = 100
"""Limit on the characters of a token whose decoding is cached."""
_SHORT = 12_000
"""Limit on the characters of a text that is searched completely after every step."""
_AROUND = 300
"""Characters searched before and after a decoded token in a longer text."""
_NAME = re.compile(r"q\d+_[a-z][a-z0-9_]*")


@dataclass(kw_only=True)
class View:
    """A text, and the origin of each of its segments in the text it was derived from."""

    text: str
    how: tuple[str, ...] = ()
    parent: View | None = None
    starts: list[int] = field(default_factory=lambda: [0])
    origins: list[int] = field(default_factory=lambda: [0])
    slopes: list[int] = field(default_factory=lambda: [1])
    """0 for a segment decoded as a whole, -1 for a reversed one."""
    blobs: list[tuple[bytes, int, tuple[str, ...]]] = field(default_factory=list)
    """Binary data that tokens decoded to: bytes, position in the first text, encodings."""

    def origin(self, at: int) -> int:
        """The position in the original text."""
        index = bisect_right(self.starts, at) - 1
        place = self.origins[index] + self.slopes[index] * (at - self.starts[index])
        return place if self.parent is None else self.parent.origin(place)


def views(text: str, *, deep: bool = True) -> Iterator[View]:
    """The text itself, and all texts that it may encode."""
    plain = View(text=text)
    roots = [plain]
    if deep:
        roots += [
            joined(plain),
            _replaced(plain, _DENSE, _dense, ()),
            View(text=codecs.encode(text, "rot13"), how=("rot13",), parent=plain),
            View(
                text=text[::-1],
                how=("reversed",),
                parent=plain,
                origins=[len(text) - 1],
                slopes=[-1],
            ),
        ]
    for root in roots:
        if root is not plain and root.text == text:
            continue
        yield root
        view = root
        for _ in range(ROUNDS if deep else 1):
            inner = _decoded(view)
            if inner.text == view.text and not inner.blobs:
                break
            view = _around_changes(inner) if len(inner.text) > _SHORT else inner
            yield view


def _around_changes(view: View) -> View:
    """The lines of a long text in which something was decoded, with neighboring lines."""
    text = view.text
    made = View(text="", how=view.how, parent=view, blobs=view.blobs, starts=[], origins=[])
    parts: list[str] = []
    length = last = 0
    for index, at in enumerate(view.starts):
        end = view.starts[index + 1] if index + 1 < len(view.starts) else len(text)
        if view.slopes[index] != 0 or end <= last:
            continue
        first, after = max(0, at - _AROUND), min(len(text), end + _AROUND)
        first = max(last, first)
        parts.append(text[first:after])
        made.starts.append(length)
        made.origins.append(first)
        length += after - first
        last = after
    made.text = "".join(parts)
    made.starts, made.origins = made.starts or [0], made.origins or [0]
    made.slopes = [1] * len(made.starts)
    return made


_SEAM = re.compile(
    r"""(?:\\n)?["']\s*+(?:[+,\\]\s*+)?["']        # "a" + "b", and lines of a cell in its JSON
    |\\?\r?\n[ \t]*(?:[\#>|*-]\s?)?               # the end of a line, wrapped or quoted
    """,
    re.X,
)


def joined(view: View) -> View:
    """The text without line ends and string seams, to find secrets that are split over them."""
    return _replaced(view, _SEAM, lambda _found, _blobs: ("", ""), ("joined lines",))


_TOKENS = re.compile(
    r"""(?P<percent>(?:%[0-9A-Fa-f]{2})+)
    |(?P<quoted>(?:=[0-9A-F]{2}){2,})
    |(?P<escape>\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\[0-7]{3}|\\["'\\/ntr])
    |(?P<entity>&\#(?:x[0-9A-Fa-f]{1,6}|[0-9]{1,7});|&(?:quot|amp|lt|gt|apos|nbsp);)
    |(?P<binary>(?<![01])(?:[01]{8}[ ,]?){3,})
    |(?P<bytes>(?<![0-9A-Fa-f])(?:(?:0x|\\x)?[0-9A-Fa-f]{2}[ :,]{1,2}){3,}(?:0x)?[0-9A-Fa-f]{2}
      (?![0-9A-Fa-f]))
    |(?P<codes>(?<!\d)(?:\d{2,3},\s?){2,}\d{2,3}(?!\d))
    |(?P<run>[A-Za-z0-9+/_-]{6,}={0,6})
    """,
    re.X,
)
_ENTITIES = {"quot": '"', "amp": "&", "lt": "<", "gt": ">", "apos": "'", "nbsp": " "}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}

_Blobs = list[tuple[bytes, str]]


def _decoded(view: View) -> View:
    """The text with every token replaced by the text it encodes, if any."""
    return _replaced(view, _TOKENS, _token, view.how)


def _replaced(
    view: View,
    pattern: re.Pattern[str],
    meaning: Callable[[re.Match[str], _Blobs], tuple[str, str] | None],
    how: tuple[str, ...],
) -> View:
    parts: list[str] = []
    made = View(text="", how=how, parent=view, starts=[], origins=[], slopes=[])
    length = end = 0
    names: dict[str, None] = {}

    def add(text: str, origin: int, slope: int) -> None:
        nonlocal length
        if text:
            parts.append(text)
            made.starts.append(length)
            made.origins.append(origin)
            made.slopes.append(slope)
            length += len(text)

    for found in pattern.finditer(view.text):
        blobs: _Blobs = []
        meant = meaning(found, blobs)
        if blobs and len(made.blobs) < _MOST_BLOBS:
            place = view.origin(found.start())
            made.blobs += [(data, place, (*how, name)) for data, name in blobs]
        if meant is None:
            continue
        add(view.text[end : found.start()], end, 1)
        add(meant[0], found.start(), 0)
        names.setdefault(meant[1])
        end = found.end()
    if not end:
        made.text, made.starts, made.origins, made.slopes = view.text, [0], [0], [1]
        return made
    add(view.text[end:], end, 1)
    made.text = "".join(parts)
    made.how = (*how, *filter(None, names))
    made.starts, made.origins, made.slopes = (
        made.starts or [0],
        made.origins or [0],
        made.slopes or [1],
    )
    return made


def _token(found: re.Match[str], blobs: _Blobs) -> tuple[str, str] | None:
    """The text that a token encodes, and the encoding; None if it encodes none."""
    kind, written = found.lastgroup or "", found[0]
    if kind == "run":
        meant, others = (_run if len(written) <= _REMEMBERED else _run.__wrapped__)(written)
        blobs += others
        return meant
    text = _SIMPLE[kind](written)
    return (text, _NAMES[kind]) if text else None


def _percent(written: str) -> str:
    return bytes.fromhex(written.replace("%", "").replace("=", "")).decode("utf-8", "replace")


def _escape(written: str) -> str:
    rest = written[1:]
    if rest[0] in "ux" and len(rest) > 1:
        return chr(int(rest[1:], 16))
    return chr(int(rest, 8)) if len(rest) == 3 else _ESCAPES.get(rest, rest)


def _entity(written: str) -> str:
    name = written[1:-1]
    if name in _ENTITIES:
        return _ENTITIES[name]
    number = int(name[2:], 16) if name[1] in "xX" else int(name[1:])
    return chr(number) if 9 <= number < 0x110000 else ""


def _binary(written: str) -> str:
    return _printable(bytes(int(eight, 2) for eight in re.findall("[01]{8}", written))) or ""


def _bytes(written: str) -> str:
    pairs = re.findall(r"(?:0x|\\x)?([0-9A-Fa-f]{2})", written)
    return _printable(bytes.fromhex("".join(pairs))) or ""


def _codes(written: str) -> str:
    numbers = [int(one) for one in written.split(",")]
    return _printable(bytes(numbers)) or "" if max(numbers) < 256 else ""


_SIMPLE: dict[str, Callable[[str], str]] = {
    "percent": _percent,
    "quoted": _percent,
    "escape": _escape,
    "entity": _entity,
    "binary": _binary,
    "bytes": _bytes,
    "codes": _codes,
}
_NAMES = {
    "percent": "URL-encoded",
    "quoted": "quoted-printable",
    "escape": "escaped",
    "entity": "HTML entities",
    "binary": "binary digits",
    "bytes": "hex",
    "codes": "character codes",
}
# Base 85 in Python's two alphabets, and lines of uuencode.
_DENSE = re.compile(r"(?m)^[!-M][ -`]{8,84}$|(?<![!-~])[!-~]{10,}(?![!-~])")


def _dense(found: re.Match[str], _blobs: _Blobs) -> tuple[str, str] | None:
    for name, decode in _DENSE_READINGS:
        with contextlib.suppress(ValueError, binascii.Error):
            written = found[0] if name == "uuencode" else found[0].strip("\"'` ,")
            text = _printable(decode(written.encode()))
            if text is not None and len(text) >= 6:
                return text, name
    return None


_DENSE_READINGS: tuple[tuple[str, Callable[[bytes], bytes]], ...] = (
    ("base85", base64.b85decode),
    ("ascii85", base64.a85decode),
    ("uuencode", binascii.a2b_uu),
)
_HEX = re.compile(r"[0-9A-Fa-f]+")
_BASE32 = re.compile(r"[A-Z2-7]+=*")


# Cached, since most tokens are words that are the same in every notebook of an exam.
@lru_cache(maxsize=50_000)
def _run(written: str) -> tuple[tuple[str, str] | None, tuple[tuple[bytes, str], ...]]:
    """The text that a token encodes, and binary data that it may encode."""
    blobs: _Blobs = []
    if _NAME.fullmatch(written):
        return None, ()  # the name of an answer, which is public anyway
    for name, data in _readings(written):
        text = _printable(data)
        if text is not None and len(text) >= 3:
            return (text, name), tuple(blobs)
        if len(data) >= _SMALLEST_BLOB:
            blobs.append((data, name))
    return None, tuple(blobs)


def _readings(written: str) -> Iterator[tuple[str, bytes]]:
    bare = written.rstrip("=")
    if _HEX.fullmatch(bare) and len(bare) % 2 == 0:
        yield "hex", bytes.fromhex(bare)
    if _BASE32.fullmatch(written) and len(bare) >= 8:
        whole = bare[: len(bare) - len(bare) % 8] if len(bare) % 8 in (1, 3, 6) else bare
        with_end = whole + "=" * (-len(whole) % 8)
        with contextlib.suppress(binascii.Error):
            yield "base32", base64.b32decode(with_end)
    bare = bare.replace("-", "+").replace("_", "/")
    # A token may be a segment from the middle of longer encoded data.
    for skip in range(4 if len(bare) >= 10 else 1):
        rest = bare[skip:]
        rest = rest[: len(rest) - 1] if len(rest) % 4 == 1 else rest
        name = "base64, from the middle" if skip else "base64"
        yield name, binascii.a2b_base64(rest + "=" * (-len(rest) % 4))


_TEXT = bytes({*range(32, 127), 9, 10, 13})


def _printable(data: bytes) -> str | None:
    """The text that these bytes encode; None if they are not text."""
    if data.translate(None, _TEXT):
        if len(data) >= 8 and data.count(0) * 2 in (len(data), len(data) - 1, len(data) + 1):
            name = "utf-16-le" if data[1::2].count(0) == len(data[1::2]) else "utf-16-be"
            return _printable(data.decode(name, "ignore").encode("ascii", "ignore"))
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return None
        return text if len(text) >= 8 and text.isprintable() and text.isalnum() is False else None
    return data.decode("ascii")
