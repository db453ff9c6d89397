"""Code that puts files into a kernel's folder: what lies there is the student's to use."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator

_CHUNK = 3_000_000
"""Bytes that are sent at once."""
_CODE = """\
def _grader_(name, text):
    import base64, pathlib
    path = pathlib.Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("{mode}") as file:
        file.write(base64.b64decode(text))
_grader_({name!r}, {text!r})
del _grader_
"""


def placing(files: Iterable[tuple[str, bytes]]) -> tuple[str, ...]:
    """Cells that write *files*, by path, below the folder in which the kernel runs."""
    return tuple(_cells(files))


def _cells(files: Iterable[tuple[str, bytes]]) -> Iterator[str]:
    for name, data in files:
        for start in range(0, max(len(data), 1), _CHUNK):
            text = base64.b64encode(data[start : start + _CHUNK]).decode()
            yield _CODE.format(name=name, text=text, mode="ab" if start else "wb")
