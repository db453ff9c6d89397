"""Fills in gradebooks that an instructor downloaded from another system."""

from grader.integrations.lms.gradebooks.canvas import canvas
from grader.integrations.lms.gradebooks.worksheet import worksheet

__all__ = ["canvas", "worksheet"]
