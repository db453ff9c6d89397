"""Whose a file is: the students of a roster, found by the names of files and folders."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Mapping
from pathlib import PurePosixPath

from grader.collect.names import Notice, notice, short
from grader.model import Student

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

    def __init__(self, known: Mapping[str, Student]):
        self._hints = _HINTS
        self._exact = {unicodedata.normalize("NFC", student): student for student in known}
        folded: dict[str, list[str]] = {}
        for text, student in self._exact.items():
            folded.setdefault(text.casefold(), []).append(student)
        # Two ids that differ in case alone are told apart by their exact spelling only.
        self._folded = {text: ids[0] for text, ids in folded.items() if len(ids) == 1}

    def find(self, name: PurePosixPath) -> str | None:
        """The student that a file of this name belongs to."""
        candidates = [unicodedata.normalize("NFC", part) for part in (*name.parts[:-1], name.stem)]
        exact = (self._exact.get(text) for text in candidates)
        folded = (self._folded.get(text.casefold()) for text in candidates)
        return next((s for s in (*exact, *folded) if s is not None), None)

    def _original(self, name: PurePosixPath) -> str | None:
        if len(name.stem) > _LONGEST:
            return None
        return self.find(PurePosixPath(_SECOND.sub("", name.stem) + name.suffix))

    def unknown(self, name: PurePosixPath) -> Notice:
        """What to say of a file that belongs to nobody."""
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
