"""Scans the structure of an untrusted notebook file before it is parsed.

The scan builds no objects, so that a small file can't become gigabytes of them. It removes outputs,
which are most of a notebook and are not needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from grader.errors import SubmissionError

MAX_BYTES = 64_000_000
MAX_KEPT_BYTES = 20_000_000
"""Maximum size without outputs, in bytes."""
MAX_DEPTH = 100
MAX_VALUES = 500_000
"""Maximum number of strings, brackets and commas; in outputs, only brackets count."""

# Possessive quantifiers prevent backtracking: each byte is read once.
_STRING = rb'"(?:[^"\\]++|\\.)*+"'
_TOKEN = re.compile(rb'[^"\[\]{},:]*+(' + _STRING + rb"|[\[\]{},:])", re.DOTALL)
_BRACKET = re.compile(rb'[^"\[\]{}]*+(?:' + _STRING + rb'[^"\[\]{}]*+)*+([\[\]{}])', re.DOTALL)
_PAIRS = {b"]": b"[", b"}": b"{"}
_OUTPUTS = b'"outputs"'
# A cell in the notebook's list of cells, or in that of one of its worksheets.
_IN_A_CELL = (b"{[{", b"{[{[{")

FIX = "open it in Jupyter, save it, and hand in the saved file"
_CLEAR = "clear the outputs of the notebook, save it, and hand it in again"


@dataclass(frozen=True, slots=True)
class TrimmedNotebook:
    """A notebook's bytes without its outputs."""

    data: bytes
    original: bytes
    cuts: tuple[tuple[int, int], ...]
    """Offsets in `data` where bytes were removed, and how many."""

    def format_position(self, offset: int) -> str:
        """Line and column in the original of an offset in `data`."""
        offset += sum(length for at, length in self.cuts if at <= offset)
        line = self.original.count(b"\n", 0, offset) + 1
        start = self.original.rfind(b"\n", 0, offset) + 1
        column = len(self.original[start:offset].decode(errors="replace")) + 1
        return f"line {line}, column {column}"


def refusal(what: str, fix: str = FIX) -> SubmissionError:
    """The error for the student who handed in the file."""
    return SubmissionError(what, fix=fix)


def too_large_error(size: int) -> SubmissionError:
    """The error for a file of *size* bytes."""
    shown, most = size / 1e6, MAX_BYTES / 1e6
    return refusal(f"the file has {shown:.0f} MB; at most {most:.0f} MB are read", _CLEAR)


def trim(data: bytes) -> TrimmedNotebook:
    """*data* without the outputs of its cells.

    Raises SubmissionError if it is too large, too deep or has too many values. Invalid JSON is left
    for the parser to report.
    """
    kept: list[bytes] = []
    cuts: list[tuple[int, int]] = []
    start = length = 0
    for begin, end in _find_outputs(data):
        kept.append(data[start:begin])
        length += begin - start
        cuts.append((length, end - begin))
        start = end
    kept.append(data[start:])
    found = b"".join(kept)
    if len(found) > MAX_KEPT_BYTES:
        raise refusal(
            f"the notebook has {len(found) / 1e6:.0f} MB without its outputs; "
            f"at most {MAX_KEPT_BYTES / 1e6:.0f} MB are read",
            "take pictures and data out of its cells, save it, and hand it in again",
        )
    return TrimmedNotebook(found, data, tuple(cuts))


def _find_outputs(data: bytes) -> Iterator[tuple[int, int]]:
    """Yields start and end of the lists of outputs in *data*, without their brackets."""
    shape = bytearray()
    before = last = b""
    position = 0
    for _ in range(MAX_VALUES):
        match = _TOKEN.match(data, position)
        if match is None:
            return
        position = match.end()
        # Only the string "outputs" matters; others may be long.
        short = position - match.start(1) <= len(_OUTPUTS)
        token = match[1] if short else b'"'
        if token == b"[" and last == b":" and before == _OUTPUTS and shape in _IN_A_CELL:
            end = _find_list_end(data, position, len(shape) + 1)
            yield position, end
            position = end + 1
        elif token in (b"[", b"{"):
            shape += token
            if len(shape) > MAX_DEPTH:
                raise _depth_error()
        elif token in _PAIRS and not (shape and shape.endswith(_PAIRS[token])):
            return
        elif token in _PAIRS:
            del shape[-1]
        before, last = last, token
    raise _values_error()


def _find_list_end(data: bytes, position: int, depth: int) -> int:
    """The offset at which the list that is open at *position* ends."""
    begin, outer = position, depth
    for _ in range(MAX_VALUES):
        match = _BRACKET.match(data, position)
        if match is None:
            line = data.count(b"\n", 0, begin) + 1
            raise refusal(f"the file is cut off: the outputs that begin in line {line} have no end")
        position = match.end()
        depth += 1 if match[1] in b"[{" else -1
        if depth < outer:
            return position - 1
        if depth > MAX_DEPTH:
            raise _depth_error()
    raise _values_error()


def _depth_error() -> SubmissionError:
    return refusal("the file is nested too deeply to be a notebook")


def _values_error() -> SubmissionError:
    return refusal(f"the notebook holds more than {MAX_VALUES:,} values", _CLEAR)
