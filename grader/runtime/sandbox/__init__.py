"""Sandboxes that isolate a student's process; plug-ins can add others."""

from grader.runtime.sandbox.base import (
    THREADS,
    WANTED,
    Layer,
    Sandbox,
    SandboxChoice,
    ScratchFolder,
    choose_sandbox,
    sandboxes,
)
from grader.runtime.sandbox.cgroups import ControlGroup
from grader.runtime.sandbox.linux import LinuxSandbox
