"""Masks the names of students in texts, so that graders don't read them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from grader.model import Student

_WORD = re.compile(r"[^\W_]+")
_BETWEEN = re.compile(r"[\s,._@'\u2018\u2019\u2010\u2011\u2013-]{1,3}")
"""With the apostrophes and hyphens of word processors."""
_UNSPACED = re.compile(r"[\u2e80-\U0003ffff]+")
"""Letters of East Asian scripts, in which a name stands between other words without a space."""
_LEAST_UNSPACED = 2
_LEAST_JOINED = 6
"""Fewest characters of a name that is also found without the space, as in file names."""
_Words = tuple[str, ...]
_FILE_END = re.compile(r"(?<=[\w)\]])\.ipynb\b['\"]?", re.IGNORECASE)
_CLAUSE_ENDS = ",;:\n"
_SHOWN_FILE = "[file name]"


@dataclass(frozen=True, slots=True)
class Mask:
    """The IDs, names, and email addresses of a class."""

    label_of: Callable[[str], str]
    """Returns what to show for a student's ID."""
    _names: dict[str, list[tuple[_Words, str]]] = field(default_factory=dict)
    """By the first word."""
    _own: dict[str, frozenset[str]] = field(default_factory=dict)
    """The words of each student's own name, as students write them."""
    _unspaced: dict[str, str] = field(default_factory=dict)
    """Student IDs, by the part of the name in an East Asian script."""

    def add(self, students: Iterable[Student]) -> None:
        """Adds what is known of *students*."""
        for student in students:
            for words in set(_iter_names(student)):
                self._names.setdefault(words[0], []).append((words, student.id))
            own = [one for one in _WORD.findall(_compose(student.name)) if len(one) > 1]
            self._own[student.id] = frozenset([*own, *map(str.upper, own)])
            unspaced = "".join(_UNSPACED.findall(_compose(student.name)))
            if len(unspaced) >= _LEAST_UNSPACED:
                self._unspaced[unspaced] = student.id
        for names in self._names.values():
            names.sort(key=lambda one: -len(one[0]))

    def hide(self, text: str, of: str = "") -> str:
        """Returns *text* with what `label_of` returns in place of what is known of students, and
        without the names of notebooks.

        In a text of or about the student *of*, also hides single words of that student's name, in
        the case of the name or in capitals. Otherwise ignores case, and what stands between the
        words of a name. Takes time in proportion to the text, and only for texts in East Asian
        scripts also to the size of the class.
        """
        text = self._hide_unspaced(self._hide_names(_hide_files(_compose(text))))
        own = self._own.get(of)
        if not own:
            return text
        return _WORD.sub(lambda word: self.label_of(of) if word[0] in own else word[0], text)

    def _hide_unspaced(self, text: str) -> str:
        """Returns *text* with labels in place of names in East Asian scripts."""
        if not _UNSPACED.search(text):
            return text
        for name in sorted(self._unspaced, key=len, reverse=True):
            text = text.replace(name, self.label_of(self._unspaced[name]))
        return text

    def _hide_names(self, text: str) -> str:
        """Returns *text* with labels in place of the names of all students."""
        words, pieces, end = list(_WORD.finditer(text)), [], 0
        at = 0
        while at < len(words):
            match = self._match_name(text, words, at)
            if match is None:
                at += 1
                continue
            length, student = match
            pieces += [text[end : words[at].start()], self.label_of(student)]
            end = words[at + length - 1].end()
            at += length
        return "".join([*pieces, text[end:]]) if pieces else text

    def _match_name(self, text: str, words: list[re.Match[str]], at: int) -> tuple[int, str] | None:
        """Returns how many of *words* from *at* are a name, and of whom; None if they are none."""
        for name, student in self._names.get(words[at][0].casefold(), ()):
            candidates = words[at : at + len(name)]
            is_same = tuple(word[0].casefold() for word in candidates) == name
            gaps = (text[a.end() : b.start()] for a, b in pairwise(candidates))
            if is_same and all(map(_BETWEEN.fullmatch, gaps)):
                return len(name), student
        return None


def _hide_files(text: str) -> str:
    """Returns *text* without names of notebooks, which students choose.

    They contain spaces, quotes, and nicknames, so all of the clause before the ending is hidden.
    """
    pieces, end = [], 0
    for match in _FILE_END.finditer(text):
        before = max(text.rfind(one, end, match.start()) for one in _CLAUSE_ENDS) + 1
        clause = text[max(before, end) : match.start()]
        start = match.start() - len(clause.lstrip())
        pieces += [text[end:start], _SHOWN_FILE]
        end = match.end()
    return "".join([*pieces, text[end:]])


def _iter_names(student: Student) -> Iterator[_Words]:
    """Yields the ways to write a student: id, email, and name, in several orders of its words."""
    for text in (student.id, student.name, student.email):
        if words := _words(text):
            yield words
    name = _words(student.name)
    if len(name) > 1:
        yield (name[-1], *name[:-1])
        yield (name[0], name[-1])
        yield (name[-1], name[0])
        if len("".join(name)) >= _LEAST_JOINED:
            yield ("".join(name),)


def _words(text: str) -> _Words:
    return tuple(word[0].casefold() for word in _WORD.finditer(_compose(text)))


def _compose(text: str) -> str:
    """Returns *text* with each accented letter as one character, however it was typed."""
    return unicodedata.normalize("NFC", text)
