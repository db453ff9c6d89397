"""Sandboxes that isolate a student's process; plug-ins can add others."""

from grader.runtime.sandbox.base import WANTED, Chosen, Layer, Place, Sandbox, choose, sandboxes
from grader.runtime.sandbox.cgroups import Group
from grader.runtime.sandbox.linux import Walled
from grader.runtime.sandbox.none import THREADS, Bare

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
