"""Modules for drivers and students: plain Python, sent as text, without imports from the grader.

The notebooks of problems that use a module contain its text, so that students can run it too.
The text is also part of the digests of calls: after any change to it, even of a private name, code
that was run before must be run again.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from grader.registry import suggest

_HERE = Path(__file__).parent


def tool_names() -> tuple[str, ...]:
    """Returns the names of all tools."""
    return tuple(sorted(p.stem for p in _HERE.glob("*.py") if p.stem != "__init__"))


@cache
def source(name: str) -> str:
    """Returns the text of a tool. Raises ValueError with the closest name if there is none."""
    if name not in tool_names():
        hint = suggest(name, tool_names(), f"choose from {', '.join(tool_names())}")
        raise ValueError(f"there is no tool '{name}' ({hint})")
    return (_HERE / f"{name}.py").read_text(encoding="utf-8")
