"""Gives the texts of a question the letters that its parts have on the paper."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from grader.model import Problem
from grader.text.part_letters import (
    Letters,
    change_letters,
    is_about_omitted,
    mentions_only_omitted,
    new_letters,
)

_SENTENCES = frozenset(
    [
        "alt", "ask", "assumptions", "because", "explanation", "feedback", "label", "labels",
        "prompt", "rubric", "text", "title",
    ]
)  # fmt: skip
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
    if (kept := _changed.get(at)) is not None:
        return kept[1]
    changed = _change(problem, new_letters([part.id for part in problem.parts], asked))
    if len(_changed) >= _REMEMBERED:
        _changed.clear()
    _changed[at] = problem, changed
    return changed


def _change(problem: Problem, letters: Letters) -> Problem:
    """Returns *problem* without conventions and given values of parts that are not asked, and with
    other letters in its sentences."""
    assumptions = tuple(a for a in problem.assumptions if not is_about_omitted(a, letters))
    parameters = {
        name: replace(p, shown=False) if mentions_only_omitted(p.label or "", letters) else p
        for name, p in problem.parameters.items()
    }
    given = {
        change_letters(label, letters): expression
        for label, expression in problem.given.items()
        if not mentions_only_omitted(label, letters)
    }
    asked = replace(problem, assumptions=assumptions, parameters=parameters, given=given)
    changed: Problem = _change_record(asked, letters)
    return replace(changed, explanation=problem.explanation)


def _change_record(record: Any, letters: Letters) -> Any:
    """Returns a record of a spec with other letters in its sentences and in those it contains."""
    new = {}
    for one in fields(record):
        value = getattr(record, one.name)
        made = _change_value(value, letters, is_sentence=one.name in _SENTENCES)
        if made != value:
            new[one.name] = made
    return replace(record, **new) if new else record


def _change_value(value: Any, letters: Letters, *, is_sentence: bool) -> Any:
    if isinstance(value, str):
        return change_letters(value, letters) if is_sentence else value
    if is_dataclass(value):
        return _change_record(value, letters)
    if isinstance(value, tuple):
        return tuple(_change_value(item, letters, is_sentence=is_sentence) for item in value)
    if isinstance(value, Mapping):
        return {
            name: _change_value(item, letters, is_sentence=is_sentence)
            for name, item in value.items()
        }
    return value
