"""What is said to a wrong answer: a text of the author's with the student's own numbers."""

from __future__ import annotations

from grader.expressions import TextError
from grader.model import Draw
from grader.quantity import Value


def feedback(written: str, draw: Draw, part_id: str, true: Value | None) -> str:
    """The text filled in; it may name the part's own true answer. Raises TextError."""
    scope = draw.scope if true is None else {**draw.scope, part_id: true}
    return draw.fill(written, scope).strip()


def said(written: str, draw: Draw, part_id: str, true: Value | None) -> str:
    """The same, for a judge: empty where it can't be filled in.

    That happens only with a student's own earlier answer in scope, such as a division by their
    zero; in every other scope the gate has filled it in before.
    """
    try:
        return feedback(written, draw, part_id, true)
    except TextError:
        return ""
