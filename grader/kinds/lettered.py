"""Choices labeled with letters: how they are shown, and how a student's letters are read."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TypeVar

from grader.kinds.base import UNDRAWN, KindOf, Unreadable
from grader.kinds.scalars import quote, read_text, refusal
from grader.kinds.texts import fill
from grader.model import Draw, Key, Part, Raw, Text
from grader.model.spec import Strict

LETTERS = string.ascii_uppercase


@dataclass(frozen=True, slots=True, kw_only=True)
class Item(Strict):
    """Something to put in order or to match."""

    id: str
    text: Text


@dataclass(frozen=True, slots=True)
class LabeledChoice:
    """A choice under the letter that this student sees."""

    letter: str
    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LetteredKey(Key):
    """The choices as a student sees them. Without the right answer, it is a key from a sheet."""

    choices: tuple[LabeledChoice, ...]

    def format_letter(self, letter: str) -> str:
        """Returns a letter and the text of its choice, on one line."""
        return f"{letter} ({one_line(choice_by_letter(self.choices, letter).text)})"


K = TypeVar("K", bound=LetteredKey)
V = TypeVar("V")


class LetteredKind(KindOf[K, V]):
    """A kind whose answers are letters of choices."""

    shown = "options"
    """What the choices are called in a sheet."""

    def sheet(self, key: K) -> Mapping[str, object]:
        # Letters and texts as the student sees them; IDs could reveal the answer.
        return {self.shown: [[choice.letter, choice.text] for choice in key.choices]}

    def from_sheet(self, sheet: Mapping[str, object]) -> K:
        choices = choices_of_sheet(sheet, self.shown)
        part = Part(id="", kind="", ask="")
        return LetteredKey(part=part, draw=UNDRAWN, choices=choices)  # type: ignore[return-value]


def choices_of_sheet(sheet: Mapping[str, object], name: str) -> tuple[LabeledChoice, ...]:
    """Returns the choices under *name* in *sheet*, the description of an answer in the notebook.
    They are lettered in order and have no ids.

    Raises ValueError, KeyError, or TypeError if the student damaged the description.
    """
    listed = sheet[name]
    if not isinstance(listed, list) or not 2 <= len(listed) <= len(LETTERS):
        raise ValueError(f"'{name}' must be a list of 2 to 26 items")
    return tuple(
        LabeledChoice(letter, "", str(text))
        for letter, (_, text) in zip(LETTERS, listed, strict=False)
    )


@lru_cache(maxsize=4096)
def label_choices(
    pairs: tuple[tuple[str, str], ...], order: tuple[int, ...]
) -> tuple[LabeledChoice, ...]:
    """Returns choices, given as pairs of ID and text, in *order* and labeled from A.

    Raises ValueError if a student could not tell them apart.
    """
    if not 2 <= len(pairs) <= len(LETTERS):
        raise ValueError(f"there are {len(pairs)} choices; give 2 to 26")
    _require_distinct([i for i, _ in pairs], "have the id")
    _require_distinct([fold_text(t) for _, t in pairs], "read")
    for _, written in pairs:
        if len(written.strip()) == 1 and written.strip().upper() in LETTERS[: len(pairs)]:
            raise ValueError(f"the text '{written.strip()}' can be mistaken for a choice's letter")
    return tuple(LabeledChoice(LETTERS[at], *pairs[index]) for at, index in enumerate(order))


def _require_distinct(texts: Sequence[str], predicate: str) -> None:
    """Raises ValueError if two of *texts* are equal; *predicate* continues its message "two of the
    choices", as in "have the id"."""
    duplicate = next((written for written in texts if texts.count(written) > 1), None)
    if duplicate is not None:
        raise ValueError(f"two of the choices {predicate} '{duplicate}'")


def fill_items(items: Sequence[Item], draw: Draw) -> tuple[tuple[str, str], ...]:
    """Returns each item's ID, and its text with the variant's numbers."""
    return tuple([(item.id, fill(item.text, draw)) for item in items])


def as_markdown(choices: Sequence[LabeledChoice]) -> str:
    """Returns the choices as a Markdown list."""
    return "\n".join(f"- **{t.letter}.** {indent_item(t.text)}" for t in choices)


def indent_item(written: str) -> str:
    """Returns a text indented so that all its lines stay in one list item."""
    return written.replace("\n", "\n  ")


def letters_in_words(choices: Sequence[LabeledChoice]) -> str:
    """Returns the letters in words: "A to D", or "A or B"."""
    joint = " or " if len(choices) == 2 else " to "
    return choices[0].letter + joint + choices[-1].letter


def letter_range(choices: Sequence[LabeledChoice]) -> str:
    """Returns the first and the last letter, such as "A-D"."""
    return f"{choices[0].letter}-{choices[-1].letter}"


def choice_by_letter(choices: Sequence[LabeledChoice], letter: str) -> LabeledChoice:
    """Returns the choice with a letter."""
    return choices[LETTERS.index(letter)]


def find_choices(answer: str, choices: Sequence[LabeledChoice]) -> tuple[str, ...]:
    """Returns the choices named by letters in *answer*, each with its letter, as Markdown.

    *answer* is a text from a kind's `format_value`: letters, numbers of items, and words.
    """
    named = {choice.letter: choice for choice in choices}
    letters = dict.fromkeys(_LETTER.findall(answer))
    return tuple(f"**{letter}.** {named[letter].text}" for letter in letters if letter in named)


def letter_of(choices: Sequence[LabeledChoice], choice_id: object) -> str:
    """Returns the letter of the choice with an ID. Raises ValueError if there is none."""
    for choice in choices:
        if choice.id == choice_id:
            return choice.letter
    raise ValueError(f"{choice_id!r} is not one of " + ", ".join(repr(t.id) for t in choices))


def one_line(written: str, limit: int = 60) -> str:
    """Returns a text on one line, shortened if necessary."""
    line = " ".join(written.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


_LETTER = re.compile(r"\b[A-Z]\b")
LABELS = ("", r"(?:the )?(?:option|answer|choice)(?: is)?(?: ?[:=] ?| )")
"""Patterns of what may precede a choice."""
CHOICES = (r"\(? ?{0} ?[).:]?", "{1}", r"\(? ?{0} ?[).:]? ?{1}")
"""Patterns of a choice, for a folded text: its letter, its text, or both."""
_BARE = re.compile(r"\(? ?([a-z]) ?[).:]?")


def find_letter(written: str, choices: Sequence[LabeledChoice]) -> str | None:
    """Returns the letter meant by "B", "b", "(B)", "option B", "B) its text", or its text."""
    line = fold_text(written)
    bare = _BARE.fullmatch(line)  # the most common form, without patterns to compile
    if bare and bare[1].upper() in [choice.letter for choice in choices]:
        return bare[1].upper()
    likely = [choice for choice in choices if _may_mean(line, choice)]
    for label, form, choice in product(LABELS, CHOICES, likely):
        pattern = label + form.format(choice.letter.lower(), re.escape(fold_text(choice.text)))
        if re.fullmatch(pattern, line):
            return choice.letter
    return None


def _may_mean(line: str, choice: LabeledChoice) -> bool:
    """Returns whether a folded text ends like every text that means *choice*.

    This spares most texts the patterns, which take long to compile.
    """
    return line.rstrip(" ).:").endswith(choice.letter.lower()) or line.endswith(
        fold_text(choice.text)
    )


@lru_cache(maxsize=4096)
def fold_text(written: str) -> str:
    """Returns a text in lower case with single spaces, without Markdown markup.

    >>> fold_text("the `KV`  cache")
    'the kv cache'
    """
    return " ".join(re.sub(r"[`*$]", "", written).casefold().split())


def read_letter_cell(raw: Raw, choices: Sequence[LabeledChoice]) -> str:
    """Returns the letter in one cell, in which None counts as blank. Raises Unreadable."""
    if raw.get("t") == "none":
        raise Unreadable("The answer is empty.", blank=True)
    return read_letter(raw, choices)


def read_letter(raw: Raw, choices: Sequence[LabeledChoice], wanted: str = "") -> str:
    """Returns the letter in *raw*. Raises Unreadable, which asks for *wanted* or one letter."""
    wanted = wanted or f"one letter, {letters_in_words(choices)}"
    written = read_text(raw, wanted)
    letter = find_letter(written, choices)
    if letter is None:
        letters = letters_in_words(choices)
        raise Unreadable(f"{quote(written)} is not one of the letters {letters}; give {wanted}.")
    return letter


BETWEEN = r"\s*(?:,|;|->|→|>|<|&|\+|/|\band\b|\bthen\b|\s)\s*"
"""Pattern of what separates letters in a text; use with IGNORECASE."""


def read_letters(raw: Raw, choices: Sequence[LabeledChoice], wanted: str) -> list[str]:
    """Returns the letters in the order in which *raw* gives them. Raises Unreadable.

    *raw* is a list, a tuple, or an array of letters, or a text such as "AC", "A, C", or "a and c".
    """
    items = raw.get("v")
    if raw.get("t") in ("list", "array") and isinstance(items, list):
        return _read_items(items, choices, wanted)
    written = " ".join(read_text(raw, wanted).split())  # runs of space would take the pattern long
    whole = find_letter(written, choices)
    if whole is not None:
        return [whole]
    valid = {choice.letter for choice in choices}
    letters: list[str] = []
    for piece in filter(None, re.split(BETWEEN, written, flags=re.IGNORECASE)):
        letter = find_letter(piece, choices)
        are_letters = len(piece) <= len(LETTERS) and valid.issuperset(piece.upper())
        if letter is None and not are_letters:
            inside = "" if piece == written else f" in {quote(written)}"
            raise Unreadable(
                f"{quote(piece)}{inside} is not one of the letters {letters_in_words(choices)}; "
                f"give {wanted}."
            )
        letters += [letter] if letter else list(piece.upper())
    return letters


def _read_items(
    items: Sequence[object], choices: Sequence[LabeledChoice], wanted: str
) -> list[str]:
    """Returns the letters in a list. Raises Unreadable, as blank only if every item is blank."""
    raws: list[Raw] = [i if isinstance(i, dict) else {} for i in items]
    if raws and all(r.get("t") == "ellipsis" for r in raws):
        raise refusal({"t": "ellipsis"}, wanted)
    letters: list[str] = []
    for item in raws:
        if item.get("t") != "str":
            raise Unreadable(_describe_wrong_item(item, wanted))
        try:
            letters.append(read_letter(item, choices, wanted))
        except Unreadable as error:
            raise Unreadable(error.sentence) from None  # not blank as a whole
    return letters


def _describe_wrong_item(item: Raw, wanted: str) -> str:
    if item.get("t") == "ellipsis":
        return f"One item of the list is still `...`; give {wanted}."
    sentence = refusal(item, wanted).sentence
    return sentence.replace("The answer is", "The list holds", 1)
