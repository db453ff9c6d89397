"""The criteria in the rubric of an explanation: what each paragraph asks for, and its points."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WORTH = re.compile(r"\*\*(\d+(?:\.\d+)?) points?\*\*")
_LEAD = re.compile(r"\*\*[\d.]+ points?\*\*[:,]?\s+(?:for |if )?")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z*`(])")
_PLACEHOLDER = re.compile(r"\{\{\s*(.*?)\s*(?:\|.*?)?\}\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One paragraph of a rubric."""

    text: str
    """Markdown."""
    points: float


def split_rubric(rubric: str, max_points: float) -> tuple[Criterion, ...]:
    """Returns the paragraphs of *rubric* with their points, which add up to *max_points*.

    If every paragraph starts with its points in bold, the points are in that proportion; otherwise
    all paragraphs count equally.
    """
    texts = [one.strip() for one in rubric.split("\n\n") if one.strip()]
    matches = [_WORTH.match(text) for text in texts]
    worth = [float(match[1]) for match in matches if match]
    if len(worth) != len(texts) or not sum(worth):
        worth = [1.0] * len(texts)
    total = sum(worth)
    shares = [max_points if total == one else max_points * one / total for one in worth]
    return tuple(Criterion(text=t, points=p) for t, p in zip(texts, shares, strict=True))


def summarize_criterion(text: str) -> str:
    """Returns the first sentence of a criterion as plain text for a class whose numbers differ.

    >>> summarize_criterion("**1 point** for the cause: {{ pool }} requests wait. Half for one.")
    'The cause: [pool] requests wait.'
    """
    bare = " ".join(_LEAD.sub("", text.strip(), count=1).split())
    first = _SENTENCE_END.split(bare, maxsplit=1)[0]
    said = _PLACEHOLDER.sub(lambda found: f"[{found[1]}]", first).replace("**", "").replace("`", "")
    return said[:1].upper() + said[1:]
