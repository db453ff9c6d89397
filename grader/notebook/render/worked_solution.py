"""The worked solution of a question, with the variant's numbers and the letters of the paper."""

from __future__ import annotations

from collections.abc import Collection

from grader.kinds.texts import fill
from grader.model import Variant
from grader.text.part_letters import keep_asked, new_letters


def worked_solution(variant: Variant, asked: Collection[str]) -> str:
    """Returns the problem's worked solution for a paper that asks the parts in *asked*. **Secret.**

    Raises TextError if it can't be filled in with the numbers of *variant*.
    """
    parts = [part.id for part in variant.problem.parts]
    text = fill(variant.problem.explanation, variant.draw)
    return text if len(asked) == len(parts) else keep_asked(text, new_letters(parts, asked))
