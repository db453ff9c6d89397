"""Reads the answers of a form as the kernel would send them, and what to show in each input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from typing import Any, NamedTuple

from grader.kinds import lettered
from grader.kinds.attempts import CodeKey
from grader.kinds.explanation import ExplanationKey
from grader.kinds.matching import MatchingKey
from grader.kinds.multi_choice import MultiChoiceKey
from grader.kinds.ordering import OrderingKey
from grader.kinds.plan import PlanKey
from grader.kinds.table import TableKey
from grader.kinds.true_false import TrueFalseKey
from grader.model import Key, Raw
from grader.web.safety import FormFields
from grader.wire import encoding

NONE = "none"
"""The value of the box that says that no option is right."""


class _AnswerForm(NamedTuple):
    """The input for answers of a kind."""

    name: str
    read: Callable[[str, Any, FormFields], object]
    """Returns the answer to the part of a name, by its key; None for a blank one."""
    fields: Callable[[Any], Iterable[tuple[str, str]]] = lambda _: ()
    """Returns the ends of the names of an answer's fields, if it has several, with what students
    read of each."""


def form_of(key: Key) -> str:
    """Returns the name of the input for *key*; `line` for kinds that have none of their own."""
    return _answer_form(key).name


def answer_of(name: str, key: Key, fields: FormFields) -> Raw | None:
    """Returns the answer to the part *name* as the kernel would send it; None for a blank one.

    The fields come from a browser and may be anything: what is not an answer is refused later, by
    the kind's own reader.
    """
    value = _answer_form(key).read(name, key, fields)
    return None if value is None else encoding.encode_answer(value)


def missing_fields(name: str, key: Key, fields: FormFields) -> tuple[str, ...]:
    """Returns what is missing in an answer of several fields, for the student."""
    named_fields = _answer_form(key).fields(key)
    return tuple(shown for end, shown in named_fields if not fields.text(name + end).strip())


def _answer_form(key: Key) -> _AnswerForm:
    matches = (form for kind, form in _FORMS.items() if isinstance(key, kind))
    return next(matches, _AnswerForm("line", _read_line))


def _number_fields(things: Sized, noun: str) -> list[tuple[str, str]]:
    return [(f".{number}", f"{noun} {number}") for number in range(1, len(things) + 1)]


def _grid_fields(key: TableKey) -> Iterator[tuple[str, str]]:
    for row, label in enumerate(key.rows, 1):
        for column, title in enumerate(key.titles, 1):
            yield f".{row}.{column}", f"{title} of {label}"


def _read_line(name: str, _key: Key, fields: FormFields) -> object:
    return fields.text(name).strip() or None


def _read_letters(name: str, _key: Key, fields: FormFields) -> object:
    letters = list(fields.every(name))
    if letters == [NONE]:
        return []
    return letters or None


def _read_truth(name: str, key: TrueFalseKey, fields: FormFields) -> object:
    """Returns true or false, in a list with the reason if one is asked for; None if blank."""
    truth = {"true": True, "false": False}.get(fields.text(name))
    if not key.choices:
        return truth
    reason = fields.text(f"{name}.reason")
    if truth is None and not reason:
        return None
    return [... if truth is None else truth, reason or ...]


def _read_matching(name: str, key: MatchingKey, fields: FormFields) -> object:
    numbers = range(1, len(key.items) + 1)
    return _none_if_blank({n: fields.text(f"{name}.{n}") or ... for n in numbers})


def _read_order(name: str, key: OrderingKey, fields: FormFields) -> object:
    letters = [fields.text(f"{name}.{n}") for n in range(1, len(key.choices) + 1)]
    return letters if any(letters) else None


def _read_grid(name: str, key: TableKey, fields: FormFields) -> object:
    """Returns a list of cells for each row label, with `...` for a blank cell; None if blank."""
    columns = range(1, len(key.titles) + 1)
    grid = {
        label: [fields.text(f"{name}.{row}.{column}").strip() or ... for column in columns]
        for row, label in enumerate(key.rows, 1)
    }
    is_blank = all(cell is ... for row in grid.values() for cell in row)
    return None if is_blank else grid


def _read_plan(name: str, key: PlanKey, fields: FormFields) -> object:
    """Returns the option chosen at each choice, or `...` for none; None if all are blank."""
    plan: dict[str, object] = {}
    for number, (choice, offered) in enumerate(key.part.choose.items(), 1):
        index = fields.text(f"{name}.{number}")
        is_offered = index.isdecimal() and len(index) < 4 and int(index) < len(offered)
        plan[choice] = offered[int(index)] if is_offered else ...
    return _none_if_blank(plan)


def _none_if_blank(values: Mapping[Any, object]) -> object:
    return None if all(value is ... for value in values.values()) else dict(values)


_FORMS: Mapping[type[Key], _AnswerForm] = {
    # Its source runs in a kernel.
    CodeKey: _AnswerForm("code", lambda *_: None),
    ExplanationKey: _AnswerForm("text", _read_line),
    MatchingKey: _AnswerForm(
        "matching", _read_matching, lambda key: _number_fields(key.items, "item")
    ),
    OrderingKey: _AnswerForm(
        "ordering", _read_order, lambda key: _number_fields(key.choices, "place")
    ),
    MultiChoiceKey: _AnswerForm("letters", _read_letters),
    TrueFalseKey: _AnswerForm(
        "truth",
        _read_truth,
        lambda key: (("", "true or false"), (".reason", "a reason")) if key.choices else (),
    ),
    TableKey: _AnswerForm("table", _read_grid, _grid_fields),
    PlanKey: _AnswerForm(
        "plan",
        _read_plan,
        lambda key: [(f".{n}", choice) for n, choice in enumerate(key.part.choose, 1)],
    ),
    # After those that extend it.
    lettered.LetteredKey: _AnswerForm("choice", _read_line),
}
