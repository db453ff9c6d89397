"""Reads the cells of an untrusted notebook, or explains why it is not one."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import cast

from grader.notebook.cells import ID, Cell, CellType, Notebook
from grader.notebook.outline import MAX_BYTES, TrimmedNotebook, refusal, too_large_error, trim

MAX_CELLS = 2_000
MAX_CODE = 5_000_000
"""Maximum characters of all code cells together."""
SMALL = 2_000_000
"""Maximum bytes to parse directly: they become at most a few hundred megabytes of objects."""

_BOM = b"\xef\xbb\xbf"
# What people hand in by mistake, by how it begins.
_OTHERS = {
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "a gzip archive",
    b"%PDF": "a PDF",
    b"<": "a web page",
    b"\x89PNG": "a picture",
}


def read(data: bytes) -> Notebook:
    """The notebook in *data*, which may be arbitrary bytes.

    Outputs are dropped unread; cells with a missing or duplicate id get a new one. Raises
    SubmissionError with a message for the student.
    """
    tree = _parse_tree(_require_text(data))
    if not isinstance(tree, dict) or not ("cells" in tree or "worksheets" in tree):
        raise refusal("this is JSON, but not a notebook")
    entries = _list_entries(tree)
    if len(entries) > MAX_CELLS:
        raise refusal(f"the notebook has {len(entries)} cells; at most {MAX_CELLS} are read")
    used = {c["id"] for c in entries if isinstance(c, dict) and isinstance(c.get("id"), str)}
    fresh = (name for n in count() if (name := f"cell-{n}") not in used)
    seen: set[str] = set()
    cells = tuple(_read_cell(entry, n, seen, fresh) for n, entry in enumerate(entries, start=1))
    _require_little_code(cells)
    return Notebook(cells=cells, metadata=_as_mapping(tree.get("metadata")))


def _require_text(data: bytes) -> bytes:
    """*data* without a byte order mark; raises SubmissionError if it can't be a notebook."""
    if len(data) > MAX_BYTES:
        raise too_large_error(len(data))
    bare = data.removeprefix(_BOM)
    head = bare[:100].lstrip()
    if not head and not bare.strip():
        raise refusal("the file is empty")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in bare[:2]:
        raise refusal("the file is UTF-16 text; notebooks are UTF-8")
    for start, what in _OTHERS.items():
        if head.startswith(start):
            raise refusal(f"the file is {what}, not a notebook")
    if b"\0" in bare:
        raise refusal("the file is not a notebook: it contains NUL bytes")
    return bare


def _parse_tree(data: bytes) -> object:
    """The JSON in *data*, possibly without outputs; raises SubmissionError."""
    if len(data) <= SMALL:
        with contextlib.suppress(ValueError, RecursionError):
            return _parse_json(data.decode())
    # If it is large or invalid, parse within limits and report where the error is.
    return _parse(trim(data))


def _parse_json(text: str) -> object:
    # NaN and the infinities are not JSON, but Python writes them; the grader never uses them.
    return json.loads(text, parse_constant=lambda _: None)


def _parse(trimmed: TrimmedNotebook) -> object:
    try:
        text = trimmed.data.decode()
    except UnicodeDecodeError as error:
        where = trimmed.format_position(error.start)
        raise refusal(f"the file is not a notebook: not UTF-8 text at {where}") from None
    try:
        return _parse_json(text)
    except RecursionError:  # only if the stack is already deep
        raise refusal("the file is nested too deeply to be a notebook") from None
    except json.JSONDecodeError as error:
        where = trimmed.format_position(len(text[: error.pos].encode()))
        raise refusal(f"the file is not a notebook: not JSON at {where}") from None
    except ValueError:  # an integer of more digits than Python converts
        raise refusal("the file holds a number that is too long to be read") from None


def _list_entries(tree: Mapping[str, object]) -> list[object]:
    version = tree.get("nbformat", 4)
    if isinstance(version, bool) or version not in (3, 4):
        shown = version if isinstance(version, int) else "unknown"
        raise refusal(f"the notebook has format {str(shown)[:20]}; formats 3 and 4 are read")
    if "cells" in tree:
        entries = tree["cells"]
    else:  # format 3 kept its cells on worksheets
        sheets = tree["worksheets"]
        if not isinstance(sheets, list) or not all(isinstance(s, dict) for s in sheets):
            raise refusal("the notebook's worksheets can't be read")
        lists = [sheet.get("cells", []) for sheet in sheets]
        entries = [c for each in lists if isinstance(each, list) for c in each]
    if not isinstance(entries, list):
        raise refusal("the notebook's cells are not a list")
    return entries


def _read_cell(entry: object, number: int, seen: set[str], fresh: Iterator[str]) -> Cell:
    if not isinstance(entry, dict):
        raise refusal(f"cell {number} of the notebook is not a cell")
    kind = entry.get("cell_type")
    if kind not in ("markdown", "code"):
        kind = "raw"  # headings of format 3, and unknown types
    # Format 3 called the source of a code cell its input.
    source = _read_source(entry.get("source", entry.get("input", "")), number)
    name = entry.get("id")
    if not isinstance(name, str) or not ID.fullmatch(name) or name in seen:
        name = next(fresh)
    seen.add(name)
    return Cell(
        type=cast("CellType", kind),
        source=source,
        id=name,
        metadata=_as_mapping(entry.get("metadata")),
    )


def _read_source(source: object, number: int) -> str:
    if isinstance(source, list):
        with contextlib.suppress(TypeError):  # of something that is not text
            source = "".join(source)
    if not isinstance(source, str):
        raise refusal(f"cell {number} of the notebook has no readable text")
    if source.isascii() and "\0" not in source:
        return source
    # A lone surrogate is legal in JSON but can't be encoded as UTF-8.
    return source.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _require_little_code(cells: Sequence[Cell]) -> None:
    code = sum(len(cell.source) for cell in cells if cell.type == "code")
    if code > MAX_CODE:
        raise refusal(
            f"the code cells hold {code / 1e6:.1f} million characters; "
            f"at most {MAX_CODE / 1e6:.0f} million are run",
            "take data out of the code, save the notebook, and hand it in again",
        )


def _as_mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
