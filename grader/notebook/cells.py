"""A notebook as cells, and the form of cell ids."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

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
