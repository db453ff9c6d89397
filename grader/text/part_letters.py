"""The letters of parts in texts, for questions that ask only some parts of a problem.

Authors refer to parts by their letters in the problem, as in "part (b)". A paper gives letters only
to the parts that it asks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from grader.text.words import part_letter

NOT_ASKED = "a part that was not asked"

Letters = Mapping[str, str | None]
"""The letter on the paper of each part, by its letter in the problem; None if it is not asked."""

_LIST = r"\([a-z]\)(?:(?:, and |, or |, | and | or | to )\([a-z]\))*"
_REFERENCE = re.compile(rf"\b([Pp])arts? ({_LIST})")
_LABEL = re.compile(rf"^\*\*({_LIST})", re.M)
_ABOUT = re.compile(rf"\s*(?:(?:For|In) p|P)arts? ({_LIST})")
_LETTER = re.compile(r"\(([a-z])\)")


def new_letters(parts: Sequence[str], asked: Collection[str]) -> Letters:
    """Returns the letters of a problem's *parts* on a paper that asks those in *asked*.

    >>> new_letters(["size", "time", "limit"], ["size", "limit"])
    {'a': 'a', 'b': None, 'c': 'b'}
    """
    kept = [part for part in parts if part in asked]
    return {
        part_letter(index): part_letter(kept.index(part)) if part in asked else None
        for index, part in enumerate(parts)
    }


def change_letters(text: str, letters: Letters) -> str:
    """Returns *text* with each reference to parts changed to their letters on the paper.

    >>> letters = {"a": "a", "b": None, "c": "b", "d": None}
    >>> change_letters("See parts (a) to (c). Part (c), or parts (b) and (d)?", letters)
    'See parts (a) and (b). Part (b), or a part that was not asked?'
    """
    return _REFERENCE.sub(lambda match: _refer(match, letters), text)


def _refer(match: re.Match[str], letters: Letters) -> str:
    """Returns the reference *match* to parts, with the letters of those that are asked."""
    initial, listed = match[1], match[2]
    named = list(_iter_letters(listed))
    if not letters.keys() >= set(named):
        return match[0]  # the text means something else
    kept = [f"({new})" for new in map(letters.get, named) if new is not None]
    if not kept:
        return NOT_ASKED if initial == "p" else NOT_ASKED.capitalize()
    if len(kept) == 1:
        return f"{initial}art {kept[0]}"
    word, comma = "or" if " or " in listed else "and", "," if len(kept) > 2 else ""
    return f"{initial}arts {', '.join(kept[:-1])}{comma} {word} {kept[-1]}"


def _iter_letters(listed: str) -> Iterator[str]:
    """Yields each letter of a list such as "(a), (b), and (c)" or "(a) to (c)"."""
    found = _LETTER.findall(listed)
    if " to " in listed:
        yield from (chr(code) for code in range(ord(found[0]), ord(found[-1]) + 1))
    else:
        yield from found


def iter_mentioned(text: str) -> Iterator[str]:
    """Yields the letter in the problem of each part that *text* refers to."""
    for match in _REFERENCE.finditer(text):
        yield from _iter_letters(match[2])


def is_about_omitted(text: str, letters: Letters) -> bool:
    """Returns whether a convention is only about parts that are not asked, such as "Part (b): ...".

    >>> is_about_omitted("For part (b): 1 GB is 10^9 bytes.", {"a": "a", "b": None})
    True
    """
    match = _ABOUT.match(text)
    return match is not None and _are_omitted(_iter_letters(match[1]), letters)


def mentions_only_omitted(label: str, letters: Letters) -> bool:
    """Returns whether a given value is only for parts that are not asked.

    >>> mentions_only_omitted("Batch size for part (b)", {"a": "a", "b": None})
    True
    """
    mentioned = list(iter_mentioned(label))
    return bool(mentioned) and _are_omitted(mentioned, letters)


def _are_omitted(named: Iterable[str], letters: Letters) -> bool:
    return all(letters.get(letter, letter) is None for letter in named)


def keep_asked(solution: str, letters: Letters) -> str:
    """Returns a worked *solution* without the paragraphs of parts that are not asked, and with the
    letters of the paper.

    The paragraphs of a part begin with its letter, such as **(b)**, and end before the next part's.

    >>> letters = {"a": None, "b": "a"}
    >>> keep_asked("**(a)** 1 GB.\\n\\n**(b)** Twice that of part (a): 2 GB.", letters)
    '**(a)** Twice that of a part that was not asked: 2 GB.'
    """
    labels = list(_LABEL.finditer(solution))
    ends = [label.start() for label in labels[1:]] + [len(solution)]
    kept = [solution[: labels[0].start()] if labels else solution]
    for label, end in zip(labels, ends, strict=False):
        new = [letters.get(letter, letter) for letter in _iter_letters(label[1])]
        named = ", ".join(f"({letter})" for letter in new if letter is not None)
        if named:
            kept.append(f"**{named}{solution[label.end() : end]}")
    return change_letters("".join(kept).strip(), letters)
