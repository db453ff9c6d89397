"""Code that writes files into a kernel's folder, where the student's code can read them."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator

_CHUNK = 3_000_000
"""Bytes sent at a time."""
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


def iter_file_writers(files: Iterable[tuple[str, bytes]]) -> Iterator[str]:
    """Yields sources of cells that write *files* (path, content) into the working folder."""
    for name, data in files:
        for start in range(0, max(len(data), 1), _CHUNK):
            text = base64.b64encode(data[start : start + _CHUNK]).decode()
            yield _CODE.format(name=name, text=text, mode="ab" if start else "wb")
