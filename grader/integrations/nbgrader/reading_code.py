"""Code that every exported notebook contains, visible to students: how answers are read."""

from __future__ import annotations

# Only zero-dimensional arrays and tensors count as numbers. Output on stderr would cost all
# points, so this code must not cause warnings.
CODE = '''\
# This cell defines how your answers are read. Do not change it.
def exam_number(answer, units):
    """The number in the part's unit; None if the answer is not a number."""
    import operator
    import re

    factor = 1
    if isinstance(answer, str):
        found = re.fullmatch(
            r"\\s*([-+]?(?:\\d{1,3}(?:,\\d{3})+|\\d+)?(?:\\.\\d*)?(?:[eE][-+]?\\d+)?)\\s*(.*?)\\s*",
            answer,
        )
        if not found or found[2] not in units or not any(c.isdigit() for c in found[1]):
            return None
        written, factor = found[1].replace(",", ""), units[found[2]]
        answer = int(written) if written.lstrip("+-").isdigit() else float(written)
    if isinstance(answer, bool) or getattr(answer, "ndim", 0):
        return None
    try:
        return operator.index(answer) * factor
    except TypeError:
        pass
    try:
        return float(answer) * factor
    except (TypeError, ValueError, OverflowError):
        return None


def exam_letter(answer, letters):
    """One of the letters; None if the answer is something else."""
    letter = answer.strip(" ().:").upper() if isinstance(answer, str) else ""
    return letter if len(letter) == 1 and letter in letters else None


def exam_letters(answer, letters):
    """A list of letters in order; None if the answer contains something else."""
    if isinstance(answer, str):
        answer = answer.replace(",", " ").split()
        answer = list(answer[0]) if len(answer) == 1 else answer
    if not isinstance(answer, (list, tuple, set, frozenset)):
        return None
    found = [exam_letter(one, letters) for one in answer]
    return None if None in found else found


def exam_text(answer):
    """The text in one line; None if there is none."""
    text = " ".join(answer.split()) if isinstance(answer, str) else ""
    return text if text not in ("", "...") else None


def exam_entries(answer, keys):
    """The entries for these keys, or in their order; None for missing ones."""
    answer = answer.tolist() if hasattr(answer, "tolist") else answer
    if isinstance(answer, dict) and any(key in answer for key in keys):
        return [answer.get(key) for key in keys]
    answer = list(answer.values()) if isinstance(answer, dict) else answer
    found = list(answer) if isinstance(answer, (list, tuple)) else []
    return (found + [None] * len(keys))[: len(keys)]


def exam_truth(answer):
    """True or False; None if the answer is neither."""
    words = {"true": True, "false": False}
    return answer if isinstance(answer, bool) else words.get((exam_text(answer) or "").lower())
'''
