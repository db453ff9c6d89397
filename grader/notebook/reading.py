"""Reads the cells of an untrusted notebook, or explains why it is not one."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from itertools import count
from typing import cast

from grader.errors import SubmissionError
from grader.notebook.cells import ID, Cell, CellType, Notebook

MAX_BYTES = 64_000_000
MAX_CELLS = 2_000
MAX_CODE = 5_000_000
"""Maximum characters of all code cells together."""
MAX_VALUES = 1_200_000
"""Maximum number of brackets and commas of a large notebook, so that a file of a few megabytes
can't become gigabytes of objects."""
SMALL = 2_000_000
"""Maximum bytes to parse without counting brackets and commas."""

_BOM = b"\xef\xbb\xbf"
# The possessive quantifier and the optional quote prevent backtracking: each byte is read once.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
# What people hand in by mistake, by how it begins.
_CONFLICT = b"<<<<<<< "
_OTHERS = {
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "a gzip archive",
    b"%PDF": "a PDF",
    b"<": "a web page",
    b"\x89PNG": "a picture",
}
_AGAIN = "check that it opens in Jupyter, save it, and hand it in again"
_SAVE = "open it in Jupyter, save it, and hand in the saved file"
_CLEAR = "clear the outputs of the notebook, save it, and hand it in again"


def read(data: bytes) -> Notebook:
    """Returns the notebook in *data*, which may be arbitrary bytes.

    Outputs are dropped; cells with a missing or duplicate id get a new one. Raises SubmissionError
    with a message for the student.
    """
    tree = _parse_json(_require_text(data))
    if not isinstance(tree, dict) or not ("cells" in tree or "worksheets" in tree):
        raise _refusal("this is JSON, but not a notebook")
    entries = _list_entries(tree)
    if len(entries) > MAX_CELLS:
        raise _refusal(f"the notebook has {len(entries)} cells; at most {MAX_CELLS} are read")
    used = {c["id"] for c in entries if isinstance(c, dict) and isinstance(c.get("id"), str)}
    fresh = (name for n in count() if (name := f"cell-{n}") not in used)
    taken: set[str] = set()
    cells = tuple(_read_cell(entry, n, taken, fresh) for n, entry in enumerate(entries, start=1))
    code = sum(len(cell.source) for cell in cells if cell.type == "code")
    if code > MAX_CODE:
        raise _refusal(
            f"the code cells hold {code / 1e6:.1f} million characters; "
            f"at most {MAX_CODE / 1e6:.0f} million are run",
            "take data out of the code, save the notebook, and hand it in again",
        )
    return Notebook(cells=cells, metadata=_as_mapping(tree.get("metadata")))


def _refusal(what: str, fix: str = _SAVE) -> SubmissionError:
    return SubmissionError(what, fix=fix)


def too_large_error(size: int) -> SubmissionError:
    """Returns the error for a file of *size* bytes."""
    shown, most = size / 1e6, MAX_BYTES / 1e6
    return _refusal(f"the file has {shown:.0f} MB; at most {most:.0f} MB are read", _CLEAR)


def _require_text(data: bytes) -> bytes:
    """Returns *data* without a byte order mark. Raises SubmissionError for other kinds of files."""
    if len(data) > MAX_BYTES:
        raise too_large_error(len(data))
    bare = data.removeprefix(_BOM)
    head = bare[:100].lstrip()
    if not head and not bare.strip():
        raise _refusal("the file is empty", _AGAIN)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in bare[:2]:
        raise _refusal("the file is UTF-16 text; notebooks are UTF-8")
    if head.startswith(_CONFLICT):
        raise _refusal(
            "the file has a merge conflict in its first line",
            "choose one version with `git checkout --ours FILE` or `git checkout --theirs FILE`, "
            "check that it opens in Jupyter, and hand it in again",
        )
    for start, what in _OTHERS.items():
        if head.startswith(start):
            raise _refusal(
                f"the file is {what}, not a notebook", "hand in the .ipynb file of the notebook"
            )
    if b"\0" in bare:
        raise _refusal("the file is not a notebook: it contains NUL bytes")
    return bare


def _parse_json(data: bytes) -> object:
    """Returns the JSON in *data*; raises SubmissionError if it is invalid or too large."""
    if len(data) > SMALL:
        structure = _STRING.sub(b"", data)
        if sum(map(structure.count, (b",", b"[", b"{"))) > MAX_VALUES:
            raise _refusal(f"the notebook holds more than {MAX_VALUES:,} values", _CLEAR)
    try:
        # NaN and the infinities are not JSON, but Python writes them; the grader never uses them.
        return json.loads(data.decode(), parse_constant=lambda _: None)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        start = data.rfind(b"\n", 0, error.start) + 1
        column = len(data[start : error.start].decode()) + 1
        what = f"the file is not a notebook: not UTF-8 text at line {line}, column {column}"
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise _refusal(f"the file is not a notebook: not JSON at {place}", _AGAIN) from None
    except RecursionError:
        what = "the file is nested too deeply to be a notebook"
    except ValueError:  # an integer of more digits than Python converts
        what = "the file holds a number that is too long to be read"
    raise _refusal(what) from None


def _list_entries(tree: Mapping[str, object]) -> list[object]:
    """Returns the list of cells, unread. Raises SubmissionError if *tree* has no such list."""
    version = tree.get("nbformat", 4)
    if isinstance(version, bool) or version not in (3, 4):
        shown = version if isinstance(version, int) else "unknown"
        raise _refusal(f"the notebook has format {str(shown)[:20]}; formats 3 and 4 are read")
    if "cells" in tree:
        entries = tree["cells"]
    else:  # format 3 kept its cells on worksheets
        sheets = tree["worksheets"]
        if not isinstance(sheets, list) or not all(isinstance(s, dict) for s in sheets):
            raise _refusal("the notebook's worksheets can't be read")
        lists = [sheet.get("cells", []) for sheet in sheets]
        entries = [c for each in lists if isinstance(each, list) for c in each]
    if not isinstance(entries, list):
        raise _refusal("the notebook's cells are not a list")
    return entries


def _read_cell(entry: object, number: int, taken: set[str], fresh: Iterator[str]) -> Cell:
    """Returns the cell *number*; without an id that is not *taken*, it gets one of *fresh*."""
    if not isinstance(entry, dict):
        raise _refusal(f"cell {number} of the notebook is not a cell")
    kind = entry.get("cell_type")
    if kind not in ("markdown", "code"):
        kind = "raw"  # headings of format 3, and unknown types
    # Format 3 called the source of a code cell its input.
    source = _read_source(entry.get("source", entry.get("input", "")), number)
    name = entry.get("id")
    if not isinstance(name, str) or not ID.fullmatch(name) or name in taken:
        name = next(fresh)
    taken.add(name)
    return Cell(
        type=cast("CellType", kind),
        source=source,
        id=name,
        metadata=_as_mapping(entry.get("metadata")),
    )


def _read_source(source: object, number: int) -> str:
    """Returns the text of a cell, with what UTF-8 can't encode replaced."""
    if isinstance(source, list):
        with contextlib.suppress(TypeError):  # of something that is not text
            source = "".join(source)
    if not isinstance(source, str):
        raise _refusal(f"cell {number} of the notebook has no readable text")
    if source.isascii() and "\0" not in source:
        return source
    # A lone surrogate is legal in JSON but can't be encoded as UTF-8.
    return source.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _as_mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
