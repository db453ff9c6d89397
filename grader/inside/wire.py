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
from collections.abc import Iterator
from typing import Any, NamedTuple

LONGEST_HEAD = 4_096
LONGEST = 8_000_000
"""Bytes of a content; a longer one is counted and not read."""

_SIZES = struct.Struct("!II")
_TAG = 32
_FRONT = _SIZES.size + _TAG

# Bound here, because in a kernel a student may put something else in their place.
_encode = json.JSONEncoder(default=str).encode
_decode = json.JSONDecoder().decode
_digest = hmac.digest
_compare = hmac.compare_digest


class Message(NamedTuple):
    """What was said: of which kind, in answer to which request; None as content when too long."""

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
    """Makes messages of bytes as they come; holds no more than one that is not too long."""

    def __init__(self, key: bytes, longest: int = LONGEST):
        self._key = key
        self._longest = longest
        self._held = bytearray()
        self._skipped: tuple[bytes, int] | None = None
        self._left = 0
        """Of a content that is too long, what is still to come."""

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
                (head, size), self._skipped = self._skipped, None
                yield from _message(head, None, size)
            if len(self._held) < _FRONT:
                return
            head_size, size = _SIZES.unpack_from(self._held)
            if head_size > LONGEST_HEAD:
                raise BrokenWireError
            start = _FRONT + head_size
            if len(self._held) < start:
                return
            if size > self._longest:
                self._skip(bytes(self._held[_FRONT:start]), start, size)
                continue
            if len(self._held) < start + size:
                return
            tag = bytes(self._held[_SIZES.size : _FRONT])
            said = bytes(self._held[_FRONT : start + size])
            del self._held[: start + size]
            if _compare(tag, _digest(self._key, said, "sha256")):
                yield from _message(said[:head_size], said[head_size:], size)

    def _skip(self, head: bytes, start: int, size: int) -> None:
        # Its signature can't be checked without reading it; all that it can do is to be counted.
        here = min(len(self._held) - start, size)
        del self._held[: start + here]
        self._left = size - here
        self._skipped = (head, size)


def _message(head: bytes, body: bytes | None, size: int) -> Iterator[Message]:
    try:
        about = _decode(head.decode())
        content = None if body is None else _decode(body.decode())
        if isinstance(content, dict) or content is None:
            yield Message(str(about["kind"]), str(about["to"]), content, size)
    except (ValueError, KeyError, TypeError, RecursionError):
        return  # as if never said
