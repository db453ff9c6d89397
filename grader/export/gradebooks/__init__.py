"""Tables of grades that an instructor downloaded elsewhere, given back with points in them."""

from grader.export.gradebooks.canvas import canvas
from grader.export.gradebooks.worksheet import worksheet

__all__ = ["canvas", "worksheet"]
