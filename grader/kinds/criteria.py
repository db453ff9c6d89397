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
    texts = [text.strip() for text in rubric.split("\n\n") if text.strip()]
    matches = [_WORTH.match(text) for text in texts]
    weights = [float(match[1]) for match in matches if match]
    if len(weights) != len(texts) or not sum(weights):
        weights = [1.0] * len(texts)
    total = sum(weights)
    points = [max_points if total == w else max_points * w / total for w in weights]
    return tuple(Criterion(text=t, points=p) for t, p in zip(texts, points, strict=True))


def summarize_criterion(text: str) -> str:
    """Returns the first sentence of a criterion as plain text for a class whose numbers differ.

    >>> summarize_criterion("**1 point** for the cause: {{ pool }} requests wait. Half for one.")
    'The cause: [pool] requests wait.'
    """
    bare = " ".join(_LEAD.sub("", text.strip(), count=1).split())
    first = _SENTENCE_END.split(bare, maxsplit=1)[0]
    named = _PLACEHOLDER.sub(lambda match: f"[{match[1]}]", first)
    plain = named.replace("**", "").replace("`", "")
    return plain[:1].upper() + plain[1:]
