"""The wire between a forked kernel and the grader: one stream that nobody else can connect to.

A message is a kind, the number of the request that it answers, and a content, as two pieces of
JSON behind their lengths and a signature:

    4 bytes   length of the head, big-endian
    4 bytes   length of the content
    32 bytes  HMAC-SHA256 of both, with the key of this kernel
    head      {"kind": "stream", "to": "7"}
    content   {"name": "stdout", "text": "..."}

It replaces Jupyter's protocol over ZeroMQ at a tenth of the cost: there is no thread, a whole reply
leaves in one system call, and there is no address to connect to.
"""

from __future__ import annotations

import hmac
import json
import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

LONGEST_HEAD = 4_096
LONGEST = 8_000_000
"""Limit on a content in bytes; a longer one is counted but not read."""
MOST_MARKS = 200_000
"""Limit on brackets, commas, and colons of a content; one with more is counted but not read."""

_SIZES = struct.Struct("!II")
_TAG = 32
_FRONT = _SIZES.size + _TAG

# Bound here, because a student's code may replace them in a kernel.
_encode = json.JSONEncoder(default=str).encode
_decode = json.JSONDecoder().decode
_digest = hmac.digest
_compare = hmac.compare_digest


class Message(NamedTuple):
    """A message: its kind, the request that it answers, and its content; None if too large."""

    kind: str
    to: str
    content: dict[str, Any] | None
    size: int = 0


class BrokenWireError(Exception):
    """The bytes that arrived can't be split into messages."""


def pack_message(key: bytes, kind: str, to: str, content: object) -> bytes:
    """Returns a message as bytes. Objects in *content* that JSON lacks are sent as text."""
    head = _encode({"kind": kind, "to": to}).encode()
    body = _encode(content).encode()
    tag = _digest(key, head + body, "sha256")
    return b"".join((_SIZES.pack(len(head), len(body)), tag, head, body))


class MessageReader:
    """Splits arriving bytes into messages; holds at most one message that is not too long.

    *room* returns how many bytes the content of a message may have, given its kind and request; if
    negative, the message is dropped. Without *room*, contents up to *longest* are read.
    """

    def __init__(
        self, key: bytes, longest: int = LONGEST, room: Callable[[str, str], int] | None = None
    ):
        self._key = key
        self._longest = longest
        self._room = room
        self._held = bytearray()
        self._unread = 0
        """Bytes that are still to come of a content that is not read."""

    def add(self, data: bytes) -> None:
        """Adds bytes that have arrived."""
        self._held += data[self._unread :]
        self._unread = max(self._unread - len(data), 0)

    def iter_messages(self) -> Iterator[Message]:
        """Yields the complete messages; ignores forged and garbled ones.

        Raises BrokenWireError if a length is impossible.
        """
        while not self._unread and (front := self._read_front()):
            about, room, start, end = front
            if about is None or end - start > room:
                # Its signature can't be checked without reading it, so it is only counted.
                self._unread = max(end - len(self._held), 0)
                del self._held[:end]
                if about is not None and room >= 0:
                    yield Message(*about, None, end - start)
                continue
            if len(self._held) < end:
                return
            tag = bytes(self._held[_SIZES.size : _FRONT])
            signed = bytes(self._held[_FRONT:end])
            del self._held[:end]
            if _compare(tag, _digest(self._key, signed, "sha256")):
                body = signed[start - _FRONT :]
                crowded = self._room is not None and is_crowded(body, MOST_MARKS)
                yield from _parse_message(about, None if crowded else body, len(body))

    def _read_front(self) -> tuple[tuple[str, str] | None, int, int, int] | None:
        """Returns kind and request (None if malformed) of the first message, the room for its
        content, and where that starts and ends.

        Returns None until the head of the message is complete.
        """
        if len(self._held) < _FRONT:
            return None
        head_size, size = _SIZES.unpack_from(self._held)
        if head_size > LONGEST_HEAD:
            raise BrokenWireError
        start = _FRONT + head_size
        if len(self._held) < start:
            return None
        about = _parse_head(bytes(self._held[_FRONT:start]))
        room = self._longest
        if self._room is not None and about is not None:
            room = self._room(*about)
        return about, room, start, start + size


def _parse_head(head: bytes) -> tuple[str, str] | None:
    """Returns the kind and the request of a message; None if the head is malformed."""
    try:
        about = _decode(head.decode())
        kind, to = about["kind"], about["to"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return (kind, to) if isinstance(kind, str) and isinstance(to, str) else None


def _parse_message(about: tuple[str, str], body: bytes | None, size: int) -> Iterator[Message]:
    """Yields the message, without content if *body* is None; nothing if *body* is malformed."""
    try:
        content = None if body is None else _decode(body.decode())
    except (ValueError, RecursionError, MemoryError):
        return  # as if it had not been sent
    if isinstance(content, dict) or content is None:
        yield Message(*about, content, size)


_NO_MARKS = bytes(set(range(256)) - set(b'"[{,:'))


def is_crowded(text: bytes, most: int) -> bool:
    """Returns whether JSON has more than *most* brackets, commas, and colons outside its strings.

    Every value except the first follows one. A value of two bytes takes a hundred when decoded, so
    this is checked before decoding.
    """
    if len(text) <= most:
        return False
    marks = text.translate(None, _NO_MARKS)
    if len(marks) - marks.count(b'"') <= most:
        return False
    # Quotes of strings without marks are now adjacent; other strings contained marks.
    text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    marks = text.translate(None, _NO_MARKS).replace(b'""', b"")
    if marks.count(b'"') > most:
        return True
    return sum(map(len, marks.split(b'"')[::2])) > most
