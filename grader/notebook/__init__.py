"""Writes notebooks, and reads untrusted ones."""

from grader.notebook.cells import Cell, Notebook, one_cell_notebook, write
from grader.notebook.reading import MAX_BYTES, read, too_large_error
