"""Names that Canvas and Moodle give to what was handed in there: who it was, by their word alone.

Behind those names stands the one that the student gave the file, which says nothing about whose it
is: a student may have called it by somebody else's id.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from grader.errors import SetupError
from grader.model import Student
from grader.model.people import Numbers

TABLES = {
    "Canvas": "the gradebook that Canvas exports (Grades › Export)",
    "Moodle": "the grading worksheet that Moodle offers (Download grading worksheet)",
}
"""Where each platform's numbers of people stand."""
_LONGEST = 400
# doejane_1001_23456_midterm.ipynb, doejane_LATE_1001_23456_midterm-1.ipynb; and not a folder such
# as midterm_2026_11_23_submissions.
_CANVAS = re.compile(
    r"^(?P<name>[^\W_][^_]*)_(?P<late>LATE_)?(?!20\d\d_(?:0?[1-9]|1[0-2])_)"
    r"(?P<user>\d+)_(?P<file>\d+)_(?P<own>.+)$"
)
# Jane Doe_12345_assignsubmission_file_midterm.ipynb, or a folder that ends behind "file_".
_MOODLE = re.compile(
    r"^(?P<name>.+?)_(?P<user>\d+)_assignsubmission_(?:file|onlinetext)_?(?P<own>.*)$"
)
# How a name begins that Canvas made for a person whose own has no letters, and what no person is
# called; and what Moodle puts behind a name.
_CANVAS_IN = re.compile(r"^_|_\d+_\d+_")
_MOODLE_IN = re.compile(r"_\d+_assignsubmission_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """What such a name says."""

    platform: str
    name: str
    """The person's, as the platform wrote it."""
    user: str
    """The platform's number of the person."""
    late: bool = False
    unsure: bool = False
    """Whether another platform, or the same one for somebody else, may have made that name."""


def handed(name: PurePosixPath) -> Handed | None:
    """What the first part of *name* that a platform made says; None when none did."""
    return next((said for part in name.parts if (said := handed_as(part))), None)


def handed_as(part: str) -> Handed | None:
    """What a platform says that made this name of a file or folder; None when none did."""
    if len(part) > _LONGEST:
        return None
    canvas, moodle = _CANVAS.match(part), _MOODLE.match(part)
    if canvas and not moodle:
        late = canvas["late"] is not None
        return Handed(platform="Canvas", name=canvas["name"], user=canvas["user"], late=late)
    if moodle:
        # Names of people and of their files are their own: with a second number in one of them a
        # student could make it somebody else's.
        unsure = (
            canvas is not None
            or _CANVAS_IN.search(f"{moodle['name']}_") is not None
            or _MOODLE_IN.search(f"_{moodle['own']}") is not None
        )
        platform = "Canvas" if canvas else "Moodle"
        name, user = (canvas or moodle).group("name", "user")
        return Handed(platform=platform, name=name, user=user, unsure=unsure)
    return None


class People:
    """Students by what platforms know of them."""

    def __init__(self, known: Mapping[str, Student], users: Mapping[str, str]):
        """*users* are the platforms' numbers of people, with the ids of students.

        Where they are one platform's, they say nothing of another's people.
        """
        self._known = known
        self._users = users
        self._platform = users.platform if isinstance(users, Numbers) else ""
        self._names: dict[str, set[str]] = {}
        for student in known.values():
            for form in _forms(student.name):
                self._names.setdefault(form, set()).add(student.id)

    def find(self, who: Handed) -> str | None:
        """The student: by number, by an id that is the number or the name, or by a name of one."""
        if who.unsure:
            return None
        if self._is_numbered(who):
            return self._users[who.user]
        # The name before it is the whole id of nobody else.
        for text in (who.user, who.name):
            if text in self._known:
                return text
        found = self._names.get(_letters([who.name]), set())
        return next(iter(found)) if len(found) == 1 else None

    def by_name(self, who: Handed) -> bool:
        """Whether nothing but a name says who it is, which people may choose for themselves."""
        return not (who.unsure or self._is_numbered(who) or who.user in self._known)

    def _is_numbered(self, who: Handed) -> bool:
        return who.user in self._users and self._platform in ("", who.platform)

    def why_not(self, who: Handed) -> str:
        """Why nobody was found, and what to do."""
        if who.unsure:
            what = f"whose it is can't be told: {who.platform}'s '{who.name}' (number {who.user})"
            return f"{what}, or the second number's in its name; rename the file to STUDENT.ipynb"
        same = self._names.get(_letters([who.name]), set())
        if len(same) > 1:
            listed = ", ".join(f"'{student}'" for student in sorted(same))
            what = f"{listed} have the name that {who.platform} wrote, '{who.name}'"
        else:
            what = f"nobody on the roster is {who.platform}'s '{who.name}' (number {who.user})"
        return f"{what}; give their numbers with --names FILE, or rename the file to STUDENT.ipynb"


def check_table(users: Mapping[str, str] | None, platforms: Collection[str]) -> None:
    """Raises SetupError when *users* are of one platform, and all that was handed in of others."""
    own = users.platform if isinstance(users, Numbers) else ""
    if not isinstance(users, Numbers) or not own or not platforms or own in platforms:
        return
    others = " and ".join(sorted(platforms))
    raise SetupError(
        f"these are {own}'s numbers of people, and what was handed in comes from {others}",
        where=users.file,
        fix=" or ".join(f"give --names {TABLES[name]}" for name in sorted(platforms))
        + ", or a table with the columns 'number' and 'student'",
    )


def _letters(words: Iterable[str]) -> str:
    text = unicodedata.normalize("NFKC", "".join(words)).casefold()
    return "".join(character for character in text if character.isalnum())


def _forms(name: str) -> set[str]:
    """How platforms write a person's name: in order, and with the last words first."""
    words = name.replace(",", " , ").split()
    if "," in words:
        at = words.index(",")
        words = [*words[at + 1 :], *words[:at]]
    if not words:
        return set()
    return {_letters([*words[i:], *words[:i]]) for i in range(len(words))}
