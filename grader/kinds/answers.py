"""The right answer of a part: as a kind reads it, as later parts use it, and as Python."""

from __future__ import annotations

import json

from grader.kinds.base import Kind, Unreadable, kinds
from grader.kinds.texts import fill
from grader.model import Key
from grader.units.quantity import Value
from grader.wire import encoding

AN_EXPLANATION = "A person reads this and grades it by the rubric."
"""A sample answer to a part that a person grades."""


def right_value(kind: Kind, key: Key) -> object | None:
    """Returns the right answer as `kind.read` returns it; None for code and for manual grading.

    Raises ValueError if the kind can't read its own answer.
    """
    answer = kind.answer(key)
    if answer is None or kind.needs_solution:
        return None
    try:
        value: object = kind.read(kind.ideal_raw(encoding.encode_answer(answer), key), key)
    except Unreadable as reason:
        raise ValueError(f"its right answer can't be read: {reason.sentence}") from None
    return value


def carried_answer(kind: Kind, key: Key) -> Value | None:
    """Returns the right answer as the value that later parts compute with, or None without one."""
    value = right_value(kind, key)
    return None if value is None else kind.carry_value(value, key)


def explain_part(kind: Kind, key: Key) -> str:
    """Returns the right answer and the worked solution as Markdown. **Secret** until release."""
    worked = fill(key.part.explanation, key.draw)
    return "\n\n".join(filter(None, (kind.explain(key), worked)))


def answer_as_python(kind: Kind, key: Key) -> str:
    """Returns the right answer as Python source; for code, the reference solution.

    For a part that a person grades, it is a sample answer.
    """
    answer = kind.answer(key)
    if kind.needs_solution:
        return str(answer)
    return as_python(AN_EXPLANATION if answer is None else answer)


def as_python(answer: object) -> str:
    """Returns plain data as Python source with double quotes; a dict of lists has a line for each.

    >>> as_python(["A", "C"]), as_python({1: "B"}), as_python(0.5)
    ('["A", "C"]', '{1: "B"}', '0.5')
    """
    if isinstance(answer, str):
        return json.dumps(answer, ensure_ascii=False)
    if isinstance(answer, list):
        return f"[{', '.join(map(as_python, answer))}]"
    if not isinstance(answer, dict):
        return repr(answer)
    items = [f"{label_as_python(str(name))}: {as_python(value)}" for name, value in answer.items()]
    if any(isinstance(value, list) for value in answer.values()):
        return "\n".join(("{", *(f"    {item}," for item in items), "}"))
    return f"{{{', '.join(items)}}}"


def label_as_python(label: str) -> str:
    """Returns the label of a row as Python source: without quotes if it is a whole number."""
    # Python has no numbers with leading zeros.
    is_number = label.isascii() and label.isdigit() and (label == "0" or label[0] != "0")
    return label if is_number else as_python(label)


def needs_computer(kind: str) -> bool:
    """Returns whether answers of the kind named *kind* are executed or measured."""
    known_kind = kinds.find(kind)
    return known_kind.needs_solution or known_kind.is_measured
