"""Finds the student a file belongs to by the names of files and folders."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from grader.collect.entries import Notice, display_name, is_notebook, make_notice
from grader.collect.platforms import PlatformPeople, PlatformSender, parse_sender
from grader.model import Student
from grader.model.grouping import group_by_key

_COPY = re.compile(r"^(?:Copy of )*+(.+?)(?: ?\(\d{1,3}\)| - Copy| copy)*+$", re.IGNORECASE)
"""What Colab adds before the name of a copy, and browsers and file managers after it. Unlike
"team-2", no student id looks like that by chance."""
_SECOND = re.compile(r"(?: ?\(\d+\)|[-_ ]\d+| - Copy| copy)+$", re.IGNORECASE)
"""What a browser or a file manager adds to the name of a second download."""
_LONGEST = 255
"""Maximum characters of a name to match with these patterns; names in a zip may be longer."""
_PARTS = 4
"""Maximum parts of an unknown path to compare with the roster."""
_HINTS = 20
"""Maximum unknown names to compare with the whole roster, which is slow for a long one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOwner:
    """The owner of a file, according to the outermost part of its path that identifies one."""

    student: str | None
    by: PlatformSender | None = None
    """The sender, if a platform assigned the name."""
    copy: bool = False
    """Whether only a name such as "Copy of ada" or "ada (1)" identifies the student."""
    among: tuple[str, ...] = ()
    """Candidates, if their ids differ only in case or in the writing of a letter."""


_NOTHING = FileOwner(student=None)


class Roster:
    """Finds students by id, whatever case or Unicode form a file system made of it."""

    def __init__(self, known: Mapping[str, Student], users: Mapping[str, str] | None = None):
        """Looks for the students *known*, by id. *users* maps a platform's user numbers to ids."""
        self._hints = _HINTS
        self.people = PlatformPeople(known, users or {})
        composed = group_by_key((unicodedata.normalize("NFC", id_), id_) for id_ in known)
        # Ids that differ only in case must match exactly. Those that look the same never match.
        self._exact = {text: ids[0] for text, ids in composed.items() if len(ids) == 1}
        self._folded = group_by_key(
            (text.casefold(), id_) for text, ids in composed.items() for id_ in ids
        )

    def find(self, name: PurePosixPath) -> str | None:
        """Returns the student whose file this is, or None if unknown."""
        return self.owner(name).student

    def owner(self, name: PurePosixPath) -> FileOwner:
        """Returns the owner by the outermost folder, since students may name inner ones."""
        for part, text in _iter_parts(name):
            owner = self._owner_with_id(text)
            if owner is not None:
                return owner
            sender = parse_sender(part)
            if sender is not None:
                return FileOwner(student=self.people.find(sender), by=sender)
            copy = _COPY.match(text) if len(text) <= _LONGEST else None
            original = self._owner_with_id(copy[1]) if copy and copy[1] != text else None
            if original is not None:
                return replace(original, copy=True)
        return _NOTHING

    def _owner_with_id(self, text: str) -> FileOwner | None:
        """Returns the student with the id *text*, or candidates if several are too similar."""
        text = unicodedata.normalize("NFC", text)
        if (exact := self._exact.get(text)) is not None:
            return FileOwner(student=exact)
        alike = self._folded.get(text.casefold(), [])
        if len(alike) > 1:
            return FileOwner(student=None, among=tuple(alike))
        return FileOwner(student=alike[0]) if alike else None

    def unknown_notice(self, name: PurePosixPath) -> Notice:
        """Returns a notice about a file that belongs to no known student."""
        owner = self.owner(name)
        if owner.by is not None:
            folder = next((part for part in name.parts[:-1] if parse_sender(part)), "")
            why = self.people.explain_failure(owner.by, display_name(folder))
            return make_notice("warning", name, why)
        stem = display_name(name.stem)
        text = f"'{stem}' is not on the roster"
        if len(name.parts) > 1:
            text = (
                f"neither '{stem}' nor its folder '{display_name(name.parts[-2])}' is on the roster"
            )
        first_name = "" if len(name.stem) > _LONGEST else _SECOND.sub("", name.stem)
        original = self.find(PurePosixPath(first_name + name.suffix))
        if owner.among:
            listed = " and ".join(f"'{student}'" for student in owner.among)
            text = f"ambiguous name: {listed} are too similar; rename the file"
        elif original:
            # Only a hint: "team-2" may be a student who is missing from the roster.
            text += f"; did you mean '{original}'? rename the file"
        elif self._hints > 0:
            self._hints -= 1
            for part in (name.stem, *name.parts[:-1])[:_PARTS]:
                if len(part) > _LONGEST:
                    continue
                folded = unicodedata.normalize("NFC", part).casefold()
                similar = difflib.get_close_matches(folded, self._folded, n=1, cutoff=0.8)
                if similar:
                    text += f"; did you mean '{self._folded[similar[0]][0]}'?"
                    break
        return make_notice("warning", name, text)


def _iter_parts(name: PurePosixPath) -> Iterator[tuple[str, str]]:
    """Yields each part of *name*, and the same without the extension of a notebook."""
    for part in name.parts[:-1]:
        path = PurePosixPath(part)
        yield part, path.stem if is_notebook(path) else part
    if name.parts:
        # A browser or a hidden extension makes "ada.ipynb.txt" or "ada.ipynb.ipynb" of "ada.ipynb".
        stem = PurePosixPath(name.stem)
        yield name.parts[-1], stem.stem if is_notebook(stem) else name.stem
