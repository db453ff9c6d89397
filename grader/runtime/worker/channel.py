"""The wire between a forked kernel and the grader: one stream that nobody else can connect to.

A message is a kind, the number of the request that it answers, and a content, as two pieces of
JSON behind their lengths and a signature:

    4 bytes   length of the head, big-endian
    4 bytes   length of the content
    32 bytes  HMAC-SHA256 of both, with the key of this kernel
    head      {"kind": "stream", "to": "7"}
    content   {"name": "stdout", "text": "..."}

It does what Jupyter's wire protocol does over ZeroMQ, for two who know each other, at a tenth of
the cost: there is no thread, a whole answer leaves in one system call, and what is not there can't
be connected to.
"""

from __future__ import annotations

import hmac
import json
import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

LONGEST_HEAD = 4_096
LONGEST = 8_000_000
"""Bytes of a content; a longer one is counted and not read."""
MOST_MARKS = 200_000
"""Brackets, commas and colons of a content; one with more is counted and not read, too."""

_SIZES = struct.Struct("!II")
_TAG = 32
_FRONT = _SIZES.size + _TAG

# Bound here, because in a kernel a student may put something else in their place.
_encode = json.JSONEncoder(default=str).encode
_decode = json.JSONDecoder().decode
_digest = hmac.digest
_compare = hmac.compare_digest


class Message(NamedTuple):
    """What was said: of which kind, in answer to which request; None as content when too large."""

    kind: str
    to: str
    content: dict[str, Any] | None
    size: int = 0


class BrokenWireError(Exception):
    """What arrived can't be told apart any more."""


def packed(key: bytes, kind: str, to: str, content: object) -> bytes:
    """A message as it is sent. Whatever is no JSON in *content* goes as its text."""
    head = _encode({"kind": kind, "to": to}).encode()
    body = _encode(content).encode()
    tag = _digest(key, head + body, "sha256")
    return b"".join((_SIZES.pack(len(head), len(body)), tag, head, body))


class Unpacking:
    """Makes messages of bytes as they come; holds no more than one that is not too long.

    *room* says by its kind and request how many bytes a content may have; with less than 0 the
    message is dropped as it comes, whatever its signature. Without it everything is read that is
    not longer than *longest*.
    """

    def __init__(
        self, key: bytes, longest: int = LONGEST, room: Callable[[str, str], int] | None = None
    ):
        self._key = key
        self._longest = longest
        self._room = room
        self._held = bytearray()
        self._begun: tuple[tuple[str, str] | None, int, int, int] | None = None
        """Of the message at the front: what it is about, its room, and where it starts and ends."""
        self._skipped: Message | None = None
        self._left = 0
        """Of a content that is not read, what is still to come."""

    def add(self, data: bytes) -> None:
        """Takes in what has arrived."""
        if self._left:
            gone = min(self._left, len(data))
            self._left -= gone
            data = data[gone:]
        self._held += data

    def messages(self) -> Iterator[Message]:
        """The messages that are complete. Forged and garbled ones are as if never said.

        Raises BrokenWireError when lengths can't be right.
        """
        while not self._left:
            if self._skipped is not None:
                skipped, self._skipped = self._skipped, None
                yield skipped
            begun = self._begun = self._begun or self._front()
            if begun is None:
                return
            about, room, start, end = begun
            if about is None or end - start > room:
                self._skip(begun)
                continue
            if len(self._held) < end:
                return
            tag = bytes(self._held[_SIZES.size : _FRONT])
            said = bytes(self._held[_FRONT:end])
            del self._held[:end]
            self._begun = None
            if _compare(tag, _digest(self._key, said, "sha256")):
                body = said[start - _FRONT :]
                crowded = self._room is not None and is_crowded(body, MOST_MARKS)
                yield from _message(about, None if crowded else body, len(body))

    def _front(self) -> tuple[tuple[str, str] | None, int, int, int] | None:
        """The message that begins; None while its head is not there."""
        if len(self._held) < _FRONT:
            return None
        head_size, size = _SIZES.unpack_from(self._held)
        if head_size > LONGEST_HEAD:
            raise BrokenWireError
        start = _FRONT + head_size
        if len(self._held) < start:
            return None
        about = _about(bytes(self._held[_FRONT:start]))
        room = self._longest
        if self._room is not None and about is not None:
            room = self._room(*about)
        return about, room, start, start + size

    def _skip(self, begun: tuple[tuple[str, str] | None, int, int, int]) -> None:
        # Its signature can't be checked without reading it; all that it can do is to be counted.
        about, room, start, end = begun
        here = min(len(self._held), end)
        del self._held[:here]
        self._left = end - here
        self._begun = None
        if about is not None and room >= 0:
            self._skipped = Message(*about, None, end - start)


def _about(head: bytes) -> tuple[str, str] | None:
    """The kind and the request of a message; None when the head has not its form."""
    try:
        about = _decode(head.decode())
        kind, to = about["kind"], about["to"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return (kind, to) if isinstance(kind, str) and isinstance(to, str) else None


def _message(about: tuple[str, str], body: bytes | None, size: int) -> Iterator[Message]:
    try:
        content = None if body is None else _decode(body.decode())
    except (ValueError, RecursionError, MemoryError):
        return  # as if never said
    if isinstance(content, dict) or content is None:
        yield Message(*about, content, size)


_NO_MARKS = bytes(set(range(256)) - set(b'"[{,:'))


def is_crowded(text: bytes, most: int) -> bool:
    """Whether JSON has more than *most* brackets, commas and colons outside of its strings.

    Every value but the first stands behind one. Decoded, a value of two bytes takes a hundred,
    so that this is looked at before.
    """
    if len(text) <= most:
        return False
    marks = text.translate(None, _NO_MARKS)
    if len(marks) - marks.count(b'"') <= most:
        return False
    # With the text of a string its quotes meet; what is left of strings had marks in it.
    text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    marks = text.translate(None, _NO_MARKS).replace(b'""', b"")
    if marks.count(b'"') > most:
        return True
    return sum(map(len, marks.split(b'"')[::2])) > most
