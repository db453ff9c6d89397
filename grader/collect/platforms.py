"""File names that Canvas and Moodle assign, which say whose submission it is.

They end with the student's own file name, which is ignored, because it may contain another
student's id.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from grader.errors import SetupError
from grader.model import Student
from grader.model.people import UserNumbers

TABLES = {
    "Canvas": "the gradebook that Canvas exports (Grades › Export)",
    "Moodle": "the grading worksheet that Moodle offers (Download grading worksheet)",
}
"""The table of each platform that contains its user numbers."""
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
# Patterns in a person's name that make the file name ambiguous: as Canvas writes a name without
# letters, or two numbers; and as Moodle continues after a name.
_CANVAS_IN = re.compile(r"^_|_\d+_\d+_")
_MOODLE_IN = re.compile(r"_\d+_assignsubmission_")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformSender:
    """What a file name assigned by a platform says about its sender."""

    platform: str
    name: str
    user: str
    late: bool = False
    is_ambiguous: bool = False
    """Whether the name is ambiguous: another platform or person may have produced it."""


def parse_sender(part: str) -> PlatformSender | None:
    """Returns the sender according to the name of a file or folder, or None."""
    if len(part) > _LONGEST:
        return None
    canvas = _CANVAS.match(part)
    moodle = _MOODLE.match(part)
    if canvas and not moodle:
        late = canvas["late"] is not None
        return PlatformSender(
            platform="Canvas", name=canvas["name"], user=canvas["user"], late=late
        )
    if moodle:
        # People choose their own names and file names: with a second number in one of them, a
        # student could make the file look like another student's.
        is_ambiguous = (
            canvas is not None
            or _CANVAS_IN.search(f"{moodle['name']}_") is not None
            or _MOODLE_IN.search(f"_{moodle['own']}") is not None
        )
        platform = "Canvas" if canvas else "Moodle"
        name, user = (canvas or moodle).group("name", "user")
        return PlatformSender(platform=platform, name=name, user=user, is_ambiguous=is_ambiguous)
    return None


class PlatformPeople:
    """Finds students by what a platform knows about them."""

    def __init__(self, known: Mapping[str, Student], users: Mapping[str, str]):
        """Looks for the students *known*. *users* maps a platform's user numbers to ids."""
        self._known = known
        self._users = users
        self._platform = users.platform if isinstance(users, UserNumbers) else ""
        self._names: dict[str, set[str]] = {}
        for student in known.values():
            for form in _name_forms(student.name):
                self._names.setdefault(form, set()).add(student.id)

    def find(self, sender: PlatformSender) -> str | None:
        """Returns the id of the student whose platform number, id, or unique name *sender* has;
        None if there is none or the sender is ambiguous."""
        if sender.is_ambiguous:
            return None
        if self._is_numbered(sender):
            return self._users[sender.user]
        # A match with a whole id is unambiguous.
        for text in (sender.user, sender.name):
            if text in self._known:
                return text
        ids = self._names.get(_letters_only([sender.name]), set())
        return next(iter(ids)) if len(ids) == 1 else None

    def is_identified_by_name(self, who: PlatformSender) -> bool:
        """Returns whether only a name identifies the sender, which users may be able to choose."""
        return not (who.is_ambiguous or self._is_numbered(who) or who.user in self._known)

    def _is_numbered(self, who: PlatformSender) -> bool:
        return who.user in self._users and self._platform in ("", who.platform)

    def explain_failure(self, who: PlatformSender, folder: str = "") -> str:
        """Returns why `find` found no student for the sender *who*, and what to do. *folder* is the
        folder whose name looks like the sender's; empty if that is the file's name."""
        fix = f"rename the folder '{folder}'" if folder else "rename the file to STUDENT.ipynb"
        if who.is_ambiguous:
            what = f"ambiguous name: {who.platform}'s '{who.name}' (number {who.user})"
            return f"{what}, or the second number in it; {fix}"
        same = self._names.get(_letters_only([who.name]), set())
        if len(same) > 1:
            listed = ", ".join(f"'{student}'" for student in sorted(same))
            what = f"{listed} all have the {who.platform} name '{who.name}'"
        else:
            what = f"no student on the roster is {who.platform}'s '{who.name}' (number {who.user})"
        return f"{what}; use --names FILE, or {fix}"


def check_platform(users: Mapping[str, str] | None, platforms: Collection[str]) -> None:
    """Raises SetupError if *users* comes from one platform and all submissions from others."""
    own = users.platform if isinstance(users, UserNumbers) else ""
    if not isinstance(users, UserNumbers) or not own or not platforms or own in platforms:
        return
    others = " and ".join(sorted(platforms))
    raise SetupError(
        f"this table has user numbers of {own}, but the submissions come from {others}",
        where=users.file,
        fix="give --names "
        + " or ".join(TABLES[name] for name in sorted(platforms))
        + ", or a table with the columns 'number' and 'student'",
    )


def _letters_only(words: Iterable[str]) -> str:
    text = unicodedata.normalize("NFKC", "".join(words)).casefold()
    return "".join(character for character in text if character.isalnum())


def _name_forms(name: str) -> set[str]:
    """Returns the forms in which platforms write a name, with the last words first or last."""
    words = name.replace(",", " , ").split()
    if "," in words:
        at = words.index(",")
        words = [*words[at + 1 :], *words[:at]]
    if not words:
        return set()
    return {_letters_only([*words[i:], *words[:i]]) for i in range(len(words))}
