"""Compares secret texts by word sequences, ignoring layout, case, punctuation and numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

LENGTH = 7
"""Consecutive words that are compared."""
ENOUGH = 3
"""Matches of one text that make a finding: nine consecutive words, or three places."""

_TOKEN = re.compile(r"[^\W\d_]+(?:_[^\W_]+)*|\d+(?:\.\d+)?|\{\{.{0,200}?\}\}", re.S)
_IMPORT = re.compile(r"^[ \t]*(?:import|from)\s.*$", re.M)
_SPACE = re.compile(r"\s+")


def shingles(text: str, *, distinctive: bool = False) -> Iterator[tuple[int, int]]:
    """Yields the hash and position of each word sequence in *text*.

    With *distinctive*, sequences that are too common to identify a text are left out.
    """
    words: list[str] = []
    places: list[int] = []
    before = ""
    for match in _TOKEN.finditer(_IMPORT.sub(lambda line: " " * len(line[0]), text)):
        word = match[0].casefold()
        if word[0].isdigit() or word[0] == "{":
            word = "#"
            if before == "#":
                continue  # a placeholder may be filled in with one number or several
        words.append(word)
        places.append(match.start())
        before = word
    for index, run in enumerate(zip(*(words[skip:] for skip in range(LENGTH)), strict=False)):
        if not distinctive or len({*run} - {"#"}) >= 4:
            yield hash(run), places[index]


def squeeze(text: str) -> str:
    """Returns the text without white space, for comparing expressions."""
    return _SPACE.sub("", text)


def is_telling(expression: str) -> bool:
    """Returns whether an expression is long enough to reveal how a key is computed."""
    short = squeeze(expression)
    names = set(re.findall(r"[A-Za-z_]\w{2,}", short))
    return len(short) >= 18 and len(names) >= 3 and bool(re.search(r"[-+*/(<>]", short))
