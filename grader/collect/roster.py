"""Whose a file is: the students of a roster, found by the names of files and folders."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from grader.collect.names import Notice, is_notebook, notice, short
from grader.collect.platforms import Handed, People, handed_as
from grader.model import Student

_COPY = re.compile(r"^(?:Copy of )*+(.+?)(?: ?\(\d{1,3}\)| - Copy| copy)*+$", re.IGNORECASE)
"""What Colab puts before the name of a copy, and browsers and file managers behind it. No id of a
student is written like that by chance, unlike "team-2"."""
_SECOND = re.compile(r"(?: ?\(\d+\)|[-_ ]\d+| - Copy| copy)+$", re.IGNORECASE)
"""What a browser or a file manager adds to the name of a second download."""
_LONGEST = 255
"""Characters of a name that is looked at for that; in a zip they may be many more."""
_PARTS = 4
"""Parts of an unknown path that are compared with the roster."""
_HINTS = 20
"""Unknown names that are compared with the whole roster, which takes a while when it is long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What the outermost part of a name says that says anything of whose the file is."""

    student: str | None
    by: Handed | None = None
    """What a platform wrote there."""
    copy: bool = False
    """Whether it is named like a copy."""
    among: tuple[str, ...] = ()
    """Who it may be, where their ids differ in case alone."""


_NOTHING = _Told(student=None)


class Roster:
    """Students by id, found again whatever case or Unicode form a file system made of it."""

    def __init__(self, known: Mapping[str, Student], users: Mapping[str, str] | None = None):
        """*users* are numbers that a platform gave to people, with the ids of students."""
        self._hints = _HINTS
        self._people = People(known, users or {})
        self._exact = {unicodedata.normalize("NFC", student): student for student in known}
        # Two ids that differ in case alone are told apart by their exact spelling only.
        self._folded: dict[str, list[str]] = {}
        for text, student in self._exact.items():
            self._folded.setdefault(text.casefold(), []).append(student)

    def find(self, name: PurePosixPath) -> str | None:
        """The student that a file of this name belongs to.

        Where a platform named it, by what the platform says, and never by the student's own name
        for the file.
        """
        return self._told(name).student

    def platform(self, name: PurePosixPath) -> str | None:
        """The platform by whose word alone it is known whose the file is; None where none is."""
        by = self._told(name).by
        return by.platform if by and not by.unsure else None

    def handed(self, name: PurePosixPath) -> Handed | None:
        """What a platform says of who handed it in; None where none does."""
        return self._told(name).by

    def by_name(self, who: Handed) -> bool:
        """Whether nothing but a name says who it is."""
        return self._people.by_name(who)

    def of_copy(self, name: PurePosixPath) -> bool:
        """Whether it belongs to its student only by a name such as "Copy of ada" or "ada (1)"."""
        return self._told(name).copy

    def _told(self, name: PurePosixPath) -> _Told:
        """From the outside in, since what is further in may have been named by a student."""
        for part, text in _parts(name):
            if told := self._called(text):
                return told
            if by := handed_as(part):
                return _Told(student=self._people.find(by), by=by)
            match = _COPY.match(text) if len(text) <= _LONGEST else None
            if match and match[1] != text and (told := self._called(match[1])):
                return replace(told, copy=True)
        return _NOTHING

    def _called(self, text: str) -> _Told | None:
        """Who is called that, or may be; None where nobody is."""
        text = unicodedata.normalize("NFC", text)
        if (exact := self._exact.get(text)) is not None:
            return _Told(student=exact)
        alike = self._folded.get(text.casefold(), [])
        if len(alike) > 1:
            return _Told(student=None, among=tuple(alike))
        return _Told(student=alike[0]) if alike else None

    def _original(self, name: PurePosixPath) -> str | None:
        if len(name.stem) > _LONGEST:
            return None
        return self.find(PurePosixPath(_SECOND.sub("", name.stem) + name.suffix))

    def unknown(self, name: PurePosixPath) -> Notice:
        """What to say of a file that belongs to nobody."""
        told = self._told(name)
        if told.by is not None:
            return notice("warning", name, self._people.why_not(told.by))
        stem = short(name.stem)
        text = f"'{stem}' is not on the roster"
        if len(name.parts) > 1:
            text = f"neither '{stem}' nor its folder '{short(name.parts[-2])}' is on the roster"
        original = self._original(name)
        if told.among:
            listed = " and ".join(f"'{student}'" for student in told.among)
            text = f"whose it is can't be told: {listed} differ in case alone; rename it"
        elif original:
            # Only a hint: "team-2" may be somebody who is missing on the roster.
            text += f"; did you mean '{original}'? rename the file"
        elif self._hints > 0:
            self._hints -= 1
            for part in (name.stem, *name.parts[:-1])[:_PARTS]:
                if len(part) > _LONGEST:
                    continue
                folded = unicodedata.normalize("NFC", part).casefold()
                close = difflib.get_close_matches(folded, self._folded, n=1, cutoff=0.8)
                if close:
                    text += f"; is it '{self._folded[close[0]][0]}'?"
                    break
        return notice("warning", name, text)


def _parts(name: PurePosixPath) -> Iterator[tuple[str, str]]:
    """Each part of *name*, and what it calls somebody: a notebook without its ending."""
    for part in name.parts[:-1]:
        path = PurePosixPath(part)
        yield part, path.stem if is_notebook(path) else part
    if name.parts:
        yield name.parts[-1], name.stem
