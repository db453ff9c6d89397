"""Gives the texts of a question the letters that its parts have on the paper."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from grader.model import Problem
from grader.text.part_letters import Letters, change_letters, is_about_omitted, new_letters

_SENTENCES = frozenset(
    ["alt", "ask", "because", "explanation", "feedback", "prompt", "rubric", "text", "title"]
)
"""Fields of a problem, its parts, and its figures in which an author may refer to parts. Changing
code, such as a starter, would change which results belong to it."""
_REMEMBERED = 64
_changed: dict[tuple[int, tuple[str, ...]], tuple[Problem, Problem]] = {}
"""For each problem and the parts that are asked: the problem, which keeps its id in use, and the
problem with other letters. A class has few of them, and most of its students share them."""


def with_letters(problem: Problem, asked: Collection[str]) -> Problem:
    """Returns *problem* with the letters of a paper that asks only the parts in *asked*.

    Its explanation keeps the letters of the problem, by which `worked_solution` finds paragraphs.
    """
    if len(asked) == len(problem.parts):
        return problem
    at = (id(problem), tuple(asked))
    if at not in _changed:
        letters = new_letters([part.id for part in problem.parts], asked)
        if len(_changed) >= _REMEMBERED:
            _changed.pop(next(iter(_changed)))
        _changed[at] = problem, _change(problem, letters)
    return _changed[at][1]


def _change(problem: Problem, letters: Letters) -> Problem:
    changed: Problem = _change_record(problem, letters)
    return replace(
        changed,
        explanation=problem.explanation,
        assumptions=tuple(
            change_letters(text, letters)
            for text in problem.assumptions
            if not is_about_omitted(text, letters)
        ),
    )


def _change_record(record: Any, letters: Letters) -> Any:
    """Returns a record of a spec with other letters in its sentences and in those it contains."""
    new = {}
    for one in fields(record):
        value = getattr(record, one.name)
        if isinstance(value, str):
            made = change_letters(value, letters) if one.name in _SENTENCES else value
        else:
            made = _change_value(value, letters)
        if made is not value and made != value:
            new[one.name] = made
    return replace(record, **new) if new else record


def _change_value(value: Any, letters: Letters) -> Any:
    if is_dataclass(value):
        return _change_record(value, letters)
    if isinstance(value, tuple):
        return tuple(_change_value(item, letters) for item in value)
    if isinstance(value, Mapping):
        return {name: _change_value(item, letters) for name, item in value.items()}
    return value
