"""Whose a file is: the students of a roster, found by the names of files and folders."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Mapping
from pathlib import PurePosixPath

from grader.collect.names import Notice, notice, short
from grader.collect.platforms import People, handed
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


class Roster:
    """Students by id, found again whatever case or Unicode form a file system made of it."""

    def __init__(self, known: Mapping[str, Student], users: Mapping[str, str] | None = None):
        """*users* are numbers that a platform gave to people, with the ids of students."""
        self._hints = _HINTS
        self._people = People(known, users or {})
        self._exact = {unicodedata.normalize("NFC", student): student for student in known}
        folded: dict[str, list[str]] = {}
        for text, student in self._exact.items():
            folded.setdefault(text.casefold(), []).append(student)
        # Two ids that differ in case alone are told apart by their exact spelling only.
        self._folded = {text: ids[0] for text, ids in folded.items() if len(ids) == 1}

    def find(self, name: PurePosixPath) -> str | None:
        """The student that a file of this name belongs to.

        Where a platform named it, by what the platform says, and never by the student's own name
        for the file.
        """
        who = handed(name)
        if who is None:
            return self._named(name) or self.of_copy(name)
        return self._above(name) or self._people.find(who)

    def platform(self, name: PurePosixPath) -> str | None:
        """The platform by whose word alone it is known whose the file is; None where none is."""
        who = handed(name)
        return who.platform if who and not self._above(name) else None

    def _above(self, name: PurePosixPath) -> str | None:
        """The student whose whole id is what a platform seems to have made, or a folder of it."""
        for part in name.parts:
            text = unicodedata.normalize("NFC", part)
            if (found := self._exact.get(text.removesuffix(name.suffix))) is not None:
                return found
            if handed(PurePosixPath(part)):
                return None
        return None

    def _named(self, name: PurePosixPath) -> str | None:
        candidates = [unicodedata.normalize("NFC", part) for part in (*name.parts[:-1], name.stem)]
        exact = (self._exact.get(text) for text in candidates)
        folded = (self._folded.get(text.casefold()) for text in candidates)
        return next((s for s in (*exact, *folded) if s is not None), None)

    def of_copy(self, name: PurePosixPath) -> str | None:
        """Whose notebook was copied to "Copy of ada" or "ada (1)"; None for any other name."""
        match = _COPY.match(name.stem) if len(name.stem) <= _LONGEST else None
        if match is None or match[1] == name.stem or handed(name) or self._named(name):
            return None
        return self._named(PurePosixPath(match[1] + name.suffix))

    def _original(self, name: PurePosixPath) -> str | None:
        if len(name.stem) > _LONGEST:
            return None
        return self.find(PurePosixPath(_SECOND.sub("", name.stem) + name.suffix))

    def unknown(self, name: PurePosixPath) -> Notice:
        """What to say of a file that belongs to nobody."""
        who = handed(name)
        if who is not None:
            return notice("warning", name, self._people.why_not(who))
        stem = short(name.stem)
        text = f"'{stem}' is not on the roster"
        if len(name.parts) > 1:
            text = f"neither '{stem}' nor its folder '{short(name.parts[-2])}' is on the roster"
        original = self._original(name)
        if original:
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
                    text += f"; is it '{self._folded[close[0]]}'?"
                    break
        return notice("warning", name, text)
