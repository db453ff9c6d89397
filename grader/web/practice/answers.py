"""Reads the answers of a form as the kernel would send them, and what to show in each input."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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
from grader.wire import encoding

NONE = "none"
"""The value of the box that says that no option is right."""
LONGEST = 50_000
"""Maximum characters of a field."""


@dataclass(frozen=True, slots=True)
class FormFields:
    """The fields of a submitted form, by name."""

    values: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """Returns the field's first value; empty if there is none."""
        return next(iter(self.values.get(name, ())), "")[:LONGEST].replace("\r\n", "\n")

    def every(self, name: str) -> tuple[str, ...]:
        """Returns all values of the field."""
        return tuple(self.values.get(name, ()))


def form_of(key: Key) -> str:
    """Returns the name of the input for *key*; `line` for kinds that have none of their own."""
    for kind, form in _FORMS.items():
        if isinstance(key, kind):
            return form
    if isinstance(key, lettered.LetteredKey):
        return "choice"
    return "line"


def answer_of(name: str, key: Key, fields: FormFields) -> Raw | None:
    """Returns the answer to the part *name* as the kernel would send it; None for a blank one.

    The fields come from a browser and may be anything: what is not an answer is refused later, by
    the kind's own reader.
    """
    value = _READERS[form_of(key)](name, key, fields)
    return None if value is None else encoding.encode_answer(value)


def missing_fields(name: str, key: Key, fields: FormFields) -> tuple[str, ...]:
    """Returns what is missing in an answer of several fields, for the student."""
    expected = _EXPECTED.get(form_of(key))
    every = expected(name, key) if expected else ()
    return tuple(shown for field, shown in every if not fields.text(field).strip())


def _truth_fields(name: str, key: Key) -> Iterator[tuple[str, str]]:
    if getattr(key, "choices", ()):
        yield name, "true or false"
        yield f"{name}.reason", "a reason"


def _matching_fields(name: str, key: Key) -> Iterator[tuple[str, str]]:
    for number, _ in enumerate(getattr(key, "items", ()), 1):
        yield f"{name}.{number}", f"item {number}"


def _order_fields(name: str, key: Key) -> Iterator[tuple[str, str]]:
    for number, _ in enumerate(getattr(key, "choices", ()), 1):
        yield f"{name}.{number}", f"place {number}"


def _grid_fields(name: str, key: Key) -> Iterator[tuple[str, str]]:
    for row, label in enumerate(getattr(key, "rows", ()), 1):
        for column, title in enumerate(getattr(key, "titles", ()), 1):
            yield f"{name}.{row}.{column}", f"{title} of {label}"


def _plan_fields(name: str, key: Key) -> Iterator[tuple[str, str]]:
    for number, choice in enumerate(getattr(key.part, "choose", {}), 1):
        yield f"{name}.{number}", choice


def _read_line(name: str, _key: Key, fields: FormFields) -> object:
    return fields.text(name).strip() or None


def _read_letters(name: str, _key: Key, fields: FormFields) -> object:
    chosen = list(fields.every(name))
    if not chosen:
        return None
    return [] if chosen == [NONE] else chosen


def _read_truth(name: str, key: Key, fields: FormFields) -> object:
    truth = {"true": True, "false": False}.get(fields.text(name))
    if not getattr(key, "choices", ()):
        return truth
    reason = fields.text(f"{name}.reason")
    if truth is None and not reason:
        return None
    return [... if truth is None else truth, reason or ...]


def _read_matching(name: str, key: Key, fields: FormFields) -> object:
    count = len(getattr(key, "items", ()))
    return _none_if_blank({n: fields.text(f"{name}.{n}") or ... for n in range(1, count + 1)})


def _read_order(name: str, key: Key, fields: FormFields) -> object:
    count = len(getattr(key, "choices", ()))
    letters = [fields.text(f"{name}.{n}") for n in range(1, count + 1)]
    return letters if any(letters) else None


def _read_grid(name: str, key: Key, fields: FormFields) -> object:
    rows, titles = getattr(key, "rows", ()), getattr(key, "titles", ())
    grid = {
        label: [
            fields.text(f"{name}.{row}.{column}").strip() or ...
            for column in range(1, len(titles) + 1)
        ]
        for row, label in enumerate(rows, 1)
    }
    blank = all(cell is ... for row in grid.values() for cell in row)
    return None if blank else grid


def _read_plan(name: str, key: Key, fields: FormFields) -> object:
    choose = getattr(key.part, "choose", {})
    plan: dict[str, object] = {}
    for number, (choice, offered) in enumerate(choose.items(), 1):
        index = fields.text(f"{name}.{number}")
        known = index.isdecimal() and len(index) < 4 and int(index) < len(offered)
        plan[choice] = offered[int(index)] if known else ...
    return _none_if_blank(plan)


def _read_code(_name: str, _key: Key, _fields: FormFields) -> object:
    return None  # its source runs in a kernel


def _none_if_blank(values: Mapping[Any, object]) -> object:
    return None if all(value is ... for value in values.values()) else dict(values)


_FORMS: Mapping[type[Key], str] = {
    CodeKey: "code",
    ExplanationKey: "text",
    MatchingKey: "matching",
    OrderingKey: "ordering",
    MultiChoiceKey: "letters",
    TrueFalseKey: "truth",
    TableKey: "table",
    PlanKey: "plan",
}
_READERS: Mapping[str, Callable[[str, Key, FormFields], object]] = {
    "code": _read_code,
    "text": _read_line,
    "line": _read_line,
    "choice": _read_line,
    "letters": _read_letters,
    "truth": _read_truth,
    "matching": _read_matching,
    "ordering": _read_order,
    "table": _read_grid,
    "plan": _read_plan,
}
_EXPECTED: Mapping[str, Callable[[str, Key], Iterator[tuple[str, str]]]] = {
    "truth": _truth_fields,
    "matching": _matching_fields,
    "ordering": _order_fields,
    "table": _grid_fields,
    "plan": _plan_fields,
}
"""The fields of an answer that has several, with what students read of each."""
