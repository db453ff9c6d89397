"""Modules that drivers and students use: plain Python, sent as text, with nothing of ours in them.

Each stands in the notebooks of the problems that use it, so that a student can run what we run.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from grader.registry import nearest

_HERE = Path(__file__).parent


def known() -> tuple[str, ...]:
    """The names of all tools."""
    return tuple(sorted(p.stem for p in _HERE.glob("*.py") if p.stem != "__init__"))


@cache
def source(name: str) -> str:
    """The text of a tool. Raises ValueError with the nearest name when there is none."""
    if name not in known():
        close = nearest(name, known())
        hint = f"did you mean '{close}'?" if close else f"there are: {', '.join(known())}"
        raise ValueError(f"there is no tool '{name}' ({hint})")
    return (_HERE / f"{name}.py").read_text(encoding="utf-8")
