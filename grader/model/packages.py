"""Packages that some parts need and not every machine has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.machinery import PathFinder
from typing import Literal

Package = Literal["triton", "numba-cuda"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Optional:
    """One of them."""

    title: str
    """What people call it."""
    module: str
    """What is imported."""
    tools: tuple[str, ...]
    """The tools that can do nothing without it."""

    @property
    def is_here(self) -> bool:
        """Whether this interpreter, and so a kernel that it starts, finds the module."""
        return PathFinder.find_spec(self.module) is not None


PACKAGES: Mapping[str, Optional] = {
    "triton": Optional(title="Triton", module="triton", tools=("triton_blocks",)),
    "numba-cuda": Optional(title="numba's CUDA", module="numba_cuda", tools=("numba_cuda",)),
}


def missing(needed: Iterable[str]) -> tuple[str, ...]:
    """Those of *needed* that are not installed here, in their order."""
    return tuple(name for name in needed if not PACKAGES[name].is_here)


def needed_by(tools: Iterable[str]) -> tuple[str, ...]:
    """The packages without which one of *tools* can do nothing."""
    asked = set(tools)
    return tuple(name for name, one in PACKAGES.items() if asked & set(one.tools))
