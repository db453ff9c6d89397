"""A word or a short phrase, compared with the accepted ones."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from grader.kinds import samples
from grader.kinds.base import CORRECT, Example, KindOf, Unreadable, kinds, partial_judgment
from grader.kinds.scalars import read_line, too_long_error
from grader.kinds.texts import fill, try_fill
from grader.model import Draw, Judgment, Key, Part, Raw, Share, Text, Verdict
from grader.model.spec import Strict

if TYPE_CHECKING:
    import regex

Match = Literal["exact", "casefold", "regex"]

MAX_LENGTH = 500
"""Characters of a text that is compared; a longer one waits for a person."""
SECONDS = 0.2
"""Time limit for matching one pattern: authors write the patterns, but students the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextMistake(Strict):
    """Wrong texts that students often give, with feedback."""

    id: str
    accept: tuple[Text, ...]
    """Texts or patterns of this mistake, compared in the same way as the part's own."""
    feedback: Text
    credit: Share = 0.0
    """The share of the part's points that this mistake keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortText(Part):
    """A word or a short phrase."""

    kind: Literal["short_text"] = "short_text"
    accept: tuple[Text, ...]
    """Accepted texts or patterns."""
    match: Match = "casefold"
    """How to compare: `exact`, `casefold` (ignore case), or `regex` (patterns)."""
    example: Text | None = None
    """A right answer; needed when the first of `accept` is a pattern."""
    mistakes: tuple[TextMistake, ...] = ()
    """Wrong answers that students often give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortTextKey(Key):
    """The accepted texts or patterns, and one right answer."""

    part: ShortText
    accept: tuple[str, ...]
    right: str


class ShortTextKind(KindOf[ShortTextKey, str]):
    """A word or a short phrase, compared with the accepted ones."""

    spec = ShortText

    def key(self, part: ShortText, draw: Draw) -> ShortTextKey:
        if not part.accept:
            raise ValueError("'accept' is empty: no answer would be right")
        accept = tuple(fill(a, draw) for a in part.accept)
        right = accept[0] if part.example is None else fill(part.example, draw)
        return ShortTextKey(part=part, draw=draw, accept=accept, right=right)

    def read(self, raw: Raw, key: ShortTextKey) -> str:
        written = normalize_spaces(read_line(raw, _WANTED))
        if written == "...":
            raise Unreadable("The answer is empty.", blank=True)
        if raw.get("cut") or len(written) > MAX_LENGTH:
            raise too_long_error(written, MAX_LENGTH, _WANTED)
        return written

    def judge(self, value: str, key: ShortTextKey) -> Judgment:
        try:
            if _matches(value, key.accept, key.part.match):
                return CORRECT
            return _find_mistake(value, key) or partial_judgment(0.0, "Not an accepted answer.")
        except TimeoutError:
            note = "The comparison took too long; a person will review this answer."
            return partial_judgment(None, note)

    def format_value(self, value: str, key: ShortTextKey) -> str:
        return value

    def examples(self, key: ShortTextKey) -> tuple[Example, ...]:
        right = key.right
        typeset = samples.right(right.replace("-", "\u2011") + ".", "the right text as typeset")
        spaced = "  " + right.replace(" ", "  ") + "\n"
        return (
            samples.right(right, "the right text"),
            *([typeset] if key.part.match == "casefold" else ()),
            samples.right(spaced, "the right text with more space"),
            samples.sample(_wrong_text(key), 0.0, "a wrong text"),
            *_mistake_examples(key),
            samples.unreadable("", "an empty text"),
            samples.unreadable("x" * (MAX_LENGTH + 1), "a text that is too long"),
            samples.unreadable(1, "a number"),
            samples.unreadable(True, "a truth value"),
            samples.unreadable([right], "a list"),
            *samples.NOTHING,
        )

    def instructions(self, key: ShortTextKey) -> str:
        return _WANTED

    def answer(self, key: ShortTextKey) -> object:
        return key.right

    def explain(self, key: ShortTextKey) -> str:
        if key.part.match == "regex":
            return f"**{key.right}**, or an equivalent form"
        others = [a for a in key.accept if a != key.right]
        also = f"; also accepted: {', '.join(others)}" if others else ""
        return f"**{key.right}**{also}"


_WANTED = "a short text in quotes"


def normalize_spaces(written: str) -> str:
    """Returns a text with single spaces, in Unicode normalization form NFKC."""
    return " ".join(unicodedata.normalize("NFKC", written).split())


def _matches(written: str, accept: Sequence[str], match: Match) -> bool:
    """Returns whether a text matches one of *accept*. Raises TimeoutError for a slow pattern."""
    written = normalize_spaces(written)
    if match == "exact":
        return any(written == normalize_spaces(a) for a in accept)
    if match == "casefold":
        return any(_fold_loosely(written) == _fold_loosely(normalize_spaces(a)) for a in accept)
    return any(_compile_pattern(a).fullmatch(written, timeout=SECONDS) is not None for a in accept)


_TYPESET = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u2018\u2019\u02bc", "'"),
        **dict.fromkeys("\u201c\u201d", '"'),
    }
)
"""Typeset dashes and quotes, and how they are typed."""


def _fold_loosely(written: str) -> str:
    """Returns a text without upper case, typeset dashes and quotes, and the period at its end."""
    return written.casefold().translate(_TYPESET).removesuffix(".").rstrip()


@lru_cache(maxsize=1024)
def _compile_pattern(written: str) -> regex.Pattern[str]:
    import regex

    try:
        return regex.compile(written)
    except regex.error as error:
        raise ValueError(f"the pattern '{written}' can't be read: {error}") from None


def _find_mistake(value: str, key: ShortTextKey) -> Judgment | None:
    """Returns the judgment for the first mistake that *value* matches; None if it matches none."""
    for mistake in key.part.mistakes:
        if _matches(value, [try_fill(a, key.draw) for a in mistake.accept], key.part.match):
            note = try_fill(mistake.feedback, key.draw)
            return Judgment(
                share=mistake.credit, verdict=Verdict.MISTAKE, note=note, mistake=mistake.id
            )
    return None


def _mistake_examples(key: ShortTextKey) -> Iterator[Example]:
    for mistake in key.part.mistakes:
        fill(mistake.feedback, key.draw)
        accept = [fill(a, key.draw) for a in mistake.accept]
        for written in accept:
            # A pattern is a sample only if it happens to match itself.
            if _matches(written, accept, key.part.match):
                why = f"the mistake '{mistake.id}'"
                yield samples.sample(written, mistake.credit, why, mistake.id)


def _wrong_text(key: ShortTextKey) -> str:
    """Returns a text that is neither accepted nor a mistake. Raises ValueError if none is found."""
    matched = [*key.accept, *(fill(a, key.draw) for m in key.part.mistakes for a in m.accept)]
    for written in ("xyzzy", "none of this", "0", "~"):
        if not _matches(written, matched, key.part.match):
            return written
    raise ValueError("every text seems to be accepted or a mistake; narrow the patterns")


kinds.add("short_text")(ShortTextKind())
