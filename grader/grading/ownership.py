"""Detects notebooks that can't be the student's: the practice sample, or another version's.

A notebook's own metadata never decides points. It only prevents grading by numbers that are not in
the notebook: if a student changes it, the student's own version is still used.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from grader.collect import BEST
from grader.errors import SubmissionError
from grader.model import SAMPLE, Release, Student
from grader.notebook import Notebook
from grader.notebook.self_description import SelfDescription, read_owner
from grader.release.versions import versions_of

OTHER_STUDENT = 1
"""The fit of another student's notebook of the exam."""
OTHER_EXAM = 0
"""The fit of a notebook of another exam, or of none."""
_OWN = "submit the notebook that you were given"


def owner_check(release: Release) -> Callable[[str, Notebook], str | None]:
    """Returns the check for every submitted notebook, given its student.

    The check raises SubmissionError if the notebook can't be that student's, and returns a sentence
    for the instructor if it may be another student's.
    """
    versions = frozenset(versions_of(release))

    def check(student: str, notebook: Notebook) -> str | None:
        return _check_owner(release, versions, release.students[student], read_owner(notebook))

    return check


def exam_fit(release: Release) -> Callable[[str, Notebook], int]:
    """Returns a function that rates how well a student's notebook fits *release*.

    The rating is BEST if the notebook identifies itself as the student's, or has no identity but
    answers of the exam; OTHER_STUDENT if it identifies itself as another student's; and OTHER_EXAM
    if it is of another exam or of none. It serves to choose among several notebooks of one student.
    """
    parts = {part.id for problem in release.problems.values() for part in problem.parts}
    answer_name = re.compile(rf"\bq\d{{1,4}}_(?:{'|'.join(map(re.escape, sorted(parts)))})\b")

    def fit(student: str, notebook: Notebook) -> int:
        owner = read_owner(notebook)
        if not owner.release:
            code = (cell.source for cell in notebook.cells if cell.type == "code")
            return BEST if any(map(answer_name.search, code)) else OTHER_EXAM
        if owner.release != release.id:
            return OTHER_EXAM
        seat = owner.version or owner.student
        return BEST if seat in ("", release.students[student].seat) else OTHER_STUDENT

    return fit


def _check_owner(
    release: Release, versions: frozenset[str], student: Student, owner: SelfDescription
) -> str | None:
    """Returns a warning if the notebook may be somebody else's, and None otherwise."""
    if owner.version == SAMPLE:
        raise SubmissionError("this is the practice sample, which is not graded", fix=_OWN)
    if owner.release not in ("", release.id):
        # Versions of the same name mean something else there, so only tell the instructor.
        return "the notebook is from another release; it is graded by the answers of this one"
    seat = owner.version or owner.student
    if not seat or seat == student.seat:
        return None
    if not owner.version and not student.version:
        # Its answers are judged by the student's own numbers, as before.
        if seat not in release.students:
            return None
        warning = f"the file identifies itself as the notebook of '{seat}'; it is graded with the"
        return f"{warning} numbers of '{student.id}'"
    if not owner.version:
        submitted = "with one student's individual numbers"
    elif owner.version in versions:
        submitted = f"of version {owner.version}"
    else:  # don't repeat text that a student may have written
        submitted = "of another version"
    own = f"version {student.version}" if student.version else "one with your own numbers"
    what = f"this is the notebook {submitted}, and yours is {own}; not graded"
    raise SubmissionError(what, fix=_OWN)
