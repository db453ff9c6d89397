"""A figure of a variant, ready to be drawn."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnFigure:
    """A figure with the numbers of a variant. **Secret** if it belongs to the explanation."""

    id: str
    type: str
    alt: str
    """What it shows, as plain text."""
    part: str | None
    """The part whose paragraph of the explanation it follows."""
    picture: Hashable
    """What it shows, in the form that its type draws."""


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A piece of a worked solution, and the figures after it."""

    text: str
    """Markdown."""
    figures: tuple[DrawnFigure, ...] = ()
