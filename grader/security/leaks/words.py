"""Text that must not get out, by runs of words: layout, case, marks and numbers change nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

LENGTH = 7
"""Words in a row that are compared."""
ENOUGH = 3
"""Runs of one text that make a finding: nine words in a row, or three places."""

_TOKEN = re.compile(r"[^\W\d_]+(?:_[^\W_]+)*|\d+(?:\.\d+)?|\{\{.{0,200}?\}\}", re.S)
_IMPORT = re.compile(r"^[ \t]*(?:import|from)\s.*$", re.M)


def shingles(text: str, *, telling: bool = False) -> Iterator[tuple[int, int]]:
    """For each run of words: what stands for it, and where it begins in the text.

    *telling* leaves those out that are too plain to tell anything.
    """
    words: list[str] = []
    places: list[int] = []
    before = ""
    for found in _TOKEN.finditer(_IMPORT.sub(_blank, text)):
        word = found[0].casefold()
        if word[0].isdigit() or word[0] == "{":
            word = "#"
            if before == "#":
                continue  # what is filled in may be one number or several
        words.append(word)
        places.append(found.start())
        before = word
    for index, run in enumerate(zip(*(words[skip:] for skip in range(LENGTH)), strict=False)):
        if not telling or len({*run} - {"#"}) >= 4:
            yield hash(run), places[index]


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


_SPACE = re.compile(r"\s+")


def squeezed(text: str) -> str:
    """The text without any white space, for expressions."""
    return _SPACE.sub("", text)


def is_telling(expression: str) -> bool:
    """Whether an expression is long enough to say how a key comes about."""
    short = squeezed(expression)
    names = set(re.findall(r"[A-Za-z_]\w{2,}", short))
    return len(short) >= 18 and len(names) >= 3 and bool(re.search(r"[-+*/(<>]", short))
