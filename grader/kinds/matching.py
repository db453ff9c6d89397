"""Numbered items, each matched with a lettered target; part credit for each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from grader.kinds import cells, lettered, samples
from grader.kinds.base import CORRECT, UNDRAWN, Example, Unreadable, kinds, partial_judgment
from grader.kinds.cells import UnreadableCell
from grader.kinds.lettered import Item, LetteredKey, LetteredKind
from grader.kinds.scalars import quote, read_text, refusal
from grader.kinds.texts import fill
from grader.model import Draw, Judgment, Part, Raw, Text, Verdict
from grader.model.spec import Strict
from grader.wire.encoding import encode_answer

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
        order = draw.permutation(part.id, len(part.targets))
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
        letters: list[str | UnreadableCell | None] = [None] * len(key.items)
        given: set[int] = set()
        for index, item in _iter_entries(raw, key):
            if index in given:
                raise Unreadable(f"Item {index + 1} is given twice; give one letter for each.")
            given.add(index)
            read = partial(lettered.read_letter_cell, item, key.choices)
            letters[index] = cells.read_cell(read)
        cells.require_readable(letters)
        return tuple(letters)

    def judge(self, value: Matched, key: MatchingKey) -> Judgment:
        verdicts = {str(n): _verdict_of(v, r) for n, (v, r) in enumerate(zip(value, key.right), 1)}  # noqa: B905
        count = sum(v is Verdict.CORRECT for v in verdicts.values())
        share = count / len(key.right)
        if share == 1:
            return replace(CORRECT, cells=verdicts)
        are = "is" if count == 1 else "are"
        notes = [f"{count} of {len(key.right)} items {are} matched correctly."]
        notes += [
            f"Item {n}: {v.sentence}"
            for n, v in enumerate(value, 1)
            if isinstance(v, UnreadableCell)
        ]
        return partial_judgment(share, " ".join(notes), cells=verdicts)

    def format_value(self, value: Matched, key: MatchingKey) -> str:
        return ", ".join(f"{n}: {cells.format_cell(v)}" for n, v in enumerate(value, 1))

    def examples(self, key: MatchingKey) -> tuple[Example, ...]:
        right, count = key.right, len(key.right)
        by_number = dict(enumerate(right, 1))
        other = next(c.letter for c in key.choices if c.letter != right[0])
        pairs = "  ".join(f"{n}{letter}" for n, letter in by_number.items())
        less = (count - 1) / count
        return (
            samples.right(by_number, "the right matches"),
            samples.right(right, "the letters in the items' order"),
            samples.right(pairs, "the right matches as text"),
            samples.sample([other, *right[1:]], less, "one wrong match"),
            samples.unreadable(dict.fromkeys(by_number, ...), "the untouched placeholder"),
            samples.unreadable({}, "an empty dict"),
            *(_blank_examples(by_number, less) if count > 1 else ()),
            samples.unreadable("", "an empty text"),
            samples.unreadable({0: right[0]}, "an item that does not exist"),
            samples.unreadable([*right, "A"], "too many letters"),
            samples.unreadable(["?"] * count, "texts that are not letters"),
            samples.unreadable(1, "a number"),
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
        for name, value in cells.raw_pairs(raw):
            yield _read_item_index(name, key), value
    elif tag in ("list", "array") and isinstance(raw.get("v"), list):
        items = cells.raw_items(raw)
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
        yield from enumerate(map(encode_answer, written))
        return
    end = 0
    while end < len(written):
        pair = _PAIR.match(written, end)
        if pair is None:
            raise Unreadable(f"{quote(written)} can't be read; give {_describe_form(key)}.")
        yield _read_item_index(encode_answer(pair[1]), key), encode_answer(pair[2])
        end = pair.end()


def _verdict_of(value: str | UnreadableCell | None, right: str) -> Verdict:
    if not isinstance(value, str):
        return Verdict.UNREADABLE if value else Verdict.ABSENT
    return Verdict.CORRECT if value == right else Verdict.INCORRECT


def _blank_examples(by_number: Mapping[int, str], less: float) -> Iterator[Example]:
    """Yields examples with one blank or unreadable item, which earn *less*."""
    rest = {number: letter for number, letter in by_number.items() if number > 1}
    yield samples.sample(rest, less, "one item missing")
    yield samples.sample({1: ..., **rest}, less, "one item left blank")
    yield samples.sample({1: "?", **rest}, less, "one item unreadable")


kinds.add("matching")(MatchingKind())
