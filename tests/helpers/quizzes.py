"""Quizzes for tests, answers to them, and what an answer earns by the forms of a part."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from grader.bank.folders import Bank
from grader.integrations.quiz_items import quiz_items
from grader.kinds import kinds
from grader.kinds.numeric import NumericKey
from grader.model import Key, Part
from grader.model.item import (
    ChoiceItem,
    ChoiceOption,
    Item,
    NumberItem,
    NumberRange,
    OrderItem,
    PairsItem,
    TextItem,
)
from grader.model.quiz import Pool, Quiz, QuizPart, QuizQuestion
from grader.model.result import GivenValue
from grader.text.markdown import strip_paragraph, typeset_text
from grader.wire.encoding import encode_answer
from tests.helpers.banks import SPEC, a_bank
from tests.helpers.commands import ok
from tests.helpers.kinds import PARTS, a_key

Numbers = tuple[int | float, ...]


@dataclass(frozen=True)
class Reply:
    """An answer: what the kind's judge gets, and the same for another system.

    There it is numbers, the index of a choice or of each thing's target or place, a set of
    indices, or a text.
    """

    value: object
    given: Numbers | tuple[int, ...] | int | frozenset[int] | str


def a_field(key: Key, points: float = 2.0, letter: str = "", part: str | None = None) -> QuizPart:
    """A part of a quiz made from a key."""
    return QuizPart(
        id=part or key.part.id,
        letter=letter,
        kind=key.part.kind,
        ask=key.part.ask,
        points=points,
        items=quiz_items(key),
        uses=key.part.uses,
    )


def an_item_field(item: Item, *, ask: str = "?", letter: str = "") -> QuizPart:
    """A part of one point that asks *item*, made from no key."""
    return QuizPart(id="b", letter=letter, kind="choice", ask=ask, points=1.0, items=(item,))


def an_asked(*fields: QuizPart, **changes: Any) -> QuizQuestion:
    """One variant of a problem about weights."""
    whole: dict[str, Any] = {
        "problem": "weights",
        "title": "Weights",
        "variant": 1,
        "prompt": "A model has `7` billion parameters; $p < 8$.",
        "given_values": (GivenValue(label="GPUs", value="16"),),
        "assumptions": ("1 GB is $10^9$ bytes.",),
        "solution": "Divide.",
        "fields": fields,
        **changes,
    }
    return QuizQuestion(**whole)


def a_quiz(*pools: Sequence[QuizQuestion], **changes: Any) -> Quiz:
    """A quiz with these variants at its numbers."""
    whole: dict[str, Any] = {
        "id": "quiz",
        "title": "A quiz",
        "instructions": "Read *well*.",
        "minutes": 30.0,
        "pools": tuple(
            Pool(number=number, questions=tuple(asked)) for number, asked in enumerate(pools, 1)
        ),
        **changes,
    }
    return Quiz(**whole)


def a_number(value: float = 2.5, **changes: Any) -> NumberItem:
    """A number without mistakes."""
    found = NumberRange(low=value - 0.5, high=value + 0.5, value=value, share=1.0)
    return NumberItem(ranges=(found,), **changes)


def a_choosing(*texts: str, feedback: str = "", **changes: Any) -> ChoiceItem:
    """One of these, of which the first is right."""
    choices = tuple(
        ChoiceOption(
            id=f"o{i}", text=text, right=i == 0, share=float(i == 0), feedback=feedback if i else ""
        )
        for i, text in enumerate(texts)
    )
    return ChoiceItem(choices=choices, **changes)


def replies(key: Key, dice: random.Random) -> Iterator[Reply]:
    """Many answers to the part of *key*, right and wrong."""
    items = quiz_items(key)
    first = items[0]
    for _ in range(40):
        given = _given(items, first, dice)
        yield Reply(_value(key, given), given)


def _given(items: tuple[Item, ...], first: Item, dice: random.Random):
    match first:
        case NumberItem():
            return tuple(_some_number(item, dice) for item in items)  # type: ignore[arg-type]
        case ChoiceItem(several=True):
            rights = frozenset(i for i, c in enumerate(first.choices) if c.right)
            flip = frozenset(i for i in range(len(first.choices)) if dice.random() < 0.25)
            return rights ^ flip
        case ChoiceItem():
            return dice.randrange(len(first.choices))
        case PairsItem():
            return tuple(
                r if dice.random() < 0.5 else dice.randrange(len(first.targets))
                for r in first.right
            )
        case OrderItem():
            count = len(first.things)
            return tuple(range(count) if dice.random() < 0.3 else dice.sample(range(count), count))
        case TextItem():
            texts = [text for words in first.words for text in words.texts]
            text = dice.choice([*texts, "no such thing", texts[0][:-1]])
            return dice.choice([text, text.upper(), f" {text} "])
    raise AssertionError(first)


def _some_number(item: NumberItem, dice: random.Random) -> int | float:
    found = dice.choice(item.ranges)
    tries: list[int | float] = [
        found.value,
        item.ranges[0].value,
        item.ranges[0].low,
        item.ranges[0].high,
        found.low + (found.high - found.low) * dice.uniform(0.01, 0.99),
        found.value * dice.choice([-1, 0.5, 3, 1.0137, 0.9871]) + dice.choice([0, 0.37]),
        found.value + dice.choice([1, -1, 2]) * max(1, abs(found.value) // 1000),
    ]
    value = dice.choice(tries)
    if item.whole:
        # What lies between two whole numbers is one of the things that do not survive.
        return value if value == found.value else round(value)
    return value


def _value(key: Key, given: Any) -> object:
    kind = kinds.find(key.part.kind)
    match key.part.kind, given:
        case (("numeric" | "integer"), (number,)):
            return kind.read(encode_answer(number), key)
        case "table", tuple():
            width = len(key.titles)  # type: ignore[attr-defined]
            return tuple(given[i : i + width] for i in range(0, len(given), width))
        case "true_false", int() if key.choices:  # type: ignore[attr-defined]
            reasons = [c.letter for c in key.choices]  # type: ignore[attr-defined]
            return given < len(reasons), reasons[given % len(reasons)]
        case "true_false", int():
            return given == 0
        case "choice", int():
            return key.choices[given].letter  # type: ignore[attr-defined]
        case "multi_choice", frozenset():
            return frozenset(key.choices[i].letter for i in given)  # type: ignore[attr-defined]
        case "matching", tuple():
            return tuple(key.choices[i].letter for i in given)  # type: ignore[attr-defined]
        case "ordering", tuple():
            return tuple(key.right[i] for i in given)  # type: ignore[attr-defined]
        case "short_text", str():
            return kind.read(encode_answer(given), key)
    raise AssertionError((key.part.kind, given))


def judged_share(key: Key, reply: Reply) -> float:
    """What the kind's own judge gives."""
    share = kinds.find(key.part.kind).judge(reply.value, key).share
    assert share is not None
    return share


def near_a_cut(key: Key, given: object) -> bool:
    """Whether an answer lies so near to where a verdict changes that rounding decides.

    The ends of what is accepted are not meant: there everybody must agree.
    """
    if not isinstance(given, tuple) or not isinstance(key, NumericKey):
        return False
    item: Any = quiz_items(key)[0]
    mine = item.ranges[0]
    cuts = {end for r in item.ranges[1:] for end in (r.low, r.high)} - {mine.low, mine.high}
    return any(0 < abs(given[0] - cut) <= 1e-8 * abs(cut) for cut in cuts)


def asked_parts(*but: str) -> list[Part]:
    """Parts of every kind that has a form in other systems, those of the kinds in *but* aside."""
    return [p for p in PARTS if p.kind not in but and quiz_items(a_key(p))]


def numbered(parts: Sequence[Part]) -> list[str]:
    """Names of tests for them."""
    return [f"{i}-{part.kind}" for i, part in enumerate(parts)]


def quiz_problems() -> list[str]:
    """The bank's problems that are not asked by a solution of Python, without loading any."""
    bank = Bank.open(())
    heads = bank.heads(bank.listed_problems).values()
    return [h.id for h in heads if not any(kinds.find(p.kind).needs_solution for p in h.parts)]


# What the author of a problem may write, by chance or for a try


_nasty = st.text(
    alphabet=st.one_of(
        st.sampled_from([*"{}#~=%\\*:&<>'\"[]()`$_|/1\n\r\t", "\x00", "\x07", "\ufffe", "\ud800"]),
        st.characters(),
    ),
    min_size=1,
    max_size=30,
)
_phrases = st.sampled_from(
    ["{1:NM:=5:0.1}", "{#1}", "]]>", "<![CDATA[", "<script>alert(1)</script>", "&#126;",
     "&lt;b&gt;", "\\}", "\\~", "\\#", "a\\", "~=x", "#fb", "%50%", "{:MC:=a~b}",
     "$\\frac{a}{b}$", "$$\\{#1\\}$$", "@@PLUGINFILE@@/x", "`{1: 2}`",
     "<img src=x onerror=alert(1)>", "{{ x }}", "\x1b[2J"]
)  # fmt: skip
hostile = st.lists(_nasty | _phrases, min_size=1, max_size=4).map(" ".join)


def as_written(text: str) -> str:
    """The HTML that stands for a text, as far as XML can hold it."""
    written = strip_paragraph(typeset_text(text)).replace("\r\n", "\n").replace("\r", "\n")
    return re.sub("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", written).strip()


# Through the command


def exported_by_keys(folder: Path, form: str) -> tuple[bytes, bytes, bytes]:
    """Four variants of a set as `grader export` writes them, by the keys x, x again, and y."""
    bank = a_bank(folder / "bank")
    found = []
    for name, key in (("a", "x"), ("b", "x"), ("c", "y")):
        out = folder / name
        ok("export", form, "quiz", "--bank", bank, "--variants", 4, "--out", out,
           "--private-key", key)  # fmt: skip
        found.append(out.read_bytes())
    first, again, other = found
    return first, again, other


def a_pooled_bank(folder: Path, *others: str, exam: str) -> Path:
    """A bank whose set *exam* draws from the problem `sample` and others like it."""
    bank = a_bank(folder, exam=exam)
    for name in others:
        a_bank(folder, spec=SPEC.replace("id: sample", f"id: {name}", 1), exam=exam)
    return bank
