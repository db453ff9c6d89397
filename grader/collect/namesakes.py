"""Decides on files whose names leave open whether they are a student's work."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from grader.collect.entries import NotebookFile, Remark, make_notice
from grader.collect.notices import Notices
from grader.collect.roster import Roster

_ANY_NAME = "?"
"""The name of a file that is no student's id."""


def drop_namesakes(found: dict[str, list[NotebookFile]], roster: Roster, notices: Notices) -> None:
    """Removes files of several platform users whose names all match the same student.

    Users may choose their names, so the newest file could be another student's.
    """
    for student, files in list(found.items()):
        senders = [(e, roster.owner(e.name).by) for e in files] if len(files) > 1 else []
        numbers: dict[str, set[str]] = {}
        for _, by in senders:
            if by is not None:
                numbers.setdefault(by.platform, set()).add(by.user)
        dropped: set[str] = set()
        for entry, by in senders:
            if (
                by is None
                or len(numbers[by.platform]) < 2
                or not roster.people.is_identified_by_name(by)
            ):
                continue
            several = ", ".join(sorted(numbers[by.platform])[:5])
            text = f"not graded: several {by.platform} users ({several}) have the name of "
            text += f"'{student}'; use --names FILE, or rename the file to STUDENT.ipynb"
            notices.add(student, make_notice("warning", entry.name, text))
            dropped.add(entry.path)
        found[student] = [entry for entry in files if entry.path not in dropped]
        if not found[student]:
            del found[student]


def add_copies(
    found: dict[str, list[NotebookFile]], copies: Mapping[str, list[NotebookFile]], notices: Notices
) -> None:
    """Adds files named like copies for students who have no other, since anyone may add a copy."""
    for student, files in copies.items():
        for entry in files:
            if student in found:
                text = f"not read: named like a copy of the notebook of '{student}', which is also "
                text += "here; if this is the one to grade, rename it"
                notices.add(student, make_notice("warning", entry.name, text))
            else:
                text = f"named like a copy; attributed to '{student}'"
                notices.add(student, make_notice("info", entry.name, text))
    found.update({student: mine for student, mine in copies.items() if student not in found})


def keep_remark(
    remark: Remark, roster: Roster, others: dict[str, list[Remark]], notices: Notices
) -> None:
    """Adds *remark* to *others* if its file may be a student's work, or else adds its notice.

    In a folder that is not the student's, a file with the student's id may be anything, such as a
    feedback page.
    """
    student, folder = roster.find(remark.name), remark.name.parent
    is_theirs = not folder.parts or roster.find(folder / _ANY_NAME) == student
    if student is not None and remark.work is not None and is_theirs:
        others.setdefault(student, []).append(remark)
    else:
        notices.add(student, remark.notice)


def add_other_files(
    found: dict[str, list[NotebookFile]],
    copies: Collection[str],
    others: Mapping[str, list[Remark]],
    notices: Notices,
) -> None:
    """Adds archives and documents for students who have no notebook: they handed in something."""
    for student, remarks in others.items():
        work = [remark.work for remark in remarks if remark.work is not None]
        if student not in found and student not in copies:
            found[student] = work
        for remark in remarks:
            if remark.notice.level == "warning" or found.get(student) is not work:
                notices.add(student, remark.notice)
