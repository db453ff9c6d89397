"""A notebook as cells, and its file, which is written deterministically."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
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
    tree = {
        "cells": [_cell_data(cell) for cell in cells],
        "metadata": metadata,
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    # The layout is Jupyter's own, so that a notebook saved again differs only where it changed.
    text = json.dumps(tree, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def _cell_data(cell: Cell) -> dict[str, object]:
    return {
        "cell_type": cell.type,
        "id": cell.id,
        "metadata": cell.metadata,
        "source": cell.source.splitlines(keepends=True),
        **({"execution_count": None, "outputs": []} if cell.type == "code" else {}),
    }


def one_cell_notebook(source: str = "") -> Any:
    """Returns a notebook of one code cell, as nbclient takes it."""
    from nbformat import from_dict

    cell = {"cell_type": "code", "id": "cell", "metadata": {}, "outputs": [], "source": source}
    tree = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return from_dict(tree)  # type: ignore[no-untyped-call]
