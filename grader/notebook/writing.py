"""Writes cells as a notebook file, deterministically."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from grader.notebook.cells import ID, Cell


def write(cells: Iterable[Cell], metadata: Mapping[str, object]) -> bytes:
    """The bytes of an nbformat 4.5 file; the same cells always give the same bytes."""
    cells = tuple(cells)
    seen: set[str] = set()
    for cell in cells:
        if not ID.fullmatch(cell.id) or cell.id in seen:
            raise ValueError(f"cell id {cell.id!r} is used twice, or is not an id")
        seen.add(cell.id)
    # The layout is Jupyter's own, so that a notebook saved again differs only where it changed.
    # Only strings and small maps go through `json`: its indenting encoder is ten times slower.
    body = ",\n".join(_cell_text(cell) for cell in cells)
    head = f"[\n{body}\n ]" if body else "[]"
    meta = _indent(metadata, 1)
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
        f'"metadata": {_indent(cell.metadata, 3)}',
        f'"source": [\n{source}\n   ]' if source else '"source": []',
    ]
    if cell.type == "code":
        fields[1:1] = ['"execution_count": null']
        fields[4:4] = ['"outputs": []']
    return "  {\n" + ",\n".join("   " + f for f in fields) + "\n  }"


_encode = json.JSONEncoder(ensure_ascii=False).encode


def _indent(data: Mapping[str, object], depth: int) -> str:
    if not data:
        return "{}"
    text = json.dumps(data, indent=1, ensure_ascii=False, sort_keys=True, allow_nan=False)
    return text.replace("\n", "\n" + " " * depth)


def one_cell_notebook(source: str = "") -> Any:
    """A notebook of one code cell, as nbclient takes it."""
    from nbformat import from_dict

    cell = {"cell_type": "code", "id": "cell", "metadata": {}, "outputs": [], "source": source}
    tree = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return from_dict(tree)  # type: ignore[no-untyped-call]
