"""A notebook as cells, and its file, which is written deterministically."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")

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
    """Returns the bytes of an nbformat 4.5 file; the same cells always give the same bytes."""
    cells = tuple(cells)
    used = Counter(cell.id for cell in cells)
    for name, times in used.items():
        if times > 1 or not ID.fullmatch(name):
            raise ValueError(f"cell id {name!r} is used twice, or is not an id")
    # The layout is Jupyter's own, so that a notebook saved again differs only where it changed.
    # Only small maps are indented by `json`: its indenting encoder is ten times slower.
    body = ",\n".join(_encode_cell(cell) for cell in cells)
    head = f"[\n{body}\n ]" if body else "[]"
    meta = _indent(metadata, 1)
    text = (
        f'{{\n "cells": {head},\n "metadata": {meta},\n "nbformat": 4,\n "nbformat_minor": 5\n}}\n'
    )
    return text.encode()


def _encode_cell(cell: Cell) -> str:
    """Returns the JSON of *cell*, indented as Jupyter does."""
    source = _encode_lines(cell.source.splitlines(keepends=True))[1:-1]
    is_code = cell.type == "code"
    fields = [
        f'"cell_type": "{cell.type}"',
        *(['"execution_count": null'] if is_code else []),
        f'"id": "{cell.id}"',
        f'"metadata": {_indent(cell.metadata, 3)}',
        *(['"outputs": []'] if is_code else []),
        f'"source": [\n    {source}\n   ]' if source else '"source": []',
    ]
    return "  {\n" + ",\n".join("   " + f for f in fields) + "\n  }"


_encode_lines = json.JSONEncoder(ensure_ascii=False, separators=(",\n    ", ": ")).encode


def _indent(data: Mapping[str, object], depth: int) -> str:
    if not data:
        return "{}"
    return _indent_json(json.dumps(data, ensure_ascii=False, allow_nan=False), depth)


@lru_cache(maxsize=1024)  # the metadata of many cells is the same for all students
def _indent_json(text: str, depth: int) -> str:
    text = json.dumps(json.loads(text), indent=1, ensure_ascii=False, sort_keys=True)
    return text.replace("\n", "\n" + " " * depth)


def one_cell_notebook(source: str = "") -> Any:
    """Returns a notebook of one code cell, as nbclient takes it."""
    from nbformat import from_dict

    cell = {"cell_type": "code", "id": "cell", "metadata": {}, "outputs": [], "source": source}
    tree = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return from_dict(tree)  # type: ignore[no-untyped-call]
