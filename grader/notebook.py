"""Notebooks as bytes and as cells: writing ours, and reading what came back without trusting it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal, cast

from grader.errors import SubmissionError

MAX_BYTES = 20_000_000
MAX_CELLS = 2_000

_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")

CellType = Literal["markdown", "code", "raw"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell, without its outputs."""

    type: CellType
    source: str
    id: str
    metadata: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notebook:
    """The cells of a notebook, in order, and what it says about itself."""

    cells: tuple[Cell, ...]
    metadata: Mapping[str, object] = field(default_factory=dict)


def write(cells: Iterable[Cell], metadata: Mapping[str, object]) -> bytes:
    """The bytes of an nbformat 4.5 file; the same cells always give the same bytes."""
    cells = tuple(cells)
    seen: set[str] = set()
    for cell in cells:
        if not _ID.fullmatch(cell.id) or cell.id in seen:
            raise ValueError(f"cell id {cell.id!r} is used twice, or is not an id")
        seen.add(cell.id)
    # The layout is Jupyter's own, so that a notebook saved again differs only where it changed.
    # Only strings and small maps go through `json`: its indenting encoder is ten times slower.
    body = ",\n".join(_cell_text(cell) for cell in cells)
    head = f"[\n{body}\n ]" if body else "[]"
    meta = _indented(metadata, 1)
    text = (
        f'{{\n "cells": {head},\n "metadata": {meta},\n "nbformat": 4,\n "nbformat_minor": 5\n}}\n'
    )
    return text.encode()


def _cell_text(cell: Cell) -> str:
    lines = cell.source.splitlines(keepends=True)
    source = ",\n".join("    " + _encode(line) for line in lines)
    fields = [
        f'"cell_type": "{cell.type}"',
        f'"id": "{cell.id}"',
        f'"metadata": {_indented(cell.metadata, 3)}',
        f'"source": [\n{source}\n   ]' if source else '"source": []',
    ]
    if cell.type == "code":
        fields[1:1] = ['"execution_count": null']
        fields[4:4] = ['"outputs": []']
    return "  {\n" + ",\n".join("   " + f for f in fields) + "\n  }"


_encode = json.JSONEncoder(ensure_ascii=False).encode


def _indented(data: Mapping[str, object], depth: int) -> str:
    if not data:
        return "{}"
    text = json.dumps(data, indent=1, ensure_ascii=False, sort_keys=True, allow_nan=False)
    return text.replace("\n", "\n" + " " * depth)


def node(source: str = "") -> Any:
    """A notebook of one code cell, as nbclient takes it."""
    from nbformat import from_dict

    cell = {"cell_type": "code", "id": "cell", "metadata": {}, "outputs": [], "source": source}
    tree = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return from_dict(tree)  # type: ignore[no-untyped-call]


def read(data: bytes) -> Notebook:
    """The notebook in *data*, which may be anything at all.

    Raises SubmissionError with a sentence for the student. Outputs are dropped; cells without
    an id, or with one that was used before, get a new one.
    """
    tree = _parse(_decode(data))
    if not isinstance(tree, dict) or not ("cells" in tree or "worksheets" in tree):
        raise _refused("this is JSON, but not a notebook")
    entries = _entries(tree)
    if len(entries) > MAX_CELLS:
        raise _refused(f"the notebook has {len(entries)} cells; at most {MAX_CELLS} are read")
    used = {c["id"] for c in entries if isinstance(c, dict) and isinstance(c.get("id"), str)}
    fresh = (name for n in count() if (name := f"cell-{n}") not in used)
    seen: set[str] = set()
    cells = tuple(_cell(entry, n, seen, fresh) for n, entry in enumerate(entries, start=1))
    return Notebook(cells=cells, metadata=_mapping(tree.get("metadata")))


def _refused(what: str) -> SubmissionError:
    return SubmissionError(what, fix="open it in Jupyter, save it, and hand in the saved file")


def _decode(data: bytes) -> str:
    if len(data) > MAX_BYTES:
        size, most = len(data) / 1e6, MAX_BYTES / 1e6
        raise SubmissionError(
            f"the file has {size:.0f} MB; at most {most:.0f} MB are read",
            fix="clear the outputs of the notebook, save it, and hand it in again",
        )
    if not data.strip():
        raise _refused("the file is empty")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _refused("the file is not a notebook: it is not UTF-8 text") from None
    if "\0" in text:
        raise _refused("the file is not a notebook: it contains NUL bytes")
    return text


def _parse(text: str) -> object:
    try:
        return json.loads(text)
    except RecursionError:
        raise _refused("the file is nested too deeply to be a notebook") from None
    except json.JSONDecodeError as error:
        raise _refused(
            f"the file is not a notebook: not JSON at line {error.lineno}, column {error.colno}"
        ) from None
    except ValueError:  # an integer of more digits than Python converts
        raise _refused("the file holds a number that is too long to be read") from None


def _entries(tree: Mapping[str, object]) -> list[object]:
    version = tree.get("nbformat", 4)
    if isinstance(version, bool) or version not in (3, 4):
        shown = version if isinstance(version, int) else "unknown"
        raise _refused(f"the notebook has format {str(shown)[:20]}; formats 3 and 4 are read")
    if "cells" in tree:
        entries = tree["cells"]
    else:  # format 3 kept its cells on worksheets
        sheets = tree["worksheets"]
        if not isinstance(sheets, list) or not all(isinstance(s, dict) for s in sheets):
            raise _refused("the notebook's worksheets can't be read")
        lists = [sheet.get("cells", []) for sheet in sheets]
        entries = [c for each in lists if isinstance(each, list) for c in each]
    if not isinstance(entries, list):
        raise _refused("the notebook's cells are not a list")
    return entries


def _cell(entry: object, number: int, seen: set[str], fresh: Iterator[str]) -> Cell:
    if not isinstance(entry, dict):
        raise _refused(f"cell {number} of the notebook is not a cell")
    kind = entry.get("cell_type")
    if kind not in ("markdown", "code"):
        kind = "raw"  # headings of format 3, and types that are yet to come
    # Format 3 called the source of a code cell its input.
    source = _source(entry.get("source", entry.get("input", "")), number)
    name = entry.get("id")
    if not isinstance(name, str) or not _ID.fullmatch(name) or name in seen:
        name = next(fresh)
    seen.add(name)
    return Cell(
        type=cast("CellType", kind),
        source=source,
        id=name,
        metadata=_mapping(entry.get("metadata")),
    )


def _source(source: object, number: int) -> str:
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str):
        raise _refused(f"cell {number} of the notebook has no readable text")
    # Half of a surrogate pair is legal in JSON, and can be written nowhere else.
    return source.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
