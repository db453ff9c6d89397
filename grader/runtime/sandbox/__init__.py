"""Sandboxes that isolate a student's process; plug-ins can add others."""

from grader.runtime.sandbox.base import WANTED, Chosen, Layer, Place, Sandbox, choose, sandboxes
from grader.runtime.sandbox.cgroups import Group
from grader.runtime.sandbox.linux import LinuxSandbox
from grader.runtime.sandbox.none import THREADS, NoSandbox

__all__ = [
    "THREADS",
    "WANTED",
    "Chosen",
    "Group",
    "Layer",
    "LinuxSandbox",
    "NoSandbox",
    "Place",
    "Sandbox",
    "choose",
    "sandboxes",
]
