"""What keeps a student's process from everything else: the second of the four seams."""

from grader.sandbox.bare import THREADS, Bare
from grader.sandbox.base import WANTED, Chosen, Layer, Place, Sandbox, choose, sandboxes
from grader.sandbox.cgroups import Group
from grader.sandbox.walled import Walled

__all__ = [
    "THREADS",
    "WANTED",
    "Bare",
    "Chosen",
    "Group",
    "Layer",
    "Place",
    "Sandbox",
    "Walled",
    "choose",
    "sandboxes",
]
