"""Items to put in order; several orders may be right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import Literal

from grader.kinds import lettered, samples
from grader.kinds.base import CORRECT, Example, Unreadable, kinds, partial_judgment
from grader.kinds.lettered import Item, LabeledChoice, LetteredKey, LetteredKind
from grader.model import Draw, Judgment, Part, Raw

Rule = Literal["all-or-nothing", "longest-run", "pairs"]
Pairs = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordering(Part):
    """Items to put in order."""

    kind: Literal["ordering"] = "ordering"
    items: tuple[Item, ...]
    """The items, shown to each student in a different order."""
    order: tuple[tuple[str, ...], ...]
    """Chains of item IDs: each item comes before the next. Items that no chain relates may be in
    any order."""
    credit: Rule = "all-or-nothing"
    """The rule for part credit; see the table in the reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderingKey(LetteredKey):
    """The items as this student sees them, and which letter must come before which."""

    part: Ordering
    before: Pairs
    """All ordered pairs, including those that follow from others."""
    right: tuple[str, ...]
    """One right order."""

    @property
    def has_one_order(self) -> bool:
        """Whether no other order is right."""
        return len(self.before) == len(self.choices) * (len(self.choices) - 1) // 2


def all_or_nothing(order: Sequence[str], before: Pairs) -> float:
    """Returns 1 if no pair is in the wrong order, otherwise 0."""
    return float(not any((b, a) in before for i, a in enumerate(order) for b in order[i + 1 :]))


def longest_run(order: Sequence[str], before: Pairs) -> float:
    """Returns the longest run without a pair in the wrong order, as a share; 0 for a run of one."""
    longest = start = 0
    for end, last in enumerate(order):
        for i in range(end - 1, start - 1, -1):
            if (last, order[i]) in before:
                start = i + 1
                break
        longest = max(longest, end + 1 - start)
    return longest / len(order) if longest > 1 else 0.0


def pair_share(order: Sequence[str], before: Pairs) -> float:
    """Returns the share of the ordered pairs that are in the right order."""
    at = {letter: i for i, letter in enumerate(order)}
    return sum(at[a] < at[b] for a, b in before) / len(before)


_RULES: Mapping[Rule, tuple[Callable[[Sequence[str], Pairs], float], str]] = {
    "all-or-nothing": (all_or_nothing, "all or nothing"),
    "longest-run": (longest_run, "the longest run in a right order counts"),
    "pairs": (pair_share, "each pair in the right order counts"),
}
"""What each rule for part credit earns, and how it is explained to students."""


class OrderingKind(LetteredKind[OrderingKey, tuple[str, ...]]):
    """Items to put in order; several orders may be right."""

    spec = Ordering
    shown = "items"

    def key(self, part: Ordering, draw: Draw) -> OrderingKey:
        ids = [item.id for item in part.items]
        before = _transitive_closure(_read_pairs(part, ids), ids)
        right = _topological_order(ids, before)
        shown = _draw_shown_order(part, draw, before)
        choices = lettered.label_choices(lettered.fill_items(part.items, draw), shown)
        letters = {c.id: c.letter for c in choices}
        return OrderingKey(
            part=part,
            draw=draw,
            choices=choices,
            before=frozenset((letters[a], letters[b]) for a, b in before),
            right=tuple(letters[i] for i in right),
        )

    def read(self, raw: Raw, key: OrderingKey) -> tuple[str, ...]:
        if raw.get("t") == "set":
            raise Unreadable("A set has no order; give a list.")
        letters = lettered.read_letters(raw, key.choices, _describe_form(key.choices))
        for letter in letters:
            if letters.count(letter) > 1:
                raise Unreadable(f"{letter} appears more than once; give every letter once.")
        missing = [c.letter for c in key.choices if c.letter not in letters]
        if missing:
            verb = "is" if len(missing) == 1 else "are"
            raise Unreadable(f"{', '.join(missing)} {verb} missing; give every letter once.")
        return tuple(letters)

    def judge(self, value: tuple[str, ...], key: OrderingKey) -> Judgment:
        if all_or_nothing(value, key.before) == 1:
            return CORRECT
        earned = _RULES[key.part.credit][0](value, key.before)
        note = "Part of this order is right." if earned else "This is not a right order."
        return partial_judgment(earned, note)

    def format_value(self, value: tuple[str, ...], key: OrderingKey) -> str:
        return ", ".join(value)

    def examples(self, key: OrderingKey) -> tuple[Example, ...]:
        right = key.right
        return (
            samples.right(right, "a right order"),
            samples.right("".join(right).lower(), "a right order as text"),
            samples.right(" > ".join(right), "a right order with arrows"),
            *_wrong_order_examples(key),
            samples.unreadable(right[1:], "a letter missing"),
            samples.unreadable([*right, right[0]], "a letter twice"),
            samples.unreadable(["?", *right[1:]], "a text that is not a letter"),
            samples.unreadable(set(right), "a set"),
            *samples.NOT_LETTERS,
        )

    def instructions(self, key: OrderingKey) -> str:
        return f"{_describe_form(key.choices)}; {_RULES[key.part.credit][1]}"

    def answer(self, key: OrderingKey) -> object:
        return list(key.right)

    def read_solution(self, answer: object, key: OrderingKey) -> tuple[str, ...]:
        listed = answer if isinstance(answer, (list, tuple)) else ()
        if len(listed) != len(key.choices) or len(set(listed)) < len(listed):
            raise ValueError(f"{answer!r} is not a list of all item ids, once each")
        return tuple(lettered.letter_of(key.choices, i) for i in listed)

    def explain(self, key: OrderingKey) -> str:
        steps = (lettered.choice_by_letter(key.choices, letter) for letter in key.right)
        lines = "\n".join(f"{n}. **{s.letter}.** {s.text}" for n, s in enumerate(steps, 1))
        head = f"**{', '.join(key.right)}**"
        if not key.has_one_order:
            head += "; other orders that respect the same dependencies are right too"
        return f"{head} ({_RULES[key.part.credit][1]})\n\n{lines}"


def _describe_form(choices: Sequence[LabeledChoice]) -> str:
    return f"the letters {lettered.letters_in_words(choices)} in order, as a list or as one text"


def _read_pairs(part: Ordering, ids: Sequence[str]) -> set[tuple[str, str]]:
    """Returns the neighbors in the author's chains. Raises ValueError if a chain is invalid."""
    for chain in part.order:
        for item in chain:
            if item not in ids:
                raise ValueError(f"'order' names '{item}', which is not one of the items")
        if len(chain) < 2:
            raise ValueError("a chain in 'order' needs at least two item ids")
    if not part.order:
        raise ValueError("'order' is empty: every order would be right")
    return {pair for chain in part.order for pair in pairwise(chain)}


def _transitive_closure(before: set[tuple[str, str]], ids: Sequence[str]) -> set[tuple[str, str]]:
    """Returns *before* with all pairs that follow from it. Raises ValueError for a cycle."""
    closed = set(before)
    for middle in ids:
        firsts = [a for a, b in closed if b == middle]
        lasts = [b for a, b in closed if a == middle]
        closed |= {(a, b) for a in firsts for b in lasts}
    for item in ids:
        if (item, item) in closed:
            raise ValueError(f"'order' puts '{item}' before itself")
    return closed


def _topological_order(ids: Sequence[str], before: set[tuple[str, str]]) -> list[str]:
    """Returns a right order that follows the author's as far as possible."""
    remaining = list(ids)
    order = []
    while remaining:
        first = next(i for i in remaining if not any((j, i) in before for j in remaining))
        remaining.remove(first)
        order.append(first)
    return order


def _draw_shown_order(part: Ordering, draw: Draw, before: set[tuple[str, str]]) -> tuple[int, ...]:
    """Returns the order to show the items in, which is never a right one."""
    # At least half of all orders are wrong, as at least one pair is given.
    labels = (f"{part.id}/{attempt}" if attempt else part.id for attempt in count())
    orders = (draw.permutation(label, len(part.items)) for label in labels)
    return next(
        order
        for order in orders
        if not all_or_nothing([part.items[i].id for i in order], frozenset(before))
    )


def _wrong_order_examples(key: OrderingKey) -> Iterator[Example]:
    """Yields the right order reversed, and with each pair of dependent neighbors swapped."""
    wrong = [(tuple(reversed(key.right)), "backwards")]
    for i, (a, b) in enumerate(pairwise(key.right)):
        if (a, b) in key.before:
            swapped = (*key.right[:i], b, a, *key.right[i + 2 :])
            wrong.append((swapped, f"{a} and {b} swapped"))
    for order, why in wrong:
        yield samples.sample(order, _RULES[key.part.credit][0](order, key.before), why)


kinds.add("ordering")(OrderingKind())
