"""Excludes contents of every clean notebook, which are not leaks by themselves."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from grader.security.leaks.named import beside
from grader.security.leaks.numerals import numerals, runs, sequence
from grader.security.leaks.records import Piece
from grader.security.leaks.secrets import Wanted
from grader.security.leaks.unpacking import notebook_texts
from grader.security.leaks.views import View, joined
from grader.security.leaks.words import shingles, squeezed


@dataclass(kw_only=True)
class Visible:
    """Numbers, number sequences and word sequences that students may see.

    These exclude only unnamed matches. A key beside its name, a seed or a digest is a leak even in
    a clean notebook.
    """

    numbers: set[str] = field(default_factory=set)
    runs: set[int] = field(default_factory=set)
    words: set[int] = field(default_factory=set)
    pairs: set[tuple[str, str]] = field(default_factory=set)
    """Names with a value beside them, such as the examples of how to write an answer."""
    squeezed: set[str] = field(default_factory=set)
    _seen: set[int] = field(default_factory=set)

    def notebook(self, data: bytes, names: Container[str]) -> None:
        """Adds the contents of a clean notebook with answers of these *names*."""
        sources = [p.data.decode() for p in notebook_texts(Piece(path="", data=data))]
        for text in (data.decode(), *sources):
            for view in (View(text=text), joined(View(text=text))):
                self._text(view.text, names)

    def _text(self, text: str, names: Container[str]) -> None:
        if hash(text) in self._seen:
            return  # most cells are the same for all students
        self._seen.add(hash(text))
        self.numbers |= {one.digits for one in numerals(text)}
        self.runs |= {hash(run) for run, _ in runs(v for v, _ in sequence(text))}
        self.words |= {one for one, _ in shingles(text)}
        self.squeezed.add(squeezed(text))
        self.pairs |= {(one.name, one.value) for one in beside(text, names)}

    def excuse(self, wanted: Wanted) -> None:
        """Removes visible contents from *wanted*."""
        for run in self.runs & wanted.runs.keys():
            del wanted.runs[run]
        for words in self.words & wanted.words.keys():
            del wanted.words[words]
        for text in self.squeezed:
            for table in (wanted.expressions, wanted.strings):
                for shown in [one for one in table if one in text]:
                    del table[shown]
