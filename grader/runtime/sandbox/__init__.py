"""Sandboxes that isolate a student's process; plug-ins can add others."""

from grader.runtime.sandbox.base import (
    THREADS,
    WANTED,
    Chosen,
    Layer,
    Place,
    Sandbox,
    choose,
    sandboxes,
)
from grader.runtime.sandbox.cgroups import Group
from grader.runtime.sandbox.linux import LinuxSandbox

__all__ = [
    "THREADS",
    "WANTED",
    "Chosen",
    "Group",
    "Layer",
    "LinuxSandbox",
    "Place",
    "Sandbox",
    "choose",
    "sandboxes",
]
