"""Writes notebooks, and reads untrusted ones."""

from grader.notebook.cells import Cell, CellType, Notebook
from grader.notebook.outline import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_KEPT_BYTES,
    MAX_VALUES,
    too_large_error,
)
from grader.notebook.reading import MAX_CELLS, MAX_CODE, read
from grader.notebook.writing import one_cell_notebook, write

__all__ = [
    "MAX_BYTES",
    "MAX_CELLS",
    "MAX_CODE",
    "MAX_DEPTH",
    "MAX_KEPT_BYTES",
    "MAX_VALUES",
    "Cell",
    "CellType",
    "Notebook",
    "one_cell_notebook",
    "read",
    "too_large_error",
    "write",
]
