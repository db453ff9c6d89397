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

_OWN = "submit the notebook that you were given"


def owner_check(release: Release) -> Callable[[str, Notebook], str | None]:
    """Returns the check for every submitted notebook, given its student.

    The check raises SubmissionError if the notebook can't be that student's, and returns a sentence
    for the instructor if it may be another student's.
    """
    versions = frozenset(versions_of(release))

    def look(student: str, notebook: Notebook) -> str | None:
        return _check_owner(release, versions, release.students[student], read_owner(notebook))

    return look


def exam_fit(release: Release) -> Callable[[str, Notebook], int]:
    """Returns how well a notebook fits *release*, to choose among several of one student.

    Best is one that identifies itself as the student's, or has no identity but has answers of the
    exam; then one of another student; last, one of another exam or of none.
    """
    parts = {part.id for problem in release.problems.values() for part in problem.parts}
    answer = re.compile(rf"\bq\d{{1,4}}_(?:{'|'.join(map(re.escape, sorted(parts)))})\b")

    def fit(student: str, notebook: Notebook) -> int:
        says = read_owner(notebook)
        if says.release:
            seat = says.version or says.student
            own = seat in ("", release.students[student].seat)
            return (BEST if own else 1) if says.release == release.id else 0
        code = (cell.source for cell in notebook.cells if cell.type == "code")
        return BEST if any(map(answer.search, code)) else 0

    return fit


def _check_owner(
    release: Release, versions: frozenset[str], student: Student, says: SelfDescription
) -> str | None:
    """Returns a warning if the notebook may be somebody else's; None if it is the student's own.

    Raises SubmissionError if it has the numbers of another student or version.
    """
    if says.version == SAMPLE:
        raise SubmissionError("this is the practice sample, which is not graded", fix=_OWN)
    if says.release not in ("", release.id):
        # Versions of the same name mean something else there, so only tell the instructor.
        return "the notebook is from another release; it is graded by the answers of this one"
    seat = says.version or says.student
    if not seat or seat == student.seat:
        return None
    if not says.version and not student.version:
        # Its answers are judged by the student's own numbers, as before.
        known = seat in release.students
        told = f"the file identifies itself as the notebook of '{seat}'; it is graded with the"
        return f"{told} numbers of '{student.id}'" if known else None
    its = "with one student's individual numbers"
    if says.version:  # don't repeat text that a student may have written
        its = f"of version {says.version}" if says.version in versions else "of another version"
    own = f"version {student.version}" if student.version else "one with your own numbers"
    raise SubmissionError(f"this is the notebook {its}, and yours is {own}; not graded", fix=_OWN)
