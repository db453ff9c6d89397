"""Kernels to run a notebook in: one protocol, a registry, and the cold kernel."""

from __future__ import annotations

from grader.kernels.base import (
    NotStartedError,
    Ran,
    Said,
    Session,
    StoppedError,
    Terms,
    kernels,
)

__all__ = ["NotStartedError", "Ran", "Said", "Session", "StoppedError", "Terms", "kernels"]


@kernels.add("cold")
def _cold(terms: Terms) -> Session:
    from grader.kernels.session import KernelSession

    return KernelSession(terms)
