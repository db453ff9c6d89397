"""Tables of grades that an instructor downloaded elsewhere, given back with points in them."""

from grader.integrations.lms.gradebooks.canvas import canvas
from grader.integrations.lms.gradebooks.worksheet import worksheet

__all__ = ["canvas", "worksheet"]
