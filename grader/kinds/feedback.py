"""Feedback on a wrong answer: the author's text with the student's numbers."""

from __future__ import annotations

from grader.expressions import TextError
from grader.model import Draw


def feedback(written: str, draw: Draw) -> str:
    """Returns the text with its placeholders filled in. Raises TextError.

    It may name only parameters, values, and a table's row, because students read it before release.
    """
    return draw.fill(written, draw.scope).strip()


def said(written: str, draw: Draw) -> str:
    """Returns the feedback text, or an empty text if it can't be filled in.

    That happens only if a student's own earlier answer is in scope, such as a division by their
    zero; the gate has tried every other scope.
    """
    try:
        return feedback(written, draw)
    except TextError:
        return ""
