"""Numbered items, each matched with a lettered target; part credit for each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from grader.kinds import lettered, samples
from grader.kinds.base import CORRECT, UNDRAWN, Example, Unreadable, kinds, partial_judgment
from grader.kinds.cells import UnreadableCell, raw_items, raw_pairs, read_cell, require_readable
from grader.kinds.lettered import Item, LetteredKey, LetteredKind
from grader.kinds.scalars import quote, read_text, refusal
from grader.kinds.texts import fill
from grader.model import Draw, Judgment, Part, Raw, Text, Verdict
from grader.model.spec import Strict

Matched = tuple[str | UnreadableCell | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchItem(Strict):
    """An item, with the target that belongs to it."""

    id: str
    text: Text
    match: str
    """The ID of the target that belongs to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching(Part):
    """Items to match with targets."""

    kind: Literal["matching"] = "matching"
    items: tuple[MatchItem, ...]
    """The items to match, numbered from 1 in this order."""
    targets: tuple[Item, ...]
    """The targets, shuffled and labeled with letters; there may be more targets than items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchingKey(LetteredKey):
    """The items and targets as this student sees them, and each item's letter."""

    part: Matching
    items: tuple[str, ...]
    """The items' texts in order."""
    right: tuple[str, ...]


class MatchingKind(LetteredKind[MatchingKey, Matched]):
    """Numbered items, each matched with a lettered target."""

    spec = Matching
    shown = "targets"

    def key(self, part: Matching, draw: Draw) -> MatchingKey:
        order = draw.order(part.id, len(part.targets))
        choices = lettered.label_choices(lettered.fill_items(part.targets, draw), order)
        if not part.items:
            raise ValueError("there are no items to match")
        return MatchingKey(
            part=part,
            draw=draw,
            items=tuple(fill(item.text, draw) for item in part.items),
            choices=choices,
            right=tuple(lettered.letter_of(choices, item.match) for item in part.items),
        )

    def read(self, raw: Raw, key: MatchingKey) -> Matched:
        cells: list[str | UnreadableCell | None] = [None] * len(key.items)
        for index, item in _iter_entries(raw, key):
            cells[index] = read_cell(lambda item=item: lettered.read_letter_cell(item, key.choices))  # type: ignore[misc]
        require_readable(cells)
        return tuple(cells)

    def judge(self, value: Matched, key: MatchingKey) -> Judgment:
        cells = {str(n): _verdict_of(v, r) for n, (v, r) in enumerate(zip(value, key.right), 1)}  # noqa: B905
        count = sum(v is Verdict.CORRECT for v in cells.values())
        share = count / len(key.right)
        if share == 1:
            return replace(CORRECT, cells=cells)
        notes = [f"{count} of {len(key.right)} items are matched correctly."]
        notes += [
            f"Item {n}: {v.sentence}"
            for n, v in enumerate(value, 1)
            if isinstance(v, UnreadableCell)
        ]
        return partial_judgment(share, " ".join(notes), cells=cells)

    def format_value(self, value: Matched, key: MatchingKey) -> str:
        return ", ".join(f"{n}: {_format_cell(v)}" for n, v in enumerate(value, 1))

    def examples(self, key: MatchingKey) -> tuple[Example, ...]:
        right, count = key.right, len(key.right)
        other = next(c.letter for c in key.choices if c.letter != right[0])
        one_wrong = samples.texts((other, *right[1:]))
        pairs = "  ".join(f"{n}{letter}" for n, letter in enumerate(right, 1))
        less = (count - 1) / count
        return (
            Example(raw=_raw_dict(dict(enumerate(right, 1))), share=1.0, why="the right matches"),
            Example(raw=samples.texts(right), share=1.0, why="the letters in the items' order"),
            Example(raw=samples.text(pairs), share=1.0, why="the right matches as text"),
            Example(raw=one_wrong, share=less, why="one wrong match"),
            *_blank_examples(key, less),
            samples.unreadable(samples.text(""), "an empty text"),
            samples.unreadable(_raw_dict({0: right[0]}), "an item that does not exist"),
            samples.unreadable(samples.texts((*right, "A")), "too many letters"),
            samples.unreadable(samples.texts(("?",) * count), "texts that are not letters"),
            samples.unreadable(samples.number(1), "a number"),
            *samples.NOTHING,
        )

    def instructions(self, key: MatchingKey) -> str:
        return f"{_describe_form(key)}; each item counts"

    def answer(self, key: MatchingKey) -> object:
        return dict(enumerate(key.right, 1))

    def read_solution(self, answer: object, key: MatchingKey) -> Matched:
        ids = [item.id for item in key.part.items]
        if not isinstance(answer, Mapping) or set(answer) != set(ids):
            raise ValueError(f"{answer!r} is not a dict with the items {', '.join(ids)}")
        return tuple(lettered.letter_of(key.choices, answer[i]) for i in ids)

    def sheet(self, key: MatchingKey) -> Mapping[str, object]:
        return {"items": list(key.items), **super().sheet(key)}

    def from_sheet(self, sheet: Mapping[str, object]) -> MatchingKey:
        items = sheet["items"]
        if not isinstance(items, list):
            raise ValueError("'items' must be a list")
        return MatchingKey(
            part=Matching(id="", ask="", items=(), targets=()),
            draw=UNDRAWN,
            items=tuple(str(item) for item in items),
            choices=lettered.choices_of_sheet(sheet, self.shown),
            right=(),
        )

    def explain(self, key: MatchingKey) -> str:
        lines = [f"**{self.format_value(key.right, key)}**; every item counts the same", ""]
        for n, (item, letter) in enumerate(zip(key.items, key.right, strict=True), 1):
            target = lettered.choice_by_letter(key.choices, letter)
            lines.append(f"{n}. {lettered.indent_item(item)}: **{letter}.** {target.text}")
        return "\n".join(lines)


def _describe_form(key: MatchingKey) -> str:
    count = len(key.items)
    each = f"each of 1 to {count}" if count > 1 else "item 1"
    return f"a letter in quotes, {lettered.letters_in_words(key.choices)}, for {each}"


def _iter_entries(raw: Raw, key: MatchingKey) -> Iterator[tuple[int, Raw]]:
    """Yields the index of each item, and the letter given for it. Raises Unreadable."""
    tag = raw.get("t")
    if tag == "dict":
        for name, value in raw_pairs(raw):
            yield _read_item_index(name, key), value
    elif tag in ("list", "array") and isinstance(raw.get("v"), list):
        items = raw_items(raw)
        if len(items) > len(key.items):
            raise Unreadable(f"{len(items)} letters were given for {len(key.items)} items.")
        yield from enumerate(items)
    elif tag == "str":
        yield from _iter_text_entries(read_text(raw, _describe_form(key)), key)
    else:
        raise refusal(raw, _describe_form(key))


def _read_item_index(name: Raw, key: MatchingKey) -> int:
    """Returns the index from 0 of the item that *name* numbers from 1. Raises Unreadable."""
    written = str(name.get("v", "")).strip()
    if name.get("t") == "float":
        written = written.removesuffix(".0")  # in a dict, 1.0 is the same key as 1
    numbers = [str(number) for number in range(1, len(key.items) + 1)]
    if written.lstrip("0") not in numbers:
        numbered = f"the items are numbered 1 to {len(key.items)}"
        raise Unreadable(f"There is no item {quote(written)}; {numbered}.")
    return numbers.index(written.lstrip("0"))


PAIR = r"\(?\s*(\d{1,3})\s*(?:[).:=→-]|->)*\s*([A-Za-z])\s*\)?[\s,;]*"
"""Pattern of an item and its letter in a text with several."""
_PAIR = re.compile(PAIR)


def _iter_text_entries(written: str, key: MatchingKey) -> Iterator[tuple[int, Raw]]:
    """Yields the index and the letter of each item in a text such as "1C 2A" or "CA"."""
    written = " ".join(written.split())
    if re.fullmatch(r"[A-Za-z]+", written) and len(written) == len(key.items):
        yield from enumerate(samples.text(letter) for letter in written)
        return
    end = 0
    while end < len(written):
        pair = _PAIR.match(written, end)
        if pair is None:
            raise Unreadable(f"{quote(written)} can't be read; give {_describe_form(key)}.")
        yield _read_item_index(samples.text(pair[1]), key), samples.text(pair[2])
        end = pair.end()


def _verdict_of(value: str | UnreadableCell | None, right: str) -> Verdict:
    if not isinstance(value, str):
        return Verdict.UNREADABLE if value else Verdict.ABSENT
    return Verdict.CORRECT if value == right else Verdict.INCORRECT


def _format_cell(value: str | UnreadableCell | None) -> str:
    if isinstance(value, UnreadableCell):
        return "unreadable"
    return "blank" if value is None else value


def _blank_examples(key: MatchingKey, less: float) -> Iterator[Example]:
    """Yields examples with blank or unreadable items; those with one such item earn *less*."""
    right = key.right
    blank = dict.fromkeys(range(1, len(right) + 1), ...)
    yield samples.unreadable(_raw_dict(blank), "the untouched placeholder")
    yield samples.unreadable(_raw_dict({}), "an empty dict")
    if len(right) > 1:
        rest = dict(list(enumerate(right, 1))[1:])
        yield Example(raw=_raw_dict(rest), share=less, why="one item missing")
        yield Example(raw=_raw_dict({1: ..., **rest}), share=less, why="one item left blank")
        yield Example(raw=_raw_dict({1: "?", **rest}), share=less, why="one item unreadable")


def _raw_dict(letters: Mapping[int, object]) -> Raw:
    """Returns the Raw of a dict from numbers to letters, in which `...` stands for a blank."""
    return samples.a_dict(
        (samples.number(n), samples.BLANK if v is ... else samples.text(str(v)))
        for n, v in letters.items()
    )


kinds.add("matching")(MatchingKind())
