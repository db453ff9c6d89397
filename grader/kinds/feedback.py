"""What is said to a wrong answer: a text of the author's with the student's own numbers."""

from __future__ import annotations

from grader.expressions import TextError
from grader.model import Draw


def feedback(written: str, draw: Draw) -> str:
    """The text filled in. Raises TextError.

    The loader lets it name parameters, values and a table's row: it is read before release.
    """
    return draw.fill(written, draw.scope).strip()


def said(written: str, draw: Draw) -> str:
    """The same, for a judge: empty where it can't be filled in.

    That happens only with a student's own earlier answer in scope, such as a division by their
    zero; in every other scope the gate has filled it in before.
    """
    try:
        return feedback(written, draw)
    except TextError:
        return ""
